#!/usr/bin/env python3
"""The benchmarks of ./dev bench: two commands in one run, medians of interleaved pairs, one table at the end.

usage: run.py [--quick] BUILD_DIR [SECTION...]

Sections: record, overhead, encode, load, flame, query, check. Without any, all of them run. Needs root and tracefs
for record and overhead. What each number means and what bounds it: docs/performance.md.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACEFS = pathlib.Path("/sys/kernel/tracing")
ROUND_TRIPS = 100_000
PAIRS = 7
RING_SECONDS = 20
ENCODE_EVENTS = 10_000_000
LOAD_SWITCHES = 5_000_000  # and as many wakings: 10 M events
QUERY_SWITCHES = 10_000_000
QUERY_RUNS = 7
QUERIES = sorted((ROOT / "bench" / "queries").glob("*.sql"))


class Table:
    """What was measured, against what is aimed at."""

    def __init__(self):
        self.rows = []

    def add(self, name, value, aim="", good=None):
        verdict = "" if good is None else ("ok" if good else "MISSED")
        self.rows.append((name, value, aim, verdict))
        print(f"  {name}: {value}  {aim}  {verdict}".rstrip(), flush=True)

    def show(self):
        head = ("benchmark", "result", "aim", "")
        widths = [max(len(row[i]) for row in [head, *self.rows]) for i in range(4)]
        print()
        for row in [head, tuple("-" * w for w in widths), *self.rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def run(command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=options.pop("stderr", subprocess.PIPE), **options).stdout


@contextlib.contextmanager
def tracepoints_alone():
    """sched_switch and sched_waking enabled in an instance that nobody reads."""
    instance = TRACEFS / "instances" / f"bench_{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "trace_clock").write_text("boot")
        (instance / "buffer_size_kb").write_text(str(32 << 10))
        for event in ("sched/sched_switch", "sched/sched_waking"):
            (instance / "events" / event / "enable").write_text("1")
        yield
    finally:
        (instance / "tracing_on").write_text("0")
        (instance / "events" / "enable").write_text("0")
        instance.rmdir()


def bench_record(bench, table):
    """Slowdown of a ping-pong through pipes on one CPU, under each recorder."""
    ping_pong = [str(bench.build / "bench" / "ping_pong"), str(ROUND_TRIPS)]
    events = ["sched:sched_switch", "sched:sched_waking"]
    out = bench.scratch

    def plain():
        return run(ping_pong)

    def points():
        with tracepoints_alone():
            return run(ping_pong)

    recorders = {
        "nothing": plain,
        "tracepoints alone": points,
        "culprit record sched": lambda: run(
            [bench.culprit, "record", "--quiet", "-o", out / "c.trace", "sched", "--", *ping_pong]),
        "trace-cmd record": lambda: run(
            [ROOT / "bench" / "trace_cmd.sh", "record", "-q", "-o", out / "t.dat",
             *[word for event in events for word in ("-e", event)], *ping_pong]),
        "perf record -a": lambda: run(
            ["perf", "record", "-q", "-a", "-o", out / "p.data",
             *[word for event in events for word in ("-e", event)], "--", *ping_pong]),
    }
    wall = {name: [] for name in recorders}
    cpu = {name: [] for name in recorders}
    names = list(recorders)
    pairs = 2 if bench.quick else PAIRS
    for pair in range(pairs):
        for name in names[pair % len(names):] + names[:pair % len(names)]:
            line = [line for line in recorders[name]().split("\n") if re.fullmatch(r"\d+ \d+", line)][-1]
            for kind, nanoseconds in zip((wall, cpu), line.split()):
                kind[name].append(int(nanoseconds))
        print(f"  round {pair + 1} of {pairs}: " +
              ", ".join(f"{name} {wall[name][-1] / ROUND_TRIPS:.0f} ns" for name in names), flush=True)

    def ratio(kind, name, against):
        return statistics.median(a / b for a, b in zip(kind[name], kind[against]))

    def compare(label, name, against, aim="", limit=None):
        value = ratio(wall, name, against)
        table.add(label, f"{value:.2f} x (CPU time {ratio(cpu, name, against):.2f} x)", aim,
                  None if limit is None else value <= limit)

    for name in names[1:]:
        compare(f"ping-pong, {name}", name, "nothing")
    compare("  culprit against tracepoints alone", names[2], names[1], "<= 1.10 x", 1.10)
    compare("  culprit against trace-cmd", names[2], names[3], "<= 1.00 x", 1)
    compare("  culprit against perf", names[2], names[4], "<= 1.00 x", 1)


def family(pid):
    """A process with all its descendants."""
    found = [pid]
    for member in found:
        for tasks in pathlib.Path(f"/proc/{member}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found.extend(int(child) for child in tasks.read_text().split())
    return found


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def bench_overhead(bench, table):
    """The recorder's own CPU time in a --ring recording of a busy machine, the stop left out."""
    out = bench.scratch / "ring.trace"
    load = subprocess.Popen([bench.build / "bench" / "ping_pong", str(10**9)], stdout=subprocess.DEVNULL)
    try:
        printed = run([bench.culprit, "record", "--ring", "--background", "-o", out])
        pid = int(next(word for word in printed.split() if word.isdigit()))
        try:
            pids = family(pid)
            begin, began = cpu_seconds(pids), time.monotonic()
            time.sleep(RING_SECONDS / bench.scale)
            spent, took = cpu_seconds(pids) - begin, time.monotonic() - began
        finally:
            run([bench.culprit, "record", "--stop", str(pid)])
    finally:
        load.kill()
        load.wait()
    percent = 100 * spent / took
    table.add(f"CPU of the recorder, --ring, {took:.0f} s", f"{percent:.2f} % of a core", "< 1 %", percent < 1)


def bench_encode(bench, table):
    """From ring pages to the finished file, on pages made up by rule."""
    rates = []
    for _ in range(3):
        printed = run([bench.build / "bin" / "make_trace", ENCODE_EVENTS // bench.scale, 2, bench.scratch / "encode.trace"])
        rates.append(json.loads(printed)["events_per_s"] / 1e6)
    rate = statistics.median(rates)
    table.add("ring pages to trace file", f"{rate:.1f} M events/s", ">= 5 M events/s", rate >= 5)


def bench_load(bench, table):
    """From trace file to tables in memory."""
    trace = bench.scratch / "load.trace"
    run([bench.build / "bench" / "make_sched_trace", LOAD_SWITCHES // bench.scale, trace])
    printed = run([bench.build / "bench" / "load_times", trace, 3])
    # "123456 sched events/s: 654321 in 5.3 s, 7.1 s of CPU, ..."
    rounds = re.findall(r"^(\d+) sched events/s: (\d+) in [\d.]+ s, ([\d.]+) s of CPU", printed, re.M)
    rate = statistics.median(int(rate) for rate, _, _ in rounds) / 1e6
    by_cpu = statistics.median(int(events) / float(cpu) for _, events, cpu in rounds) / 1e6
    table.add("trace file to tables", f"{rate:.1f} M sched events/s ({by_cpu:.1f} M a second of CPU)",
              ">= 4 M events/s", rate >= 4)
    trace.unlink()


def bench_query(bench, table):
    """The four queries on 10 M sched rows, and the same rows in SQLite."""
    trace, database = bench.scratch / "query.trace", bench.scratch / "query.duckdb"
    run([bench.build / "bench" / "make_sched_trace", QUERY_SWITCHES // bench.scale, trace])
    run([bench.culprit, "load", trace, "-o", database])
    trace.unlink()
    sqlite = bench.scratch / "query.sqlite"
    make_sqlite(bench, database, sqlite)
    ours = {}
    for line in run([bench.build / "bench" / "query_times", database, QUERY_RUNS, *QUERIES]).splitlines():
        name, milliseconds, cpu = line.rsplit(" ", 2)
        ours[name] = (float(milliseconds), float(cpu))
    wall, cpu = ours["open"]
    table.add("opening the .duckdb file", f"{wall:.0f} ms (CPU time {cpu:.0f} ms)", "< 100 ms", wall < 100)
    for query in QUERIES:
        (mine, cpu), theirs = ours[str(query)], sqlite_milliseconds(sqlite, query)
        table.add(f"query {query.stem}", f"{mine:.0f} ms (CPU time {cpu:.0f} ms)", "< 150 ms", mine < 150)
        table.add("  SQLite against culprit", f"{theirs / mine:.0f} x ({theirs:.0f} ms)", ">= 20 x",
                  theirs / mine >= 20)


def make_sqlite(bench, database, sqlite):
    """The same rows and column types, imported by SQLite's own shell; no index on either side."""
    columns = {
        "sched": "id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, cpu INTEGER, utid INTEGER, end_state TEXT, "
                 "priority INTEGER, upid INTEGER, thread_state TEXT",
        "thread": "utid INTEGER PRIMARY KEY, tid INTEGER, name TEXT, upid INTEGER",
        "process": "upid INTEGER PRIMARY KEY, pid INTEGER, name TEXT",
    }
    script = ["PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"]
    for name, types in columns.items():
        csv = bench.scratch / f"{name}.csv"
        names = ", ".join(column.split()[0] for column in types.split(", "))
        with csv.open("w") as out:
            subprocess.run([bench.culprit, "query", database, f"SELECT {names} FROM {name} ORDER BY 1",
                            "--format", "csv"], check=True, stdout=out)
        script += [f"CREATE TABLE {name}({types});", f".import --csv --skip 1 {csv} {name}"]
    script.append("ANALYZE;")
    subprocess.run(["sqlite3", sqlite], input="\n".join(script), check=True, text=True, stdout=subprocess.DEVNULL)
    for name in columns:
        (bench.scratch / f"{name}.csv").unlink()


def sqlite_milliseconds(sqlite, query):
    """The median time that SQLite's shell tells, with the file in the page cache and mapped."""
    script = "PRAGMA mmap_size=8589934592;\n.timer on\n" + (query.read_text().strip().rstrip(";") + ";\n") * 3
    printed = subprocess.run(["sqlite3", "-readonly", sqlite], input=script, check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    times = [float(line.split()[3]) for line in printed.splitlines() if line.startswith("Run Time: real")]
    return 1000 * statistics.median(times)


def cpu_milliseconds(command):
    """CPU time of a command and of all the processes that it starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def processes_started(command):
    """How many processes a command starts: in a pid namespace of its own the next process id tells."""
    # The shell is 1, the command 2, and the shell that tells comes last.
    last = run(["unshare", "--pid", "--fork", "sh", "-c", '"$@" >/dev/null 2>&1; sh -c \'echo $$\'', "sh", *command])
    return int(last) - 3


def bench_check(bench, table):
    """CPU time and processes of culprit check, against a shell script that looks at a third of it."""
    ours = [bench.culprit, "check", "--format", "json"]
    script = ["bash", ROOT / "bench" / "check_by_hand.sh"]
    pairs = [(cpu_milliseconds(ours), cpu_milliseconds(script)) for _ in range(2 if bench.quick else PAIRS)]
    ours_ms, script_ms = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    table.add("check: CPU time", f"{ours_ms:.0f} ms (least {min(pair[0] for pair in pairs):.0f})", "<= 50 ms on an idle node",
              ours_ms <= 50)
    table.add("  by hand against culprit", f"{statistics.median(b / a for a, b in pairs):.0f} x ({script_ms:.0f} ms)", "> 1 x",
              script_ms > ours_ms)
    mine, theirs = processes_started(ours), processes_started(script)
    table.add("check: processes started", f"{mine}; by hand {theirs}", "probes' children alone", mine <= 8)
    # Over several rounds, since the highest mark of a process that has ended is its parent's as well.
    watch = subprocess.Popen([bench.culprit, "check", "--sample", "200ms", "--watch", "200ms"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        status = pathlib.Path(f"/proc/{watch.pid}/status").read_text()
    finally:
        watch.kill()
        watch.wait()
    mib = int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M)[1]) / 1024
    table.add("check: memory", f"{mib:.1f} MiB", "< 30 MiB", mib < 30)


def bench_flame(bench, table):
    """perf.data of 1 M samples to SVG, and perf script alone on the same file; names in a program of 500 MB."""
    seed, data = bench.scratch / "seed.data", bench.scratch / "flame.data"
    run(["perf", "record", "-q", "-N", "-a", "-e", "cpu-clock", "-F", "4999", "-g", "-o", seed, "--", "sh", "-c",
         "for i in 1 2 3; do find /usr /proc/self | sort | md5sum; done"])
    run([sys.executable, ROOT / "bench" / "grow_perf_data.py", seed, data, 1_000_000 // bench.scale])
    ours, theirs, memory = [], [], []
    for _ in range(1 if bench.quick else 3):
        before = time.monotonic()
        text = run(["/usr/bin/env", "python3", "-c", "import resource,subprocess,sys; subprocess.run(sys.argv[1:], check=True, "
                    "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                    bench.culprit, "flame", data, "-o", bench.scratch / "flame.svg"])
        ours.append(time.monotonic() - before)
        memory.append(int(text) / 1024)
        before = time.monotonic()
        with open(os.devnull, "wb") as nowhere:
            subprocess.run(["perf", "script", "-i", str(data)], stdout=nowhere, stderr=nowhere, check=True)
        theirs.append(time.monotonic() - before)
    mine, script = statistics.median(ours), statistics.median(theirs)
    table.add("flame: 1 M samples to SVG, perf script against it", f"{script / mine:.1f} x ({mine:.2f} s)", ">= 5 x",
              script / mine >= 5)
    table.add("  its peak memory", f"{max(memory):.0f} MB", "< 300 MB", max(memory) < 300)
    run([sys.executable, ROOT / "bench" / "make_big_binary.py", bench.scratch])
    before = time.monotonic()
    run([bench.culprit, "flame", bench.scratch / "big.data", "--group", "merged", "--filter", "function000000", "-o",
         bench.scratch / "big.folded"])
    seconds = time.monotonic() - before
    table.add("flame: 1 M frames of 50,000 places in 500 MB", f"{seconds:.2f} s", "< 2 s", seconds < 2)


SECTIONS = {"record": bench_record, "overhead": bench_overhead, "encode": bench_encode, "load": bench_load, "flame": bench_flame,
            "query": bench_query, "check": bench_check}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, fewer rounds: to try it out")
    bench = parser.parse_args()
    bench.scale = 10 if bench.quick else 1
    unknown = set(bench.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    bench.culprit = bench.build / "bin" / "culprit"
    bench.scratch = pathlib.Path(tempfile.mkdtemp(prefix="culprit_bench_"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    table, failed = Table(), []
    if os.getloadavg()[0] > 0.5:
        print(f"the load average is {os.getloadavg()[0]:.1f}: figures of a busy machine mean little", flush=True)
    try:
        for name, section in SECTIONS.items():
            if bench.sections and name not in bench.sections:
                continue
            print(f"{name}: {section.__doc__}", flush=True)
            try:
                section(bench, table)
            except subprocess.CalledProcessError as error:
                failed.append(name)
                print(f"  failed: {' '.join(map(str, error.cmd))}: {(error.stderr or '').strip()}", flush=True)
            except OSError as error:
                failed.append(name)
                print(f"  failed: {error}", flush=True)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    table.show()
    if failed:
        print(f"\nsections that failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
