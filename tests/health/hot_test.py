"""culprit check against situations made for real: each names the right check and subject. What needs root or a
device that is missing says so and is skipped."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from support import PROGRAM, Config, Spawned, check, findings, main, mount, needs_root, problem, tasks_named, umount, wait_for

class Tasks(Spawned):
    def test_vfork_parent_is_in_d_with_its_stack(self):
        # posix_spawn waits in vfork until the child has opened the fifo, which nobody writes.
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(folder + "/fifo")
            child = self.python(
                f"import os; os.posix_spawn('/bin/true', ['true'], {{}}, "
                f"file_actions=[(os.POSIX_SPAWN_OPEN, 0, {folder + '/fifo'!r}, os.O_RDONLY, 0)])")
            try:
                def in_d():
                    with open(f"/proc/{child.pid}/stat", encoding="utf-8") as file:
                        return file.read().rsplit(")", 1)[1].split()[0] == "D"
                self.assertTrue(wait_for(in_d), "the parent did not get into D")
                time.sleep(1.2)
                config = Config("tasks.dstate warning=1\n")
                report = check("--only", "tasks.dstate", *config.arguments)
                finding = problem(report, "tasks.dstate")
                self.assertIsNotNone(finding, report)
                self.assertIn(f"tid {child.pid}", str(finding))
                self.assertGreaterEqual(finding["value"], 1)
                if os.geteuid() == 0:
                    self.assertIn("vfork", finding["summary"])
                    self.assertIn("kernel_clone", str(finding["evidence"]))
            finally:
                # Somebody who writes lets the child go on, and the parent with it.
                os.close(os.open(folder + "/fifo", os.O_WRONLY))
                child.wait(20)

    def test_zombie_farm_names_the_parent(self):
        child = self.python(
            "import os, time\n"
            "for _ in range(30):\n  if os.fork() == 0: os._exit(0)\n"
            "print('ready', flush=True)\ntime.sleep(60)")
        child.stdout.readline()
        time.sleep(0.3)
        config = Config("tasks.zombies warning=0.1\n")
        found = [f for f in findings(check("--only", "tasks.zombies", *config.arguments), "tasks.zombies")
                 if f"pid {child.pid}" in f["subject"]]
        self.assertEqual(len(found), 1)
        self.assertIn(found[0]["status"], ("WARN", "CRIT"))
        self.assertIn("30 zombies", found[0]["summary"])

    def test_descriptor_leak_names_the_process(self):
        child = self.python(
            "import os, resource, time\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
            "leak = [os.open('/dev/null', os.O_RDONLY) for _ in range(92)]\n"
            "print('ready', flush=True)\ntime.sleep(60)")
        child.stdout.readline()
        found = [f for f in findings(check("--only", "files.descriptors"), "files.descriptors")
                 if f"pid {child.pid}" in f["subject"]]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["status"], "CRIT")

    def test_orphans_of_a_dead_launcher(self):
        launcher = self.python(
            "import os, time\n"
            "os.setsid()\n"
            "kids = []\n"
            "for _ in range(3):\n"
            "  pid = os.fork()\n"
            "  if pid == 0: time.sleep(60); os._exit(0)\n"
            "  kids.append(pid)\n"
            "print(*kids, flush=True)")
        kids = [int(word) for word in launcher.stdout.readline().split()]
        launcher.wait()
        try:
            def adopted():
                with open(f"/proc/{kids[0]}/stat", encoding="utf-8") as file:
                    return file.read().rsplit(")", 1)[1].split()[1] == "1"
            if not wait_for(adopted, 5):
                self.skipTest("a subreaper, not process 1, takes orphans here")
            finding = problem(check("--only", "tasks.orphans"), "tasks.orphans")
            self.assertIsNotNone(finding)
            self.assertIn(str(kids[0]), str(finding["evidence"]))
        finally:
            for pid in kids:
                os.kill(pid, signal.SIGKILL)

    def test_cpu_burners(self):
        # More spinners than CPUs: pressure shows within seconds where the kernel has it.
        for _ in range(4 * os.cpu_count()):
            self.python("while True: pass")
        if not os.path.exists("/proc/pressure/cpu"):
            self.skipTest("no /proc/pressure")
        time.sleep(11)
        report = check("--only", "cpu.psi,cpu.busy")
        finding = problem(report, "cpu.psi")
        self.assertIsNotNone(finding, report)
        self.assertIn("python", str(finding["evidence"]))
        self.assertIsNotNone(problem(report, "cpu.busy"))

    def test_five_thousand_threads(self):
        child = self.python(
            "import threading, time\n"
            "threading.stack_size(65536)\n"
            "event = threading.Event()\n"
            "for _ in range(5000):\n  threading.Thread(target=event.wait, daemon=True).start()\n"
            "print('ready', flush=True)\ntime.sleep(120)")
        if not child.stdout.readline():
            self.skipTest("5,000 threads cannot be made here")
        before = os.times()
        report = check("--only", "tasks.dstate,tasks.pids")
        after = os.times()
        spent = after.children_user - before.children_user + after.children_system - before.children_system
        threads = int(findings(report, "tasks.pids")[0]["evidence"][0].split()[0])
        self.assertGreater(threads, 5000)
        print(f"5,000 threads: {spent * 1000:.0f} ms of CPU", file=sys.stderr)


class FileSystems(Spawned):
    @needs_root
    def test_full_tmpfs(self):
        folder = tempfile.mkdtemp(prefix="culprit-tmpfs-")
        try:
            mount("culprit-test", folder, "tmpfs", 0, "size=1m")
            with open(folder + "/fill", "wb") as file:
                file.write(bytes(1 << 20))
            found = [f for f in findings(check("--only", "fs.space"), "fs.space") if f["subject"] == folder]
            self.assertEqual(len(found), 1)
            self.assertEqual(found[0]["status"], "CRIT")
        finally:
            umount(folder)
            os.rmdir(folder)

    @needs_root
    def test_no_inodes_left(self):
        folder = tempfile.mkdtemp(prefix="culprit-tmpfs-")
        try:
            mount("culprit-test", folder, "tmpfs", 0, "size=1m,nr_inodes=20")
            try:
                for number in range(30):
                    open(f"{folder}/{number}", "wb").close()
            except OSError:
                pass
            found = [f for f in findings(check("--only", "fs.inodes"), "fs.inodes") if f["subject"] == folder]
            self.assertEqual([f["status"] for f in found], ["CRIT"])
        finally:
            umount(folder)
            os.rmdir(folder)

    @needs_root
    def test_file_system_that_turned_read_only(self):
        folder = tempfile.mkdtemp(prefix="culprit-ro-")
        try:
            mount("culprit-test", folder, "tmpfs", 0, "size=1m")
            with tempfile.TemporaryDirectory() as baselines:
                path = baselines + "/good"
                check("--only", "fs.readonly", "--save-baseline", path)
                self.assertIsNone(problem(check("--only", "fs.readonly", "--baseline", path), "fs.readonly"))
                mount("culprit-test", folder, "tmpfs", 32 | 1, "")  # MS_REMOUNT | MS_RDONLY
                finding = problem(check("--only", "fs.readonly", "--baseline", path), "fs.readonly")
                self.assertEqual((finding["subject"], finding["status"]), (folder, "CRIT"))
        finally:
            umount(folder)
            os.rmdir(folder)

    def test_fsync_storm(self):
        stop = threading.Event()

        def storm():
            with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
                while not stop.is_set():
                    file.write(bytes(4096))
                    file.flush()
                    os.fsync(file.fileno())

        threads = [threading.Thread(target=storm) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            config = Config("disk.latency warning=0.0001\ndisk.nvme_latency warning=0.0001\n")
            report = check("--only", "disk.latency,disk.nvme_latency", *config.arguments)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        finding = problem(report, "disk.latency") or problem(report, "disk.nvme_latency")
        if finding is None:
            self.skipTest("/var/tmp is on no disk of /proc/diskstats")
        # Others may read meanwhile, and slower; the storm itself is in the evidence.
        self.assertRegex(finding["evidence"][0], r"write [\d.]+/s .* await")


class Network(Spawned):
    def test_listen_queue_overflow(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            clients = []
            stop = threading.Event()

            def knock():
                while not stop.is_set():
                    client = socket.socket()
                    client.setblocking(False)
                    client.connect_ex(server.getsockname())
                    clients.append(client)
                    time.sleep(0.01)

            def overflows():
                """ListenOverflows as nstat has it; None without nstat."""
                if not shutil.which("nstat"):
                    return None
                text = subprocess.run(["nstat", "-asz", "TcpExtListenOverflows"], capture_output=True, text=True).stdout
                return int(re.search(r"TcpExtListenOverflows\s+(\d+)", text)[1])

            thread = threading.Thread(target=knock)
            thread.start()
            try:
                before = overflows()
                report = check("--only", "net.listen", "--sample", "2s")
                after = overflows()
            finally:
                stop.set()
                thread.join()
                for client in clients:
                    client.close()
            finding = problem(report, "net.listen")
            self.assertIsNotNone(finding, findings(report, "net.listen"))
            self.assertIn("ss -lnt", finding["advice"])
            if before is not None:
                ours = float(finding["evidence"][0].split()[0]) * report["sample_seconds"]
                self.assertGreater(ours, 0)
                self.assertLessEqual(ours, after - before + 0.2, "nstat looked over a longer time")

    @needs_root
    def test_drops_in_a_network_namespace(self):
        # A tap device that nobody reads drops what does not fit its queue.
        code = f"""
import ctypes, fcntl, os, socket, struct, subprocess, sys, threading
if ctypes.CDLL(None).unshare(0x40000000) != 0 or not os.path.exists('/dev/net/tun'): sys.exit(77)
tap = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH22s', b'drops0', 0x1002, b''))
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(control, 0x8914, struct.pack('16sH22s', b'drops0', 0x1, b''))
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(('drops0', 0))
stop = threading.Event()
def flood():
    frame = b'\\xff' * 6 + bytes(6) + b'\\x08\\x00' + bytes(50)
    while not stop.is_set():
        try: raw.send(frame)
        except OSError: pass
thread = threading.Thread(target=flood); thread.start()
out = subprocess.run([{PROGRAM!r}, 'check', '--format', 'json', '--only', 'net.drops', '--sample', '2s'], capture_output=True).stdout
stop.set(); thread.join()
sys.stdout.buffer.write(out)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
        if done.returncode == 77:
            self.skipTest("no network namespace or /dev/net/tun here")
        import json
        report = json.loads(done.stdout)
        finding = problem(report, "net.drops")
        self.assertIsNotNone(finding, report)
        self.assertEqual(finding["subject"], "drops0")


def memory_hierarchy():
    """The folder below which groups with a memory limit can be made, or None."""
    if os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        return "/sys/fs/cgroup/memory"
    try:
        with open("/sys/fs/cgroup/cgroup.subtree_control", encoding="ascii") as file:
            return "/sys/fs/cgroup" if "memory" in file.read() else None
    except OSError:
        return None


def limit_memory(group, size):
    name = "/memory.max" if os.path.exists(group + "/memory.max") else "/memory.limit_in_bytes"
    with open(group + name, "w", encoding="ascii") as file:
        file.write(str(size))


class Cgroups(Spawned):
    @needs_root
    def test_memory_limit_kills_inside_the_cgroup(self):
        base = memory_hierarchy()
        if base is None:
            self.skipTest("no memory controller")
        group = f"{base}/culprit-test-{os.getpid()}"
        os.mkdir(group)
        try:
            limit_memory(group, 32 << 20)
            code = (f"import os, time\n"
                    f"open({group + '/cgroup.procs'!r}, 'w').write(str(os.getpid()))\n"
                    "time.sleep(0.7)\nhog = bytearray(200 << 20)\ntime.sleep(60)")
            child = self.python(code)
            report = check("--only", "memory.oom", "--sample", "4s")
            child.wait(20)
            # Others' kills of the last half an hour are told too.
            finding = problem(report, "memory.oom", os.path.basename(group))
            self.assertIsNotNone(finding, findings(report, "memory.oom"))
        finally:
            self.tearDown()
            self.children = []
            wait_for(lambda: not open(group + "/cgroup.procs", encoding="ascii").read())
            os.rmdir(group)

    @needs_root
    def test_cpu_limit_throttles(self):
        base = "/sys/fs/cgroup/cpu" if os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") or \
            os.path.exists("/sys/fs/cgroup/cpu/cgroup.procs") else "/sys/fs/cgroup"
        group = f"{base}/culprit-test-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(f"no cgroup can be made: {error}")
        try:
            name, value = ("cpu.max", "20000 100000") if os.path.exists(group + "/cpu.max") else ("cpu.cfs_quota_us", "20000")
            if not os.path.exists(f"{group}/{name}"):
                self.skipTest("no cpu controller")
            with open(f"{group}/{name}", "w", encoding="ascii") as file:
                file.write(value)
            self.python(f"import os\nopen({group + '/cgroup.procs'!r}, 'w').write(str(os.getpid()))\nwhile True: pass")
            time.sleep(0.5)
            finding = problem(check("--only", "cgroup.throttle", "--sample", "2s"), "cgroup.throttle")
            self.assertIsNotNone(finding)
            self.assertIn("culprit-test", finding["subject"])
            self.assertIn("limit 0.20 CPUs", str(finding["evidence"]))
        finally:
            self.tearDown()
            self.children = []
            wait_for(lambda: not open(group + "/cgroup.procs", encoding="ascii").read())
            os.rmdir(group)


class Swap(Spawned):
    """Swap on a zram device of our own, or on a file, and a job that is larger than its cgroup: it swaps all the time."""

    SIZE = 256 << 20

    def zram(self):
        """A new zram device, or None."""
        try:
            with open("/sys/class/zram-control/hot_add", encoding="ascii") as file:
                number = int(file.read())
        except OSError:
            return None
        self.addCleanup(self.remove_zram, number)
        with open(f"/sys/block/zram{number}/disksize", "w", encoding="ascii") as file:
            file.write(str(self.SIZE))
        path = f"/dev/zram{number}"
        return path if wait_for(lambda: os.path.exists(path), 5) else None

    @staticmethod
    def remove_zram(number):
        with open(f"/sys/block/zram{number}/reset", "w", encoding="ascii") as file:
            file.write("1")
        with open("/sys/class/zram-control/hot_remove", "w", encoding="ascii") as file:
            file.write(str(number))

    def swap_file(self):
        file = tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="culprit-swap-")
        self.addCleanup(file.close)
        os.posix_fallocate(file.fileno(), 0, self.SIZE)
        os.chmod(file.name, 0o600)
        return file.name

    def swap_on(self):
        for make in (self.zram, self.swap_file):
            path = make()
            if path is None or subprocess.run(["mkswap", path], capture_output=True).returncode != 0:
                continue
            done = subprocess.run(["swapon", path], capture_output=True, text=True)
            if done.returncode == 0:
                self.addCleanup(subprocess.run, ["swapoff", path], check=True)
                return path
        self.skipTest("neither zram nor a file can be swapped on here")

    @needs_root
    def test_a_job_that_is_larger_than_its_cgroup(self):
        base = memory_hierarchy()
        if base is None:
            self.skipTest("no memory controller")
        path = self.swap_on()
        # PSI of a cgroup is v2's; where memory is limited by v1, the job is in a group of both.
        unified = "/sys/fs/cgroup/unified" if base != "/sys/fs/cgroup" else base
        name = f"culprit-test-{os.getpid()}"
        groups = {base + "/" + name, unified + "/" + name} if os.path.exists(unified) else {base + "/" + name}
        for group in groups:
            os.mkdir(group)
        try:
            limit_memory(base + "/" + name, 48 << 20)
            enter = "".join(f"open({group + '/cgroup.procs'!r}, 'w').write(str(os.getpid()))\n" for group in sorted(groups))
            # Twice as much as it may have, each page touched over and over: what comes back pushes out another.
            for _ in range(2):
                self.python("import os\n" + enter +
                            "pages = bytearray(os.urandom(1 << 20) * 64)\nprint('ready', flush=True)\n"
                            "while True:\n  for at in range(0, len(pages), 4096): pages[at] ^= 1").stdout.readline()
            config = Config("memory.psi warning=0.5\n")
            deadline = time.monotonic() + 30
            while True:
                report = check("--only", "memory", *config.arguments)
                pressure = problem(report, "memory.psi")
                if pressure is not None or not os.path.exists("/proc/pressure/memory") or time.monotonic() > deadline:
                    break
        finally:
            self.tearDown()
            self.children = []
            for group in groups:
                wait_for(lambda group=group: not open(group + "/cgroup.procs", encoding="ascii").read())
                os.rmdir(group)
        traffic = problem(report, "memory.swap_traffic")
        self.assertIsNotNone(traffic, findings(report, "memory.swap_traffic"))
        self.assertEqual(traffic["status"], "CRIT", "pages go out and come back")
        self.assertIn(f"cgroup /{name} met its memory limit of 48.0 MiB", str(traffic["evidence"]))
        self.assertIn(name, traffic["advice"])
        used = findings(report, "memory.swap_used")[0]
        self.assertGreater(used["value"], 1, path)
        if not os.path.exists("/proc/pressure/memory"):
            self.skipTest("no /proc/pressure: only the swap traffic was tested")
        self.assertIsNotNone(pressure, findings(report, "memory.psi"))
        self.assertIn(f"of cgroup /{name}: some", str(pressure["evidence"]))


class Delays(Spawned):
    PATH = "/proc/sys/kernel/task_delayacct"

    @needs_root
    def test_delays_are_read_when_they_are_on_and_not_zero_when_off(self):
        if not os.access(self.PATH, os.W_OK):
            self.skipTest("no kernel.task_delayacct that can be written")
        with open(self.PATH, encoding="ascii") as file:
            before = file.read()
        try:
            with open(self.PATH, "w", encoding="ascii") as file:
                file.write("0")
            off = findings(check("--only", "tasks.delays", "--sample", "100ms"), "tasks.delays")[0]
            self.assertEqual((off["status"], off["value"]), ("N/A", None))
            with open(self.PATH, "w", encoding="ascii") as file:
                file.write("1")
            # Two spinners on one CPU: each waits half of the time for it.
            for _ in range(2):
                self.python("import os\nos.sched_setaffinity(0, {0})\nwhile True: pass")
            time.sleep(0.3)
            on = findings(check("--only", "tasks.delays"), "tasks.delays")[0]
            self.assertIn(on["status"], ("OK", "WARN"))
            self.assertIn("waiting for a CPU", str(on["evidence"]))
        finally:
            with open(self.PATH, "w", encoding="ascii") as file:
                file.write(before)


class Clean(unittest.TestCase):
    def test_repeated_runs_leave_nothing_behind(self):
        for _ in range(3):
            check("--sample", "50ms")
        self.assertEqual(tasks_named("culprit-"), [])
        self.assertEqual(tasks_named("cpm:"), [])

    def test_quiet_machine_has_no_finding(self):
        # What of this machine is none of the check's business, and rightly told: no NTP, a full disk, OOM kills of the
        # tests before this one.
        config = Config("kernel.clock off\nfs.space off\nmemory.oom off\n")

        def pressure():
            """How much of the time somebody waited, in percent, by resource."""
            found = {}
            for resource in ("cpu", "memory", "io"):
                try:
                    with open("/proc/pressure/" + resource, encoding="ascii") as file:
                        found[resource] = int(file.readline().rsplit("=", 1)[1])
                except OSError:
                    pass
            return found

        # Not every second of a shared machine is quiet. The kernel's own numbers say which were: in those, nothing may be
        # found; in a busy one, nothing that has to do with other than being busy.
        busy_ids = ("cpu.", "memory.psi", "memory.reclaim", "memory.dirty", "memory.refaults", "memory.swap", "disk.", "net.",
                    "cgroup.throttle", "tasks.dstate")
        quiet = 0
        for _ in range(8):
            before, begin = pressure(), time.monotonic()
            report = check(*config.arguments)
            lasted = time.monotonic() - begin
            shares = {name: (value - before[name]) / 1e4 / lasted for name, value in pressure().items() if name in before}
            found = [f for f in report["findings"] if f["status"] in ("WARN", "CRIT")]
            # The load of 15 minutes tells of an earlier time: true where the kernel says so (a build just before the tests).
            if os.getloadavg()[2] >= 2 * os.cpu_count():
                found = [f for f in found if f["id"] != "cpu.load"]
            if max(shares.values(), default=100) < 5:
                quiet += 1
                self.assertEqual(found, [], shares)
            else:
                self.assertEqual([f for f in found if not f["id"].startswith(busy_ids)], [], shares)
            if quiet == 2:
                return
        if quiet == 0:
            self.skipTest(f"not one quiet second in eight: {shares}; what was found was of being busy")

    @needs_root
    def test_inside_a_container_says_so(self):
        done = subprocess.run(["unshare", "-pf", "--mount-proc", PROGRAM, "check", "--format", "json", "--only", "culprit.view"],
                              capture_output=True, text=True)
        if not done.stdout:
            self.skipTest("no pid namespaces here: " + done.stderr)
        import json
        report = json.loads(done.stdout)
        self.assertIsNotNone(report["container"])
        self.assertEqual(report["findings"][0]["status"], "UNKNOWN")
        self.assertEqual(done.returncode, 3)


if __name__ == "__main__":
    main()
