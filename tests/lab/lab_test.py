#!/usr/bin/env python3
"""culprit lab: each scenario runs for a second or two, and what it says of itself is compared with the
scheduler's events in a recording of it, which it does not see. Then what is left after ^C and kill -9.

Needs root and tracefs for the recordings; skips aloud (77) without them.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["CULPRIT_PROGRAM"]
# On a real disk: a folder of the build, since /tmp may be memory.
WORK = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "lab_test")

RECORDED = [("cpu", ""), ("lock", ""), ("gil", ""), ("io", ""), ("read", ""), ("dstate", ""), ("preempt", ""),
            ("oversub", ""), ("priority-inversion", ""), ("throttle", ""), ("memory", ""), ("swap", ""), ("irq", ""),
            ("checkpoint", ""), ("straggler", "cpu"), ("straggler", "sleep"), ("straggler", "disk")]
RECORDED += [("pipeline", fault) for fault in ("none", "disk", "lock", "cpu", "preempt", "sleep", "downstream")]


def culprit(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300, **options)


def lab(*arguments):
    done = culprit("lab", *arguments, "--dir", WORK, "--json")
    if done.returncode != 0:
        raise AssertionError(f"culprit lab {arguments}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def query(trace, sql):
    done = culprit("query", trace, sql, "--format", "json")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def states(trace, truth):
    """{tid: {state: ns}} of the victims within the truth's window, from the scheduler's events."""
    begin, end = truth["window"]["start_ns"], truth["window"]["end_ns"]
    tids = ",".join(str(victim["tid"]) for victim in truth["victims"])
    sums = {}
    for row in query(trace, f"""
            SELECT tid, state, SUM(LEAST(ts + dur, {end}) - GREATEST(ts, {begin})) AS ns
            FROM thread_state JOIN thread USING (utid)
            WHERE tid IN ({tids}) AND dur > 0 AND ts < {end} AND ts + dur > {begin}
            GROUP BY tid, state ORDER BY tid, state"""):
        sums.setdefault(row["tid"], {})[row["state"]] = row["ns"]
    return sums


def ran_on(trace, truth, tids, cpu=None):
    """CPU time of those threads within the window, from the scheduler's events."""
    begin, end = truth["window"]["start_ns"], truth["window"]["end_ns"]
    place = "" if cpu is None else f"AND sched.cpu = {cpu}"
    rows = query(trace, f"""
        SELECT SUM(LEAST(ts + dur, {end}) - GREATEST(ts, {begin})) AS ns FROM sched JOIN thread USING (utid)
        WHERE tid IN ({",".join(map(str, tids))}) AND dur > 0 AND ts < {end} AND ts + dur > {begin} {place}""")
    return rows[0]["ns"] or 0


def processes():
    """{pid: parent pid} of all that live."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        if fields[0] not in "ZX":
            found[int(text.split(" ", 1)[0])] = int(fields[1])
    return found


def descendants(pid):
    alive, found = processes(), {pid}
    while True:
        more = {child for child, parent in alive.items() if parent in found} - found
        if not more:
            return found
        found |= more


def swaps():
    with open("/proc/swaps", encoding="utf-8") as file:
        return [line for line in file if line.startswith(WORK + "/culprit-lab")]


def leftovers():
    """What a lab left, but for the cgroups of one that somebody else runs now (their names have its pid)."""
    mine = descendants(os.getpid())

    def running_elsewhere(group):
        pid = int(os.path.basename(group).split(".")[1])
        return pid not in mine and os.path.exists(f"/proc/{pid}")

    groups = glob.glob("/sys/fs/cgroup/**/culprit-lab.*", recursive=True)
    return glob.glob(WORK + "/culprit-lab.*") + [group for group in groups if not running_elsewhere(group)] + swaps()


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    return condition()


class Truth(unittest.TestCase):
    """What scenarios say of themselves, against the kernel's events."""

    def record(self, scenario, fault):
        trace = os.path.join(WORK, f"{scenario}-{fault}.pftrace")
        words = [scenario, "--for", "1.5s", "--record", trace]
        truth = lab(*words, *(["--fault", fault] if fault else []))
        self.addCleanup(os.unlink, trace)
        self.assertEqual(truth["schema"], 1)
        self.assertEqual(truth["scenario"], scenario)
        self.assertEqual(leftovers(), [])
        return truth, trace

    def check_states(self, truth, trace):
        seen = states(trace, truth)
        cut = query(trace, "SELECT COALESCE(SUM(value), 0) AS n FROM stats WHERE name = 'sched_slices_cut'")[0]["n"]
        for victim in truth["victims"]:
            # Clocks are read at other moments than the events are made; a thread may go on for a moment after the end.
            window = truth["window"]["end_ns"] - truth["window"]["start_ns"]
            room = 0.05 * victim["wall_ns"] + 30e6 + abs(victim["wall_ns"] - window)
            mine = seen[victim["tid"]]
            if cut:  # the kernel left out switches: what a thread did around them is not known
                room += max(0, window - sum(mine.values()))
            ready = sum(ns for state, ns in mine.items() if state.startswith("R") and state != "Running")
            off = sum(ns for state, ns in mine.items() if state[0] in "SDIT")
            name = f"{truth['scenario']} {truth['fault']} {victim['name']}: {mine} {victim}"
            # Where the kernel did not trace every switch (stats say so) a slice is cut and counts as ready.
            self.assertAlmostEqual(mine.get("Running", 0) + ready, victim["running_ns"] + victim["runnable_ns"],
                                   delta=room, msg=name)
            if not cut:
                self.assertAlmostEqual(mine.get("Running", 0), victim["running_ns"], delta=room, msg=name)
            self.assertAlmostEqual(off, victim["off_ns"], delta=room, msg=name)

    def check_culprit(self, truth, trace):
        guilty, wall = truth["culprit"], sum(victim["wall_ns"] for victim in truth["victims"])
        # A thread that waits when the window ends goes on measuring until it has what it waits for.
        window = truth["window"]["end_ns"] - truth["window"]["start_ns"]
        room = 0.04 + sum(abs(victim["wall_ns"] - window) for victim in truth["victims"]) / max(wall, 1)
        if truth["scenario"] in ("cpu", "preempt"):
            # Where the victim ran is the CPU that they fight for.
            cpu = query(trace, f"""SELECT cpu FROM sched JOIN thread USING (utid)
                WHERE tid = {truth['victims'][0]['tid']} AND ts > {truth['window']['start_ns']}
                GROUP BY cpu ORDER BY SUM(dur) DESC LIMIT 1""")[0]["cpu"]
            self.assertAlmostEqual(ran_on(trace, truth, guilty["tids"], cpu) / wall, guilty["share"], delta=room)
        if truth["scenario"] == "oversub":
            seen = states(trace, truth)
            ready = sum(ns for mine in seen.values() for state, ns in mine.items() if state in ("R", "R+"))
            capacity = os.cpu_count() * (truth["window"]["end_ns"] - truth["window"]["start_ns"])
            theirs = ran_on(trace, truth, guilty["tids"]) / capacity
            self.assertAlmostEqual(ready / wall * theirs, guilty["share"], delta=room)
        if truth["scenario"] in ("dstate", "gil", "lock"):
            # Threads that do nothing else off the CPU; a lock's share is at most that.
            letters = "D" if truth["scenario"] == "dstate" else "S"
            off = sum(ns for mine in states(trace, truth).values()
                      for state, ns in mine.items() if state[0] in letters) / wall
            if truth["scenario"] == "lock":
                self.assertLess(guilty["share"], off + room)
                self.assertGreater(guilty["share"], 0)
            else:
                self.assertAlmostEqual(off, guilty["share"], delta=room)
        if guilty["kind"] != "none":
            self.assertGreater(guilty["share"], 0, truth)
            self.assertLessEqual(guilty["share"], 1.02, truth)

    def test_scenarios(self):
        for scenario, fault in RECORDED:
            with self.subTest(scenario=scenario, fault=fault):
                truth, trace = self.record(scenario, fault)
                self.check_states(truth, trace)
                self.check_culprit(truth, trace)
                if scenario == "pipeline":
                    marks = query(trace, "SELECT name, COUNT(*) AS n FROM slice GROUP BY name ORDER BY name")
                    steps = {row["name"]: row["n"] for row in marks}
                    self.assertAlmostEqual(steps.get("step", 0), truth["figures"]["batches"], delta=1)

    def test_checks_fire(self):
        config = os.path.join(WORK, "check.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("tasks.zombies warning=0.1\n")
        for scenario, check in (("zombie", "tasks.zombies"), ("fdleak", "files.descriptors"), ("pidleak", "tasks.pids")):
            with self.subTest(scenario=scenario):
                running = subprocess.Popen([PROGRAM, "lab", scenario, "--for", "60s", "--dir", WORK, "--json"],
                                           stdout=subprocess.PIPE, text=True)
                try:
                    def fired():
                        report = json.loads(culprit("check", "--only", check, "--config", config, "--format", "json").stdout)
                        names = json.dumps(report)
                        return ("zombie_parent" in names or "fd_leaker" in names or "culprit-lab" in names) and [
                            finding for finding in report["findings"] if finding["status"] in ("WARN", "CRIT")]
                    found = wait_for(fired)
                    self.assertTrue(found)
                    self.assertEqual(found[0]["id"], check)
                finally:
                    running.send_signal(signal.SIGINT)
                    truth = json.loads(running.communicate(timeout=60)[0])
                self.assertEqual(running.returncode, 130)
                self.assertTrue(truth["interrupted"])
                self.assertEqual(truth["check"]["id"], check)


class Cleanup(unittest.TestCase):
    """Nothing is left, whatever ends the lab."""

    def begin(self, scenario, *arguments):
        running = subprocess.Popen([PROGRAM, "lab", scenario, "--for", "120s", "--dir", WORK, "--json", *arguments],
                                   stdout=subprocess.PIPE, text=True)
        # Its caretaker and at least one actor.
        self.assertTrue(wait_for(lambda: len(descendants(running.pid)) >= 3))
        if scenario == "swap":
            self.assertTrue(wait_for(swaps))
        return running

    def gone(self, family):
        self.assertTrue(wait_for(lambda: not family & set(processes())), f"alive: {family & set(processes())}")
        self.assertTrue(wait_for(lambda: not leftovers()), f"left: {leftovers()}")

    def test_signals(self):
        for scenario in ("pipeline", "swap", "io"):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(scenario=scenario, signal=number):
                    running = self.begin(scenario)
                    time.sleep(0.5)
                    family = descendants(running.pid)
                    running.send_signal(number)
                    out = running.communicate(timeout=120)[0]
                    self.assertIn(running.returncode, (1, 130))  # 1: it had not yet begun
                    if running.returncode == 130:
                        self.assertTrue(json.loads(out)["interrupted"])
                    self.gone(family)

    def test_kill(self):
        for scenario in ("pipeline", "swap", "memory", "io", "irq", "dstate", "pidleak", "throttle", "zombie"):
            with self.subTest(scenario=scenario):
                running = self.begin(scenario)
                time.sleep(0.3)
                family = descendants(running.pid)
                running.kill()
                running.communicate(timeout=60)
                self.gone(family)

    def test_kill_of_the_recorder_and_all_above(self):
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            trace = os.path.join(folder, "t.pftrace")
            running = subprocess.Popen([PROGRAM, "lab", "io", "--for", "60s", "--dir", WORK, "--record", trace],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertTrue(wait_for(lambda: len(descendants(running.pid)) >= 6))
            family = descendants(running.pid)
            running.kill()
            running.communicate(timeout=120)
            self.gone(family)

    def test_next_run_sweeps_what_a_killed_caretaker_left(self):
        for scenario in ("io", "swap"):
            with self.subTest(scenario=scenario):
                self.sweep(scenario)

    def sweep(self, scenario):
        running = self.begin(scenario)
        self.assertTrue(wait_for(leftovers))
        family = descendants(running.pid)
        def comm(pid):
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                return file.read()
        caretaker = [pid for pid in family - {running.pid} if comm(pid).startswith("culprit-lab-car")]
        os.kill(caretaker[0], signal.SIGKILL)
        running.kill()
        running.communicate(timeout=60)
        self.assertTrue(wait_for(lambda: not family & set(processes())))
        self.assertTrue(leftovers())
        lab("preempt", "--for", "200ms")
        self.assertEqual(leftovers(), [])


class Usage(unittest.TestCase):
    def test_mistakes(self):
        for words, text in ((["lokc"], "did you mean lock"), (["lock", "--scale", "1000"], "1 to 32 workers"),
                            (["lock", "--fault", "disk"], "takes no --fault"),
                            (["pipeline", "--fault", "x"], "one of: none disk"), (["cpu", "--for", "0s"], "100ms to 1h"),
                            (["io", "--dir", "/nowhere"], "/nowhere")):
            done = culprit("lab", *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_memory_is_no_disk(self):
        if not os.path.ismount("/dev/shm"):
            self.skipTest("no /dev/shm")
        done = culprit("lab", "io", "--for", "1s", "--dir", "/dev/shm")
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs a disk", done.stderr)

    def test_list(self):
        listed = culprit("lab", "--list").stdout
        for scenario, _ in RECORDED:
            self.assertIn(f"\n{scenario}\n", "\n" + listed)


if __name__ == "__main__":
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/tracing/instances"):
        print("skipped: needs root and tracefs")
        sys.exit(77)
    os.makedirs(WORK, exist_ok=True)
    unittest.main(verbosity=2)
