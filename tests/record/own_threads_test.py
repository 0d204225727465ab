"""culprit record without root: as another user, and with perf events forbidden by a seccomp filter."""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

CULPRIT = os.environ["CULPRIT_PROGRAM"]
DENY = os.environ["CULPRIT_DENY_PERF_EVENTS"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# Two threads with known times: each prints what the kernel says of itself.
WORK = r"""
import resource, sys, threading, time
if sys.argv[1] == "gated":
    print("ready", flush=True)
    sys.stdin.readline()
def told(name):
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    print(name, threading.get_native_id(), time.thread_time(), usage.ru_nvcsw, usage.ru_nivcsw, now, flush=True)
def work():
    for _ in range(100):
        time.sleep(0.002)
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
    told("worker")
thread = threading.Thread(target=work)
thread.start()
thread.join()
begin = time.monotonic()
time.sleep(0.4)
slept = time.monotonic() - begin
told("main")
print("slept", slept, flush=True)
"""


def has_perf_events(pid):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if "perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                return True
        except FileNotFoundError:
            pass  # closed meanwhile
    return False


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv, to become nobody")
class OwnThreads(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o777)
        self.trace = folder.name + "/own.trace"

    def query(self, sql):
        done = subprocess.run([CULPRIT, "query", "--format", "json", self.trace, sql], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def record(self, *prefix):
        done = subprocess.run([*NOBODY, *prefix, CULPRIT, "record", "-o", self.trace, "--", "/usr/bin/python3", "-c", WORK, "free"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        threads = {words[0]: words[1:] for words in map(str.split, done.stdout.splitlines()) if words and words[0] in ("worker", "main", "slept")}
        return threads, done

    def times(self, tid):
        rows = self.query("SELECT state, SUM(CASE WHEN dur > 0 THEN dur ELSE 0 END) AS ns FROM thread_state JOIN thread USING (utid) "
                          f"WHERE tid = {tid} GROUP BY state")
        return {row["state"]: int(row["ns"]) for row in rows}

    def one(self, sql):
        rows = self.query(sql)
        return next(iter(rows[0].values())) if rows else None

    def check_times(self, threads, slack_s):
        for name in ("worker", "main"):
            tid, cpu_s = threads[name][0], float(threads[name][1])
            # It said so just before its end, and main began before Python did.
            self.assertAlmostEqual(self.times(tid)["Running"] / 1e9, cpu_s, delta=slack_s + 0.05 * cpu_s, msg=name)
        # The long sleep is one wait, met by many looks, each with the function it slept in.
        longest = self.query("SELECT dur, state, blocked_function FROM thread_state JOIN thread USING (utid) "
                             f"WHERE tid = {threads['main'][0]} AND state = 'S' AND dur > 300000000 AND ts > (SELECT MIN(ts) FROM thread_state) "
                             "ORDER BY ts DESC LIMIT 1")[0]
        self.assertAlmostEqual(int(longest["dur"]) / 1e9, float(threads["slept"][0]), delta=0.02 + slack_s)
        self.assertIn("sleep", longest["blocked_function"])

    def check_coverage(self, source):
        self.assertEqual(self.one("SELECT str_value FROM metadata WHERE name = 'sched_source'"), source)
        self.assertIn("only", self.one("SELECT str_value FROM metadata WHERE name = 'sched_coverage'"))
        self.assertGreaterEqual(int(self.one("SELECT value FROM stats WHERE name = 'own_threads'")), 2)
        # Of others there is nothing, of idle CPUs neither.
        self.assertEqual(int(self.one("SELECT COUNT(*) FROM thread_state JOIN thread USING (utid) LEFT JOIN process USING (upid) "
                                      "WHERE process.name IS NULL OR process.name NOT LIKE '%python%'")), 0)
        self.assertEqual(int(self.one("SELECT COUNT(*) FROM sched WHERE utid = 0")), 0)
        # A thread does one thing at a time.
        self.assertEqual(int(self.one("SELECT COUNT(*) FROM (SELECT ts, LAG(ts + dur) OVER (PARTITION BY utid ORDER BY ts) AS before "
                                      "FROM thread_state) WHERE before > ts")), 0)
        done = subprocess.run([CULPRIT, "explain", self.trace], capture_output=True, text=True, timeout=120)
        self.assertIn("recorded without root", done.stdout)
        self.assertNotIn("every switch of that CPU is in the recording", done.stdout)

    def test_as_another_user_switches_are_exact(self):
        threads, done = self.record()
        self.assertIn("switches of 2 threads are exact", done.stderr)
        self.check_times(threads, 0.02)
        self.check_coverage("switches")
        for name in ("worker", "main"):
            tid, _, voluntary, involuntary, told_at = threads[name]
            of_thread = f"FROM sched JOIN thread USING (utid) WHERE tid = {tid} AND ts"
            # The kernel's own count: a slice ends with each switch, and one was under way. Main has begun before its gate.
            self.assertAlmostEqual(int(self.one(f"SELECT COUNT(*) {of_thread} <= {told_at}")), int(voluntary) + int(involuntary) + 1, delta=3, msg=name)
            preempted = int(self.one(f"SELECT COUNT(*) {of_thread} + dur <= {told_at} AND dur > 0 AND end_state = 'R+'"))
            self.assertAlmostEqual(preempted, int(involuntary), delta=5, msg=name)
        self.assertEqual(int(self.one("SELECT value FROM stats WHERE name = 'own_threads_lost'")), 0)
        # Slices of one CPU do not overlap.
        self.assertEqual(int(self.one("SELECT COUNT(*) FROM (SELECT ts, LAG(ts + dur) OVER (PARTITION BY cpu ORDER BY ts) AS before "
                                      "FROM sched) WHERE before > ts")), 0)
        flame = subprocess.run([CULPRIT, "flame", "--type", "off-cpu", self.trace], capture_output=True, text=True, timeout=120)
        self.assertEqual(flame.returncode, 0, flame.stderr)
        self.assertIn("sleep", flame.stdout)

    def test_where_perf_events_are_forbidden_samples_remain(self):
        threads, done = self.record(DENY)
        self.assertIn("switches are sampled, not exact", done.stderr)
        self.check_times(threads, 0.05)  # a look is 10 ms from the next, more on a loaded machine
        self.check_coverage("samples")
        self.assertEqual(int(self.one("SELECT COUNT(*) FROM sched")), 0)

    def test_a_process_that_runs_already(self):
        child = subprocess.Popen([*NOBODY, "/usr/bin/python3", "-c", WORK, "gated"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "ready\n")
        recorder = subprocess.Popen([*NOBODY, CULPRIT, "record", "-o", self.trace, "--pid", str(child.pid), "--for", "60s"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 30
        while not has_perf_events(recorder.pid):
            self.assertLess(time.monotonic(), end, "the recorder did not attach")
            time.sleep(0.02)
        time.sleep(0.2)
        out, _ = child.communicate("go\n", timeout=60)
        recorder.send_signal(2)
        recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0)
        threads = {words[0]: words[1:] for words in map(str.split, out.splitlines())}
        # The worker was born while it was recorded.
        self.assertAlmostEqual(self.times(threads["worker"][0])["Running"] / 1e9, float(threads["worker"][1]), delta=0.02)
        self.assertEqual(self.one("SELECT str_value FROM metadata WHERE name = 'sched_source'"), "switches")

    def test_preflight_tells_the_level(self):
        for prefix, level in (([], "1 of 3"), (NOBODY, "2 of 3"), ([*NOBODY, DENY], "3 of 3")):
            done = subprocess.run([*prefix, CULPRIT, "preflight", "--json", "--dir", "/tmp", "--size", "1M"], capture_output=True, text=True)
            row = [check for check in json.loads(done.stdout)["checks"] if check["check"] == "level"][0]
            self.assertIn(level, row["what"])
            self.assertEqual(row["remedy"] == "", level == "1 of 3")

    def test_what_wants_root_says_so(self):
        done = subprocess.run([*NOBODY, CULPRIT, "record", "-o", self.trace, "--for", "1s"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--pid PID or -- COMMAND", done.stderr)


if __name__ == "__main__":
    unittest.main()
