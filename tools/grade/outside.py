"""Faults put in from outside on programs that nobody here wrote: stress-ng and fio of Debian, a quota, signals, nice.

Each case runs ordinary programs, measures with the kernel's own counters what the victim lost (its schedstat, cpu.stat,
the times of the signals), and gives a truth of the same form as `culprit lab`. Needs root; takes one CPU for seconds.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import time

BUSY = "while True: sum(range(10000))"
# Appends and syncs, as a program that keeps a journal; it stops by itself.
JOURNAL = """
import os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
while True:
    os.pwrite(file, b'x' * 4096, 0)
    os.fsync(file)
"""


def schedstat(pid):
    """(ns on a CPU, ns ready without one) of a process' main thread."""
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
        run, wait, _ = file.read().split()
    return int(run), int(wait)


def tree(pid):
    """A process and all below it."""
    found = {pid}
    for _ in range(4):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    text = file.read()
                if int(text[text.rindex(")") + 2:].split()[1]) in found:
                    found.add(int(name))
    return found


class Case:
    """Programs under test; ended by pid, whatever happens."""

    def __init__(self, folder):
        self.folder = folder
        self.started = []

    def start(self, *words, **options):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.started.append(process)
        return process

    def close(self):
        for process in self.started:
            for pid in tree(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                    os.kill(pid, signal.SIGKILL)
            process.wait()

    def truth(self, name, victim, begin, end, before, after, culprit):
        wall = end - begin
        culprit["share"] = culprit["lost_ns"] / wall
        ours = set().union(*(tree(process.pid) for process in self.started))
        return {"scenario": name, "fault": None, "window": {"start_ns": begin, "end_ns": end}, "pids": sorted(ours),
                "victims": [{"pid": victim, "tid": victim, "wall_ns": wall, "running_ns": after[0] - before[0],
                             "runnable_ns": after[1] - before[1]}],
                "culprit": culprit}


def boottime():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def measure(case, name, victim, culprits, seconds, kind="preempted-by"):
    """The victim always wants the CPU: what the culprits run there is what it loses."""
    begin, before, ran = boottime(), schedstat(victim), {pid: schedstat(pid)[0] for pid in culprits}
    time.sleep(seconds)
    end, after = boottime(), schedstat(victim)
    lost = sum(schedstat(pid)[0] - ran[pid] for pid in culprits)
    return case.truth(name, victim, begin, end, before, after,
                      {"kind": kind, "pid": culprits[0], "tids": list(culprits),
                       "also": [{"pid": pid, "tids": [pid]} for pid in culprits[1:]], "lost_ns": lost})


def stress(case, seconds):
    victim = case.start("taskset", "-c", "0", "python3", "-c", BUSY)
    parent = case.start("taskset", "-c", "0", "stress-ng", "--cpu", "2", "--timeout", f"{int(seconds) + 30}s")
    time.sleep(1)
    burners = sorted(tree(parent.pid) - {parent.pid})
    return measure(case, "stress-ng", victim.pid, burners, seconds)


def niced(case, seconds):
    """An ordinary pipeline, its first half renamed by nobody; a reniced victim."""
    victim = case.start("taskset", "-c", "0", "nice", "-n", "5", "md5sum", "/dev/zero")
    rival = case.start("taskset", "-c", "0", "gzip", "-c", "/dev/zero")
    time.sleep(0.5)
    return measure(case, "nice", victim.pid, [rival.pid], seconds)


def fio(case, seconds):
    victim = case.start("python3", "-c", JOURNAL, os.path.join(case.folder, "journal"))
    parent = case.start("fio", "--name=noise", f"--directory={case.folder}", "--rw=randwrite", "--bs=256k", "--size=64m",
                        "--fsync=4", "--numjobs=4", "--time_based", f"--runtime={int(seconds) + 30}")
    time.sleep(2)
    writers = sorted(tree(parent.pid))
    begin, before = boottime(), schedstat(victim.pid)
    time.sleep(seconds)
    end, after = boottime(), schedstat(victim.pid)
    # It computes nothing: neither on a CPU nor ready for one is in fsync.
    lost = (end - begin) - (after[0] - before[0]) - (after[1] - before[1])
    device = os.path.realpath(f"/sys/dev/block/{os.major(os.stat(case.folder).st_dev)}:"
                              f"{os.minor(os.stat(case.folder).st_dev)}")
    if os.path.exists(device + "/partition"):
        device = os.path.dirname(device)
    return case.truth("fio", victim.pid, begin, end, before, after,
                      {"kind": "disk", "pid": writers[0], "tids": [], "device": os.path.basename(device),
                       "also": [{"pid": pid, "tids": []} for pid in writers[1:]], "lost_ns": lost})


def stopped(case, seconds):
    victim = case.start("gzip", "-c", "/dev/zero")
    time.sleep(0.3)
    begin, before, lost = boottime(), schedstat(victim.pid), 0
    while boottime() - begin < seconds * 1e9:
        os.kill(victim.pid, signal.SIGSTOP)
        since = boottime()
        time.sleep(0.3)
        os.kill(victim.pid, signal.SIGCONT)
        lost += boottime() - since
        time.sleep(0.3)
    end, after = boottime(), schedstat(victim.pid)
    return case.truth("sigstop", victim.pid, begin, end, before, after, {"kind": "stopped", "lost_ns": lost})


def quota(case, seconds):
    v1 = os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    path = ("/sys/fs/cgroup/cpu" if v1 else "/sys/fs/cgroup") + f"/culprit-grade.{os.getpid()}"
    os.mkdir(path)
    try:
        victim = case.start("md5sum", "/dev/zero")
        for file, text in ((("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "40000")) if v1
                           else (("cpu.max", "40000 100000"),)) + (("cgroup.procs", str(victim.pid)),):
            with open(f"{path}/{file}", "w", encoding="utf-8") as control:
                control.write(text)

        def throttled():
            with open(path + "/cpu.stat", encoding="utf-8") as file:
                stat = dict(line.split() for line in file)
            return int(stat["throttled_time"]) if v1 else int(stat["throttled_usec"]) * 1000
        begin, before, since = boottime(), schedstat(victim.pid), throttled()
        time.sleep(seconds)
        end, after = boottime(), schedstat(victim.pid)
        lost = throttled() - since
        return case.truth("quota", victim.pid, begin, end, before, after, {"kind": "throttle", "lost_ns": lost})
    finally:
        case.close()
        os.rmdir(path)


CASES = {"stress-ng": (stress, "stress-ng"), "nice": (niced, "gzip"), "fio": (fio, "fio"), "sigstop": (stopped, "gzip"),
         "quota": (quota, "md5sum")}


def run(name, folder, seconds):
    """The truth of one case, with "pids"; None where its program is not installed."""
    function, program = CASES[name]
    if shutil.which(program) is None:
        return None
    os.makedirs(folder, exist_ok=True)
    case = Case(folder)
    try:
        return function(case, seconds)
    finally:
        case.close()
        shutil.rmtree(folder, ignore_errors=True)
