"""culprit stat against Debian's perf stat, getrusage and what a program knows of itself; without root, without perf events."""
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.environ["CULPRIT_SOURCE_DIR"]
CULPRIT = os.environ["CULPRIT_PROGRAM"]
DENY = os.environ.get("CULPRIT_DENY_PERF_EVENTS", "")
PERF = shutil.which("perf")

# Burns, sleeps and touches memory once its stdin says so; then prints what the kernel says of it.
WORK = r"""
import mmap, os, resource, sys, threading, time
if sys.argv[1] == "gated":
    print("ready", flush=True)
    sys.stdin.readline()
begin = resource.getrusage(resource.RUSAGE_SELF)
def burn(cpu_s):
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        for _ in range(1000):
            pass
memory = mmap.mmap(-1, 4096 * 4000)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(4000):
    memory[page * 4096] = 1
thread = threading.Thread(target=burn, args=(0.1,))
thread.start()
for _ in range(300):
    time.sleep(0.0005)
burn(0.2)
thread.join()
end = resource.getrusage(resource.RUSAGE_SELF)
print(end.ru_utime + end.ru_stime, end.ru_minflt, end.ru_majflt, end.ru_nvcsw, end.ru_nivcsw, end.ru_utime,
      end.ru_stime, begin.ru_minflt, flush=True)
"""


def have_perf_events():
    probe = subprocess.run([CULPRIT, "stat", "-e", "task-clock", "--format", "json", "--", "true"], capture_output=True, text=True)
    return json.loads(probe.stderr)["events"][0]["source"] == "perf"


def counts_of(sample, row=0):
    return {count["event"]: count for count in sample["rows"][row]["counts"]}


def values_of(sample, row=0):
    return {name: count["value"] for name, count in counts_of(sample, row).items() if "value" in count}


def stat(*arguments, prefix=(), **keywords):
    """Runs culprit stat with JSON into a file; gives its report and the finished process."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = folder + "/stat.json"
        done = subprocess.run([*prefix, CULPRIT, "stat", "--format", "json", "-o", path, *arguments], capture_output=True,
                              text=True, timeout=120, **keywords)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return (json.loads(text) if text else None), done


def perf_fds(pid):
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += "perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
    return count


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what + " did not come about")
        time.sleep(0.02)


class Command(unittest.TestCase):
    def test_against_getrusage(self):
        report, done = stat("--", sys.executable, "-c", WORK, "free")
        self.assertEqual(done.returncode, 0, done.stderr)
        cpu, minor, major, voluntary, involuntary, user, system, _ = map(float, done.stdout.split())
        values = values_of(report["total"])
        # Its own figures lack the end of the interpreter and hold what came between fork and exec: some
        # milliseconds and some hundreds of faults. Switches: the gate, the join and the exit.
        self.assertAlmostEqual(values["task-clock"] / 1e9, cpu, delta=0.06)
        self.assertAlmostEqual(values["user-time"] / 1e9, user, delta=0.06)
        self.assertAlmostEqual(values["system-time"] / 1e9, system, delta=0.06)
        self.assertGreaterEqual(values["minor-faults"], 4000)
        self.assertAlmostEqual(values["minor-faults"], minor, delta=400)
        self.assertAlmostEqual(values["major-faults"], major, delta=20)
        self.assertAlmostEqual(values["voluntary-switches"], voluntary, delta=10)
        self.assertGreaterEqual(values["voluntary-switches"], 290)
        # Each switch is of one kind or the other.
        self.assertAlmostEqual(values["context-switches"], values["voluntary-switches"] + values["involuntary-switches"],
                               delta=10 + 0.1 * involuntary)
        self.assertAlmostEqual(report["metrics"]["cpus_used"], values["task-clock"] / 1e9 / report["elapsed_s"], places=6)

    def test_exit_status(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)):
            report, done = stat("--", "sh", "-c", script)
            self.assertEqual(done.returncode, status)
            self.assertEqual(report["exit_status"], status)
        done = subprocess.run([CULPRIT, "stat", "--", "/no/such/program"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/program", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, "an error is one line")

    def test_output_is_not_mixed_with_the_commands(self):
        done = subprocess.run([CULPRIT, "stat", "--", "echo", "hello"], capture_output=True, text=True)
        self.assertEqual(done.stdout, "hello\n")
        self.assertIn("task-clock", done.stderr)

    def test_words_behind_the_mark_are_the_commands(self):
        _, done = stat("--", "echo", "-a", "--for", "--", "-p")
        self.assertEqual(done.stdout, "-a --for -- -p\n")

    def test_children_are_counted(self):
        burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        report, _ = stat("--", "sh", "-c", f"{sys.executable} -c '{burn}'; {sys.executable} -c '{burn}'")
        self.assertGreater(values_of(report["total"])["task-clock"], 0.6e9)

    def test_rows_of_threads_sum_up(self):
        two = ("import threading, time\n"
               "def burn():\n"
               "  end = time.thread_time() + 0.4\n"
               "  while time.thread_time() < end: pass\n"
               "threads = [threading.Thread(target=burn) for _ in range(2)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]")
        report, _ = stat("--per-thread", "-e", "task-clock", "--", sys.executable, "-c", two)
        rows = report["total"]["rows"]
        threads = [row for row in rows if row["scope"] == "thread"]
        self.assertGreaterEqual(len(threads), 3)
        total = values_of(report["total"])["task-clock"]
        self.assertAlmostEqual(sum(c["value"] for row in threads for c in row["counts"] if "value" in c), total, delta=1)
        # Each thread burns 400 ms; what is before it was seen (100 ms apart, more on a loaded machine) is in the note.
        noted = sum(float(m.group(1)) for note in report["notes"] for m in [re.match(r"([0-9.]+) % of the task-clock", note)] if m)
        self.assertGreater(total * 100 / (100 - noted), 0.8e9 * 0.97)

    def test_rows_of_cpus_sum_up(self):
        report, _ = stat("--per-cpu", "-e", "task-clock,context-switches", "--", sys.executable, "-c", WORK, "free")
        rows = report["total"]["rows"]
        self.assertEqual({row["cpu"] for row in rows[1:]}, set(os.sched_getaffinity(0)) | {row["cpu"] for row in rows[1:]})
        for i, total in enumerate(rows[0]["counts"]):
            if "value" in total:
                self.assertAlmostEqual(sum(row["counts"][i].get("raw", 0) for row in rows[1:]), total["raw"], delta=1)

    def test_intervals_sum_up(self):
        report, _ = stat("--interval", "100ms", "-e", "task-clock,minor-faults", "--", sys.executable, "-c", WORK, "free")
        self.assertGreater(len(report["intervals"]), 1)
        for name in ("task-clock", "minor-faults"):
            self.assertEqual(sum(counts_of(s)[name]["raw"] for s in report["intervals"]), counts_of(report["total"])[name]["raw"])
        for before, after in zip(report["intervals"], report["intervals"][1:]):
            self.assertEqual(before["end_s"], after["begin_s"])

    def test_json_is_as_its_schema_says(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        with open(SOURCE + "/docs/stat.schema.json", encoding="utf-8") as file:
            schema = json.load(file)
        for arguments in (["--interval", "50ms", "--", "sleep", "0.2"], ["--per-thread", "--", "sleep", "0.1"],
                          ["-a", "--for", "100ms", "--per-cpu"], ["-e", "cycles,r01c2:u,minor-faults", "--", "true"]):
            report, _ = stat(*arguments)
            jsonschema.validate(report, schema)
            self.assertEqual(set(report), set(schema["properties"]))

    def test_csv(self):
        done = subprocess.run([CULPRIT, "stat", "--format", "csv", "--interval", "50ms", "-e", "task-clock,minor-faults", "--",
                               "sleep", "0.2"], capture_output=True, text=True)
        rows = list(csv.DictReader(io.StringIO(done.stderr)))
        self.assertGreaterEqual(len(rows), 4)
        self.assertEqual({row["event"] for row in rows}, {"task-clock", "minor-faults"})
        self.assertTrue(all(row["state"] == "counted" and float(row["value"]) >= 0 for row in rows))

    def test_a_name_that_is_none(self):
        done = subprocess.run([CULPRIT, "stat", "-e", "cylces", "--", "true"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean cycles", done.stderr)


@unittest.skipUnless(have_perf_events(), "perf events cannot be opened here")
class Attached(unittest.TestCase):
    def start(self, code, *words):
        child = subprocess.Popen([sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def attach(self, folder, pids, *more):
        counter = subprocess.Popen([CULPRIT, "stat", "--format", "json", "-o", folder + "/stat.json", "-p",
                                    ",".join(map(str, pids)), *more], stderr=subprocess.PIPE)
        self.addCleanup(counter.stderr.close)
        return counter

    @unittest.skipUnless(PERF, "Debian's linux-perf is not installed")
    def test_against_perf_stat_on_the_same_process(self):
        # Both watch one process that waits until both have attached, and both stop with it: only what a counter
        # itself gets wrong is left, so the tolerance is small.
        child = self.start(WORK, "gated")
        with tempfile.TemporaryDirectory() as folder:
            counter = self.attach(folder, [child.pid])
            perf = subprocess.Popen([PERF, "stat", "-x", ";", "-o", folder + "/perf", "-e",
                                     "task-clock,context-switches,cpu-migrations,minor-faults,major-faults", "-p", str(child.pid)])
            wait_until(lambda: perf_fds(counter.pid) >= 5 and perf_fds(perf.pid) >= 5, "counters")
            time.sleep(0.3)  # culprit reads its bases right after it has opened them
            child.communicate("go\n", timeout=60)
            self.assertEqual(counter.wait(timeout=60), 0)
            perf.wait(timeout=60)
            with open(folder + "/perf", encoding="utf-8") as file:
                theirs = {f[2]: float(f[0]) for f in (line.split(";") for line in file if line[0] not in "#\n")}
            with open(folder + "/stat.json", encoding="utf-8") as file:
                ours = values_of(json.load(file)["total"])
        self.assertAlmostEqual(ours["task-clock"] / 1e6, theirs["task-clock"], delta=1 + 0.01 * theirs["task-clock"])
        for name in ("context-switches", "cpu-migrations", "minor-faults", "major-faults"):
            self.assertAlmostEqual(ours[name], theirs[name], delta=3, msg=name)
        self.assertGreaterEqual(ours["minor-faults"], 4000)
        self.assertGreaterEqual(ours["context-switches"], 290)

    def test_several_processes_and_threads_born_meanwhile(self):
        children = [self.start(WORK, "gated") for _ in range(2)]
        with tempfile.TemporaryDirectory() as folder:
            counter = self.attach(folder, [child.pid for child in children])
            wait_until(lambda: perf_fds(counter.pid) >= 10, "counters")
            time.sleep(0.3)
            used = []
            for child in children:
                out, _ = child.communicate("go\n", timeout=60)
                used.append(out.split())
            self.assertEqual(counter.wait(timeout=60), 0)
            with open(folder + "/stat.json", encoding="utf-8") as file:
                ours = values_of(json.load(file)["total"])
        # 300 ms each, a third of it in a thread that was born after counting began.
        self.assertGreater(ours["task-clock"], 0.59e9)
        self.assertGreaterEqual(ours["minor-faults"], 8000)
        self.assertGreaterEqual(ours["voluntary-switches"], 580)

    def test_a_process_that_vanishes_ends_it(self):
        child = subprocess.Popen(["sleep", "0.5"])
        report, done = stat("-p", str(child.pid))
        child.wait()
        self.assertEqual(done.returncode, 0)
        self.assertLess(report["elapsed_s"], 30)
        done = subprocess.run([CULPRIT, "stat", "-p", str(child.pid)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no process", done.stderr)

    def test_interrupt_prints_what_was_counted(self):
        child = subprocess.Popen(["sleep", "100"])
        try:
            with tempfile.TemporaryDirectory() as folder:
                counter = self.attach(folder, [child.pid])
                wait_until(lambda: perf_fds(counter.pid) >= 5, "counters")
                time.sleep(0.3)
                counter.send_signal(signal.SIGINT)
                self.assertEqual(counter.wait(timeout=30), 0)
                with open(folder + "/stat.json", encoding="utf-8") as file:
                    self.assertIn("task-clock", values_of(json.load(file)["total"]))
            self.assertIsNone(child.poll(), "the process that was counted goes on")
        finally:
            child.kill()
            child.wait()

    def test_waiting_is_read_as_waiting(self):
        report, _ = stat("--", "sleep", "1")
        self.assertEqual(report["reading"][0]["id"], "idle")

    def test_tsc_of_the_msr_pmu_runs_with_the_task(self):
        if not os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
            self.skipTest("no PMU msr with an event tsc here")
        report, _ = stat("-e", "msr/tsc/,task-clock", "--", sys.executable, "-c", WORK, "free")
        values = values_of(report["total"])
        if "msr/tsc/" not in values:
            self.skipTest("the PMU msr cannot be opened here")
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            mhz = float(re.search(r"cpu MHz\s*:\s*([0-9.]+)", file.read()).group(1))
        ghz = values["msr/tsc/"] / values["task-clock"]
        self.assertGreater(ghz, mhz / 1000 * 0.3)  # of one order: its rate is fixed, the CPU's is not
        self.assertLess(ghz, mhz / 1000 * 3)


class Unprivileged(unittest.TestCase):
    def check_from_proc(self, report, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        cpu, minor, _, voluntary, *_ = map(float, done.stdout.split())
        values = values_of(report["total"])
        sources = {event["name"]: event["source"] for event in report["events"]}
        self.assertEqual(sources["context-switches"], "/proc")
        self.assertAlmostEqual(values["task-clock"] / 1e9, cpu, delta=0.06)
        self.assertAlmostEqual(values["minor-faults"], minor, delta=400)
        self.assertAlmostEqual(values["voluntary-switches"], voluntary, delta=10)
        return sources

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv, to become nobody")
    def test_an_ordinary_user(self):
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) != 2:
                self.skipTest("perf_event_paranoid is not 2")
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        report, done = stat("--", "/usr/bin/python3", "-c", WORK, "free", prefix=prefix)
        sources = self.check_from_proc(report, done)
        self.assertEqual(sources["task-clock"], "perf")
        self.assertTrue(any("perf_event_paranoid is 2" in event["reason"] for event in report["events"]))

    @unittest.skipUnless(DENY, "the program that denies perf events was not built")
    def test_perf_events_forbidden_by_seccomp(self):
        report, done = stat("--", sys.executable, "-c", WORK, "free", prefix=[DENY])
        sources = self.check_from_proc(report, done)
        self.assertEqual(sources["task-clock"], "/proc")
        states = {c["event"]: c["state"] for c in report["total"]["rows"][0]["counts"]}
        self.assertEqual(states["cycles"], "not allowed")


if __name__ == "__main__":
    unittest.main()
