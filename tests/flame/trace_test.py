#!/usr/bin/env python3
"""culprit flame of a trace: what each --type shows of a trace whose waits are known to the nanosecond, since it is made
here: four threads on one CPU, samples of cpu-clock, stacks of switches and of wakers.

  trainer  runs 0-100, waits 100-400 for loader's wakeup (ready from 300 on), runs 400-500, is preempted 500-600, runs
           600-700, waits (D) from 700 to the end
  loader   runs 100-400 (wakes trainer at 300) and 500-600
  pool     sleeps in one place for all but the first 10
Times in microseconds; the trace is 1000 long.
"""
import os
import subprocess
import sys
import tempfile

CULPRIT = os.environ["CULPRIT_PROGRAM"]
BASE, US = 1_000_000_000, 1000
TRAINER, LOADER, POOL = 11, 12, 13
failures = []


def varint(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def message(*fields):
    """(number, value) pairs; texts, bytes and messages are length-delimited."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def switch(at, prev, prev_state, following):
    names = {0: "swapper/0", TRAINER: "trainer", LOADER: "loader", POOL: "pool"}
    body = message((1, names[prev]), (2, prev), (3, 120), (4, prev_state), (5, names[following]), (6, following), (7, 120))
    return message((1, BASE + at * US), (2, prev), (4, body))


def waking(at, by, whom, comm):
    return message((1, BASE + at * US), (2, by), (20, message((1, comm), (2, whom), (3, 120), (5, 0))))


def opening(sequence, timebase):
    frames = {1: "main", 2: "train", 3: "wait_batch", 4: "load", 5: "put_batch", 6: "idle_loop<img src=x>"}
    stacks = {1: [1, 2], 2: [1, 2, 3], 3: [1, 4], 4: [1, 4, 5], 5: [1, 6]}
    interned = message(*[(5, message((1, k), (2, name))) for k, name in frames.items()],
                       (17, message((1, 1), (2, "/bin/job"))), (19, message((1, 1), (4, 4096), (5, 9999999), (7, 1))),
                       *[(6, message((1, k), (2, k), (3, 1), (4, k * 16))) for k in frames],
                       *[(7, message((1, k), *[(2, f) for f in of])) for k, of in stacks.items()])
    return message((10, sequence), (13, 1), (59, message((12, message((1, timebase))))), (12, interned))


def sample(sequence, at, tid, stack, *more):
    return message((10, sequence), (8, BASE + at * US),
                   (66, message((1, 0), (2, 10), (3, tid), (4, stack), (5, 2), *more)))


def trace():
    tracepoint = lambda name: message((1, 1), (3, message((1, name))))  # noqa: E731
    events = [switch(0, 0, 0, POOL), switch(10, POOL, 1, TRAINER), switch(100, TRAINER, 1, LOADER),
              waking(300, LOADER, TRAINER, "trainer"), switch(400, LOADER, 1, TRAINER),
              waking(450, TRAINER, LOADER, "loader"), switch(500, TRAINER, 0, LOADER), switch(600, LOADER, 1, TRAINER),
              switch(700, TRAINER, 2, 0), waking(1000, 0, LOADER, "loader")]
    packets = [message((45, message((1, message((3, "6.1.0")))))),
               message((1, message((1, 0), *[(2, event) for event in events])), (10, 1)),
               opening(5, message((2, 99), (4, 1))), opening(6, tracepoint("sched:sched_switch")),
               opening(7, tracepoint("sched:sched_waking"))]
    for at, tid, stack, count in ((50, TRAINER, 1, 50), (200, LOADER, 3, 200), (450, TRAINER, 1, 450)):
        packets.append(sample(5, at, tid, stack, (6, count * US)))
    for at, tid, stack in ((10, POOL, 5), (100, TRAINER, 2), (400, LOADER, 3), (500, TRAINER, 1), (600, LOADER, 3),
                           (700, TRAINER, 2)):
        packets.append(sample(6, at, tid, stack))
    packets += [sample(7, 300, LOADER, 4), sample(7, 450, TRAINER, 1)]
    return message(*[(1, packet) for packet in packets])


def flame(path, *arguments):
    run = subprocess.run([CULPRIT, "flame", path, "--format", "folded", "-o", "-", *arguments], capture_output=True,
                         text=True)
    stacks = {}
    for line in run.stdout.splitlines():
        stack, _, weight = line.rpartition(" ")
        stacks[stack] = int(weight)
    return run, stacks


def expect(path, wanted, *arguments):
    run, stacks = flame(path, *arguments)
    wanted = {stack: weight * US for stack, weight in wanted.items()}
    if run.returncode != 0 or stacks != wanted:
        failures.append(f"{' '.join(arguments)}: {stacks}\n  wanted {wanted}\n  {run.stderr}")
    return run.stderr


def main():
    pool = "pool;main;idle_loop<img src=x>"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made.trace")
        with open(path, "wb") as out:
            out.write(trace())
        # Samples stand for what their CPU's counter grew by; stacks of switches are no samples of running code.
        expect(path, {"trainer;main;train": 300, "loader;main;load": 150}, "--type", "on-cpu")
        off = {"trainer;main;train;wait_batch": 600, "trainer;main;train": 100, "loader;main;load": 500, pool: 990}
        said = expect(path, off, "--type", "off-cpu")
        if "2.19 ms" not in said:
            failures.append(f"the total is not the sum: {said}")
        said = expect(path, {"trainer;main;train;wait_batch": 500, "loader;main;load": 450}, "--type", "wait")
        if "set aside: 1 thread" not in said:
            failures.append(f"the idle pool is not counted: {said}")
        expect(path, {"trainer;main;train;wait_batch": 500, "loader;main;load": 450, pool: 990}, "--type", "wait", "--all")
        expect(path, {"trainer;main;train;wait_batch": 100, "trainer;main;train": 100, "loader;main;load": 50},
               "--type", "runnable")
        # Where the waker was; the last waits were not ended by anybody.
        run, stacks = flame(path, "--type", "waker")
        if stacks.get("trainer;main;load;put_batch") != 200 * US or stacks.get("loader;main;train") != 50 * US:
            failures.append(f"waker: {stacks} {run.stderr}")
        # The parts of waits within a window, their states, their CPU and their length. Times count from the first wait.
        expect(path, {"trainer;main;train;wait_batch": 50}, "--type", "off-cpu", "--thread", "trainer", "--from", "200us",
               "--to", "250us")
        expect(path, {"trainer;main;train;wait_batch": 300}, "--type", "off-cpu", "--state", "D")
        expect(path, off, "--type", "off-cpu", "--cpu", "0")
        expect(path, {pool: 990}, "--type", "off-cpu", "--min-us", "500")
        # Of each thread no more than its wall time, whatever the window.
        _, stacks = flame(path, "--type", "off-cpu", "--from", "100us", "--to", "300us")
        for thread in ("trainer", "loader", "pool"):
            if sum(weight for stack, weight in stacks.items() if stack.startswith(thread)) > 200 * US:
                failures.append(f"{thread} waited longer than the window: {stacks}")
        # Out of a database the same.
        database = os.path.join(folder, "made.duckdb")
        subprocess.run([CULPRIT, "load", path, "-o", database], check=True, capture_output=True)
        expect(database, off, "--type", "off-cpu")
        # Names are text in a page.
        page = os.path.join(folder, "page.svg")
        subprocess.run([CULPRIT, "flame", path, "--type", "off-cpu", "-o", page], check=True, capture_output=True)
        with open(page, encoding="utf-8") as text:
            if "<img src=x>" in text.read():
                failures.append("markup of a name stands in the page")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
