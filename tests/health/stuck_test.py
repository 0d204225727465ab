"""culprit check beside what hangs for real: a FUSE mount that does not answer, a process that is stuck with its mmap lock
held. Needs root and /dev/fuse; says so and skips elsewhere."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import PROGRAM, Config, Spawned, check, findings, main, problem, tasks_named, umount, wait_for

# A FUSE server without libfuse: a mount with one file, "file". argv: folder, and "silent" (never answers after INIT),
# "swallow" (reads requests and answers none) or "serve".
SERVER = r"""
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open('/dev/fuse', os.O_RDWR)
data = f'fd={fd},rootmode=40000,user_id=0,group_id=0'.encode()
if libc.mount(b'culprit-test', sys.argv[1].encode(), b'fuse', 0, data) != 0:
    print('failed', flush=True); sys.exit(1)

def attributes(node):
    folder = node == 1
    return struct.pack('<6Q10I', node, 0 if folder else 65536, 0, 0, 0, 0, 0, 0, 0, 0o40755 if folder else 0o100644,
                       2 if folder else 1, 0, 0, 0, 4096, 0)

def answer(unique, body, error=0):
    os.write(fd, struct.pack('<IiQ', 16 + len(body), error, unique) + body)

INIT, LOOKUP, GETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, FORGET, INTERRUPT = 26, 1, 3, 14, 15, 16, 17, 18, 25, 2, 36
while True:
    request = os.read(fd, 1 << 18)
    opcode, unique, node = struct.unpack_from('<IQQ', request, 4)
    if opcode == INIT:
        answer(unique, struct.pack('<IIIIHHIIHHI', 7, 31, 65536, 0, 12, 9, 65536, 1, 32, 0, 0) + bytes(28))
        print('ready', flush=True)
        if sys.argv[2] == 'silent': time.sleep(600)
    elif sys.argv[2] == 'swallow' or opcode in (FORGET, INTERRUPT):
        pass
    elif opcode == LOOKUP and request[40:].rstrip(b'\0') == b'file':
        answer(unique, struct.pack('<4Q2I', 2, 1, 600, 600, 0, 0) + attributes(2))
    elif opcode == GETATTR:
        answer(unique, struct.pack('<Q2I', 600, 0, 0) + attributes(node))
    elif opcode == OPEN:
        answer(unique, struct.pack('<QIi', 1, 0, 0))
    elif opcode == READ:
        answer(unique, bytes(struct.unpack_from('<I', request, 56)[0]))
    elif opcode == WRITE:
        answer(unique, struct.pack('<II', struct.unpack_from('<I', request, 56)[0], 0))
    elif opcode == STATFS:
        answer(unique, struct.pack('<5Q4I', 1000, 900, 900, 1000, 900, 4096, 255, 4096, 0) + bytes(24))
    else:
        answer(unique, b'', -2 if opcode == LOOKUP else -38 if opcode not in (RELEASE, FLUSH) else 0)
"""

# Maps the file, makes a page of it dirty, says so, waits for a line, and unmaps: the kernel then writes the page with
# this process' mmap lock held. Another thread that wants the lock for writing keeps readers of it out, too.
HOLDER = r"""
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
fd = os.open(sys.argv[1] + '/file', os.O_RDWR)
at = libc.mmap(None, 4096, 3, 1, fd, 0)
ctypes.memset(at, 65, 4096)
print('mapped', flush=True)
sys.stdin.readline()
threading.Thread(target=libc.munmap, args=(at, 4096), daemon=True).start()
time.sleep(0.2)
libc.mmap(None, 1 << 30, 0, 0x22, -1, 0)
print('free', flush=True)
"""


class OnFuse(Spawned):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        if not os.path.exists("/dev/fuse"):
            self.skipTest("no /dev/fuse")
        self.folder = tempfile.mkdtemp(prefix="culprit-fuse-")

    def tearDown(self):
        super().tearDown()  # the server's end aborts the connection and frees every waiter
        umount(self.folder)
        os.rmdir(self.folder)

    def serve(self, how):
        server = subprocess.Popen([sys.executable, "-c", SERVER, self.folder, how], stdout=subprocess.PIPE)
        # First of all: whoever waits for it can end only when it has.
        self.children.insert(0, server)
        if server.stdout.readline().strip() != b"ready":
            self.skipTest("FUSE cannot be mounted here")
        return server


class Mmap(OnFuse):
    def test_a_process_that_is_stuck_with_its_mmap_lock_held(self):
        server = self.serve("serve")
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        self.children.append(holder)
        self.assertEqual(holder.stdout.readline().strip(), "mapped")
        os.kill(server.pid, signal.SIGSTOP)
        holder.stdin.write("\n")
        holder.stdin.flush()
        # What ps and top read does not come back: the situation is real.
        time.sleep(0.7)
        reader = subprocess.Popen(["cat", f"/proc/{holder.pid}/cmdline"], stdout=subprocess.DEVNULL)
        self.children.append(reader)
        time.sleep(0.5)
        if reader.poll() is not None:
            self.skipTest("this kernel does not hold the mmap lock while a mapping of FUSE is written back")
        begin = time.monotonic()
        config = Config("tasks.dstate warning=0.5\n")
        report = check(*config.arguments)
        took = time.monotonic() - begin
        self.assertIsNone(reader.poll(), "the lock was held all the time")
        self.assertLess(took, 10 + 5, "the deadline of ten seconds, on a busy machine")
        told = str([f for f in findings(report, "tasks.dstate") if f["status"] in ("WARN", "CRIT")])
        self.assertIn(f"pid {holder.pid} ", told)
        self.assertIn("writeback for FUSE", told)
        self.assertIn(self.folder, told)
        self.assertIn("(mmap lock)", told)
        self.assertEqual(findings(report, "culprit.probe")[0]["status"], "OK", "no probe touched that lock")
        self.assertEqual(tasks_named("culprit-"), [])
        server.send_signal(signal.SIGCONT)
        self.assertEqual(holder.stdout.readline().strip(), "free", "it was nothing but the lock")


class Mount(OnFuse):
    def hung(self, report):
        found = [f for f in findings(report, "mount.hung") if f["subject"] == self.folder]
        self.assertEqual(len(found), 1, findings(report, "mount.hung"))
        self.assertEqual(found[0]["status"], "CRIT")
        return found[0]

    def test_stopped_server(self):
        server = self.serve("silent")
        os.kill(server.pid, signal.SIGSTOP)
        start = time.monotonic()
        report = check("--only", "fs")
        self.assertLess(time.monotonic() - start, 60)
        self.assertIn("abort", self.hung(report)["advice"])
        self.assertEqual(tasks_named("cpm:"), [], "the probe's child can be killed, so it is gone")
        # The other mounts were read all the same.
        self.assertEqual(findings(report, "fs.space")[0]["status"] in ("OK", "WARN", "CRIT"), True)

    def test_child_that_cannot_be_killed_is_not_followed_by_another(self):
        self.serve("swallow")
        self.hung(check("--only", "mount.hung"))
        self.assertTrue(wait_for(lambda: len(tasks_named("cpm:")) <= 1, 5))
        left = tasks_named("cpm:")
        if not left:
            self.skipTest("this kernel lets the waiter be killed")
        self.hung(check("--only", "mount.hung"))
        self.hung(check("--only", "mount.hung"))
        self.assertEqual(tasks_named("cpm:"), left, "no second probe at a mount where one hangs")
        # It is a task in D as any other, with its class.
        config = Config("tasks.dstate warning=0.5\n")
        finding = problem(check("--only", "tasks.dstate", *config.arguments), "tasks.dstate")
        self.assertIn("FUSE", finding["summary"])
        self.assertIn(self.folder, str(finding["evidence"]))

    def test_watch_does_not_probe_again_and_sees_it_over(self):
        server = self.serve("swallow")
        watch = subprocess.Popen([PROGRAM, "check", "--only", "mount.hung", "--watch", "300ms", "--rounds", "3",
                                  "--format", "ndjson"], stdout=subprocess.PIPE, text=True)
        self.children.append(watch)
        lines = watch.communicate(timeout=120)[0].splitlines()
        self.assertEqual(len([line for line in lines if self.folder in line]), 3, lines)
        self.assertLessEqual(len(tasks_named("cpm:")), 1)
        server.kill()
        server.wait()
        self.assertTrue(wait_for(lambda: not tasks_named("cpm:")), "freed with the connection")


if __name__ == "__main__":
    main()
