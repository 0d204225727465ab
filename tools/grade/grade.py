#!/usr/bin/env python3
"""Grades `culprit explain`: every scenario of the lab several times, faults put in from outside, healthy machines.

  tools/grade/grade.py PROGRAM [--runs N] [--only NAME[,NAME...]] [--short] [--seconds S] [--write FILE]

Prints a table; with --write the same as a document. Exit status: 0 all as required, 1 not, 77 nothing can be
recorded here. Required: the culprit first in 95 % of the runs of each scenario, its share within 10 % or 2 points, and
no finding above info on a healthy machine. A loaded machine is no place for it: what others take is set apart, but
shares move; the load is printed with each row.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time

import judge
import outside

# scenario, fault, whose explanation is asked for
LAB = [("cpu", "", ["--thread", "cpu_victim"]), ("preempt", "", ["--thread", "pt_data_worker"]),
       ("oversub", "", ["--thread", "oversub_worker"]), ("lock", "", ["--thread", "lock_worker"]),
       ("gil", "", ["--thread", "gil_thread"]), ("priority-inversion", "", ["--thread", "pi_waiter"]),
       ("dstate", "", ["--thread", "dstate_parent"]), ("io", "", ["--thread", "io_victim"]),
       ("read", "", ["--thread", "read_worker"]), ("checkpoint", "", ["--thread", "trainer"]),
       ("throttle", "", ["--thread", "throttled_job"]), ("memory", "", ["--thread", "memory_job"]),
       ("swap", "", ["--thread", "swap_job"]), ("irq", "", ["--thread", "irq_victim"])]
LAB += [("straggler", fault, ["--thread", "rank*"]) for fault in ("cpu", "sleep", "disk")]
LAB += [("pipeline", fault, ["--thread", "trainer"]) for fault in ("disk", "lock", "cpu", "preempt", "sleep", "downstream")]
SHORT = {"preempt", "lock", "dstate", "pipeline/sleep"}
RECORD = ["sched", "disk", "irq", "marker", "mem", "stats"]
HEALTHY = {
    "pipeline/none": lambda seconds: None,  # by the lab
    "idle": lambda seconds: ["sleep", str(seconds)],
    "sleepers": lambda seconds: ["python3", "-c", "import threading, time\n"
                                 f"end = time.time() + {seconds}\n"
                                 "def work():\n"
                                 "    while time.time() < end: time.sleep(0.01)\n"
                                 "threads = [threading.Thread(target=work) for _ in range(20)]\n"
                                 "[t.start() for t in threads]; [t.join() for t in threads]"],
    "compile": lambda seconds: ["sh", "-c", "echo '#include <regex>\n#include <iostream>\nint main() { std::regex r(\"a+\"); "
                                "std::cout << std::regex_match(\"aa\", r); }' | c++ -O2 -x c++ -o /dev/null -"],
}


class Grader:
    def __init__(self, program, folder, seconds):
        self.program, self.folder, self.seconds = program, folder, seconds
        self.trace = os.path.join(folder, "grade.pftrace")

    def culprit(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True, timeout=600)

    def explain(self, truth, selection):
        window = []
        if truth:
            window = ["--from", str(truth["window"]["start_ns"]), "--to", str(truth["window"]["end_ns"])]
        done = self.culprit("explain", self.trace, "--format", "json", *selection, *window)
        if done.returncode != 0:
            raise RuntimeError(f"explain: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def pids_below(self, truth):
        """Every process that took part: whatever the parent of those that the lab names started, at any depth."""
        named = {victim["pid"] for victim in truth["victims"]} | judge.pids_of(truth)
        done = self.culprit("query", self.trace, "SELECT pid, upid, parent_upid FROM process WHERE pid > 0",
                            "--format", "json")
        rows = json.loads(done.stdout)
        family = {row["parent_upid"] for row in rows if row["pid"] in named and row["parent_upid"]}
        before = 0
        while len(family) != before:
            before = len(family)
            family |= {row["upid"] for row in rows if row["parent_upid"] in family}
        return named | {row["pid"] for row in rows if row["upid"] in family}

    def lab(self, scenario, fault):
        words = ["lab", scenario, "--for", f"{self.seconds}s", "--record", self.trace, "--dir", self.folder, "--json"]
        done = self.culprit(*words, *(["--fault", fault] if fault else []))
        if done.returncode != 0:
            raise RuntimeError(f"lab {scenario}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def outside(self, name):
        recorder = subprocess.Popen([self.program, "record", "-q", "-o", self.trace, *RECORD],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            time.sleep(1)
            return outside.run(name, os.path.join(self.folder, "outside"), self.seconds)
        finally:
            recorder.send_signal(2)
            recorder.wait(timeout=120)

    def healthy(self, name):
        """Findings above info about what was run, and how many about others."""
        if name == "pipeline/none":
            ours = self.pids_below(self.lab("pipeline", "none"))
        else:
            self.culprit("record", "-q", "-o", self.trace, *RECORD, "--", *HEALTHY[name](self.seconds))
            ours = None
        found = [finding for finding in self.explain(None, [])["findings"] if finding["level"] in judge.ABOVE_INFO]
        if ours is None:
            return found
        return [finding for finding in found if finding["victim"]["pid"] in ours and not judge.is_foreign(finding, ours)]


def busy_fraction(since):
    """Of all CPUs since a reading of /proc/stat; and a new reading."""
    with open("/proc/stat", encoding="utf-8") as file:
        fields = list(map(int, file.readline().split()[1:9]))
    now = (sum(fields), fields[3] + fields[4])
    if since is None:
        return 0.0, now
    total = now[0] - since[0]
    return (1 - (now[1] - since[1]) / total if total else 0.0), now


def wait_for_quiet(most_seconds):
    """How busy the machine is with others, after waiting a while for it to be less."""
    end = time.monotonic() + most_seconds
    while True:
        _, before = busy_fraction(None)
        time.sleep(1)
        busy, _ = busy_fraction(before)
        if busy < 0.1 or time.monotonic() > end:
            return busy


def grade_runs(name, runs, quiet_seconds, run):
    """[verdict or the text of a failure], the mean load."""
    results, loads = [], []
    for _ in range(runs):
        loads.append(wait_for_quiet(quiet_seconds))
        try:
            results.append(run())
        except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError) as failure:
            results.append(f"{type(failure).__name__}: {failure}")
        print(f"{name}: {results[-1] if isinstance(results[-1], str) else results[-1].named}", file=sys.stderr)
    return results, sum(loads) / max(len(loads), 1)


def row_of(name, results, load, shares_matter):
    verdicts = [result for result in results if isinstance(result, judge.Verdict)]
    if not verdicts:
        return [name, "-", "-", "-", "-", "-", f"{100 * load:.0f} %", results[0] if results else ""], False
    count = len(results)
    first = sum(verdict.first for verdict in verdicts)
    shares = sum(verdict.share_ok() for verdict in verdicts)
    said = sum(verdict.said for verdict in verdicts) / len(verdicts)
    measured = sum(verdict.measured for verdict in verdicts) / len(verdicts)
    false = sum(len(verdict.false) for verdict in verdicts)
    wrong = next((verdict.named for verdict in verdicts if not verdict.first), "")
    accused = next((f"{v.false[0]['id']} {v.false[0]['culprit']['name']}" for v in verdicts if v.false), "")
    note = "; ".join(filter(None, [wrong and f"first: {wrong}", accused and f"accused: {accused}"]))
    good = first >= 0.95 * count and (shares >= 0.95 * count or not shares_matter) and false == 0
    return [name, f"{first}/{count}", f"{100 * said:.1f} %", f"{100 * measured:.1f} %", f"{shares}/{count}", str(false),
            f"{100 * load:.0f} %", note], good


HEAD = ["scenario", "culprit first", "share said", "measured", "share right", "false accusations", "load of others", "note"]


def table(rows):
    widths = [max(len(row[i]) for row in [HEAD, *rows]) for i in range(len(HEAD))]
    def line(cells):
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() + " |"
    return "\n".join([line(HEAD), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)])


def machine():
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.readline().split()[1]) / 2**20
    return f"{platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}"


def document(rows, healthy_rows, options):
    return f"""# Accuracy

How `culprit explain` does where the truth is known. Made by `./dev grade` on {datetime.date.today()}
({machine()}); {options.runs} runs of {options.seconds} s each.

The truth is what the processes of [culprit lab](lab.md) measure themselves, and, for the last rows, what the kernel's
counters say of ordinary programs. A share is the part of the victims' window; right is within 10 % or 2 points.
"Culprit first" is said of the findings about the scenario: what other processes of the machine took meanwhile is set
apart, and "load of others" says how busy they kept it. On a busy machine shares are worse than on a quiet one.

{table(rows)}

Healthy situations; required is no finding above info:

{healthy_table(healthy_rows)}
"""


def healthy_table(rows):
    lines = ["| situation | recordings | findings above info | load of others | note |", "|---|---|---|---|---|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--short", action="store_true", help="four scenarios once and one healthy run, for CI: shares do not count")
    parser.add_argument("--quiet", type=float, default=20, help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--write", help="the document to write")
    options = parser.parse_args()
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/tracing/instances"):
        print("grade: skipped: recording needs root and tracefs", file=sys.stderr)
        return 77
    if options.short:
        options.runs, options.seconds = 1, min(options.seconds, 3)
    only = set(filter(None, options.only.split(",")))
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(options.program))), "grade")
    os.makedirs(folder, exist_ok=True)
    grader = Grader(os.path.abspath(options.program), folder, options.seconds)

    def wanted(name):
        if only:
            return bool(only & {name, name.split("/")[0]})
        return not options.short or name in SHORT

    rows, healthy_rows, good = [], [], True
    for scenario, fault, selection in LAB:
        name = f"{scenario}/{fault}" if fault else scenario
        if not wanted(name):
            continue

        def run(scenario=scenario, fault=fault, selection=selection):
            truth = grader.lab(scenario, fault)
            return judge.judge(truth, grader.explain(truth, selection), grader.pids_below(truth))
        row, passed = row_of(name, *grade_runs(name, options.runs, options.quiet, run), not options.short)
        rows.append(row)
        good = good and passed
    for name in outside.CASES:
        if not (name in only or "outside" in only or not (only or options.short)):
            continue

        def run_outside(name=name):
            truth = grader.outside(name)
            if truth is None:
                raise RuntimeError("its program is not installed")
            selection = ["--tid", str(truth["victims"][0]["tid"])]
            return judge.judge(truth, grader.explain(truth, selection), set(truth["pids"]))
        row, passed = row_of(f"outside: {name}", *grade_runs(name, options.runs, options.quiet, run_outside), not options.short)
        rows.append(row)
        good = good and passed
    for name in HEALTHY:
        if not (name in only or "healthy" in only or (not only and (not options.short or name == "idle"))):
            continue
        found, loads, recordings = [], [], max(options.runs, 5 if not options.short else 1)
        failure = ""
        for _ in range(recordings):
            loads.append(wait_for_quiet(options.quiet))
            try:
                found += grader.healthy(name)
            except (RuntimeError, json.JSONDecodeError, KeyError) as error:
                failure = str(error)
        # With others at work the machine is not healthy, and a finding about them may be true.
        quiet = max(loads) < 0.1
        note = failure or (f"{found[0]['id']} {found[0]['culprit']['name']}" if found else "")
        healthy_rows.append([name, str(recordings), str(len(found)), f"{100 * sum(loads) / len(loads):.0f} %", note])
        good = good and not failure and (not found or not quiet)
    if rows:
        print(table(rows))
    if healthy_rows:
        print("\n" + healthy_table(healthy_rows))
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            file.write(document(rows, healthy_rows, options))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
