#!/usr/bin/env python3
"""perf.data -> folded, line for line against what perf script prints of the same file.

First the files of the shared cases (kernels 3.2 to 4.14; what perf 6.1 prints lies beside them), then files that are
recorded here, if perf is installed and may record.
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from fold_script import difference, fold, read_folded  # noqa: E402

CULPRIT = os.environ["CULPRIT_PROGRAM"]
CASES = pathlib.Path(os.environ["CULPRIT_SOURCE_DIR"]).parent / "shared" / "cases" / "perf-data"
PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double sink;
__attribute__((noinline)) static void leaf(int n) { for (int i = 0; i < n; ++i) sink += sqrt(i); }
__attribute__((noinline)) static void deep(int n) { if (n > 0) deep(n - 1); else leaf(20000000); leaf(10); }
__attribute__((noinline)) static void kernel_work(void) {
  for (int i = 0; i < 40; ++i) { void* p = malloc(1 << 22); memset(p, i, 1 << 22); free(p); getppid(); }
}
int main(void) {
  if (fork() == 0) { deep(20); execlp("sh", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done", NULL); }
  for (int i = 0; i < 4; ++i) { leaf(10000000); kernel_work(); }
  wait(NULL);
  return 0;
}
"""
# No frame pointers, one process: perf's own unwinding loses frames of forked ones.
DWARF_PROGRAM = r"""
#include <stdlib.h>
static volatile double sink;
__attribute__((noinline)) static double burn(int n) { double x = 0; for (int i = 0; i < n; ++i) x += i * 0.5 / (i + 1); return x; }
__attribute__((noinline)) static double deep(int n) { return n == 0 ? burn(VALUE) : 1 + deep(n - 1) * 0.5; }
static int order(const void* a, const void* b) { sink += burn(20); return *(const int*)a - *(const int*)b; }
__attribute__((noinline)) static void sort(void) {
  static int values[20000];
  for (int i = 0; i < 20000; ++i) values[i] = rand();
  qsort(values, 20000, sizeof(int), order);
}
int main(void) {
  for (int i = 0; i < 40; ++i) { for (int k = 0; k < 100; ++k) sink += deep(k % 30); sort(); }
  return 0;
}
"""
failures = []


def flame(path, *arguments):
    return subprocess.run([CULPRIT, "flame", str(path), "--format", "folded", "-o", "-", "--unknown", "module",
                           "--no-inlines", *arguments], capture_output=True, text=True)


def compare(name, path, script, require):
    """Every event of the file; `require`: how many events there are at least."""
    events = fold(script)
    if len(events) < require:
        failures.append(f"{name}: perf prints {len(events)} events")
    lines = 0
    for event, theirs in events.items():
        run = flame(path, "--type", f"counter:{event}")
        if run.returncode != 0:
            failures.append(f"{name}: {event}: {run.stderr}")
            continue
        ours = read_folded(run.stdout)
        lines += len(ours)
        wrong = difference(ours, theirs)
        if wrong:
            failures.append(f"{name}: {event}: {len(wrong)} of {len(theirs)} lines differ:\n  " +
                            "\n  ".join(line[:400] for line in wrong[:6]))
    print(f"{name}: {len(events)} events, {lines} lines")


def shared_cases():
    for script in sorted(CASES.glob("*.script.txt.gz")):
        path = script.with_name(script.name.removesuffix(".script.txt.gz"))
        compare(path.name, path, gzip.open(script, "rt").read(), 1)
    # What perf counts as lost and throttled has to be said.
    for name, words in (("perf.data.lost_samples-4.4", r"LOST: 2 samples"),
                        ("perf.data.throttle-3.8", r"LOST: 68 times the kernel throttled")):
        said = flame(CASES / name).stderr
        if not re.search(words, said):
            failures.append(f"{name}: nothing about {words!r} in {said!r}")
    bad = flame(CASES / "perf.data.piped.corrupted.zero_size_sample-3.2")
    if bad.returncode != 1 or "without a size" not in bad.stderr:
        failures.append(f"corrupted file: exit {bad.returncode}, {bad.stderr!r}")
    # The same recording, compressed and not, of the same program (mstange/linux-perf-data).
    for name in ("sleep.data", "sleep.compressed.data"):
        run = flame(CASES / name)
        if run.returncode != 0 or "\nsleep" not in "\n" + run.stdout:
            failures.append(f"{name}: {run.stdout!r} {run.stderr!r}")


def recorded_here():
    if not shutil.which("perf") or not shutil.which("cc"):
        print("SKIPPED: perf or cc is not installed, so nothing is recorded here")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "work.c").write_text(PROGRAM)
        work = folder / "a program"  # a blank in its name, and so in its comm
        subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", work,
                        folder / "work.c", "-lm"], check=True)
        variants = {
            "one event": ["-e", "cpu-clock", "-F", "999", "-g"],
            "two events": ["-e", "cpu-clock", "-e", "page-faults", "-F", "999", "-g"],
            "no call chains": ["-e", "cpu-clock", "-F", "999"],
            "compressed": ["-e", "cpu-clock", "-F", "999", "-g", "-z"],
            "build ids in mmap2": ["-e", "cpu-clock", "-F", "999", "-g", "--buildid-mmap"],
            "all CPUs": ["-a", "-e", "cpu-clock", "-F", "999", "-g"],
        }
        for name, arguments in variants.items():
            data = folder / "perf.data"
            run = subprocess.run(["perf", "record", "-q", *arguments, "-o", data, "--", work], cwd=folder,
                                 capture_output=True, text=True)
            if run.returncode != 0 or not data.exists():
                print(f"SKIPPED: {name}: perf cannot record here: {run.stderr.strip()[:200]}")
                continue
            script = subprocess.run(["perf", "script", "--no-inline", "-i", data], check=True, capture_output=True,
                                    text=True, errors="replace").stdout
            compare(name, data, script, 2 if name == "two events" else 1)
            if name == "one event":
                with open(folder / "piped", "wb") as out:
                    subprocess.run(["perf", "record", "-q", *arguments, "-o", "-", "--", work], cwd=folder, stdout=out,
                                   stderr=subprocess.DEVNULL, check=True)
                with open(folder / "piped", "rb") as piped:
                    script = subprocess.run(["perf", "script", "--no-inline", "-i", "-"], stdin=piped,
                                            capture_output=True, text=True).stdout
                compare("pipe", folder / "piped", script, 1)


def unwound():
    """--call-graph dwarf: the chains that perf script unwinds, and no names of a program that was replaced since."""
    if not shutil.which("perf") or not shutil.which("cc"):
        print("SKIPPED: perf or cc is not installed, so nothing is unwound")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "work.c").write_text(DWARF_PROGRAM)
        work, data = folder / "unwound", folder / "perf.data"
        build = ["cc", "-O2", "-fomit-frame-pointer", "-fno-inline", "-Wl,--build-id=sha1", "-o", work, folder / "work.c"]
        subprocess.run([*build, "-DVALUE=2000"], check=True)
        os.environ["HOME"] = str(folder)  # perf keeps copies of programs by build id, which would be found
        run = subprocess.run(["perf", "record", "-q", "-N", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,16384", "-o",
                              data, "--", work], capture_output=True, text=True)
        if run.returncode != 0 or not data.exists():
            print(f"SKIPPED: perf cannot record with --call-graph dwarf here: {run.stderr.strip()[:200]}")
            return
        script = subprocess.run(["perf", "script", "--no-inline", "--max-stack", "1024", "-i", data], check=True,
                                capture_output=True, text=True, errors="replace").stdout
        # A frame at "-1" is where perf went on behind the copy's end.
        script = "\n".join(line for line in script.splitlines() if not line.strip().startswith("ffffffffffffffff "))
        compare("unwound", data, script, 1)
        ours = read_folded(flame(data).stdout)
        whole = sum(weight for stack, weight in ours.items() if ";main;" in stack)
        burnt = sum(weight for stack, weight in ours.items() if "burn" in stack)
        rooted = sum(weight for stack, weight in ours.items() if "burn" in stack and ";main;" in stack)
        if burnt == 0 or rooted < 0.99 * burnt:
            failures.append(f"unwound: {rooted} of {burnt} of burn's time has the chain from main on ({whole} in all)")
        subprocess.run([*build, "-DVALUE=3000"], check=True)  # another build id
        said = flame(data)
        if "burn" in said.stdout or "replaced since" not in said.stderr:
            failures.append(f"a replaced program is named or not told: {said.stderr[-600:]!r}")


def main():
    if not CASES.is_dir():
        print(f"SKIPPED: {CASES} is not there")
    else:
        shared_cases()
    recorded_here()
    unwound()
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
