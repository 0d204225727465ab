#!/usr/bin/env python3
"""perf script text -> folded, against what stackcollapse-perf.pl makes of the same captures.

The captures and their answers are FlameGraph's own test data, read in place from the shared cases. The answers
have known faults, which are undone here before comparing, so that everything else has to be the same line:
  - the last sample is lost where the file does not end in an empty line: an empty line is added to our input,
    not to theirs; their answer then lacks exactly that sample, which is checked
  - blanks in the names of threads become "_"
  - names are cut at the first "(", quotes are dropped
  - the vdso counts as kernel (it is user code that the kernel brings along)
  - with -pid and -tid, Java's classes keep the L of their signature (the tool itself drops it today)
"""
import collections
import gzip
import os
import pathlib
import re
import subprocess
import sys

CULPRIT = os.environ["CULPRIT_PROGRAM"]
CASES = pathlib.Path(os.environ["CULPRIT_SOURCE_DIR"]).parent / "shared" / "cases" / "perf-script"
OPTIONS = {
    "pid": ["--group", "process"],
    "tid": ["--group", "thread"],
    "kernel": ["--annotate", "kernel"],
    "jit": ["--annotate", "jit"],
    "all": ["--annotate", "kernel,jit"],
    "addrs": ["--unknown", "address"],
}


def stacks(text):
    """Folded text as a multiset: {(frames): weight}."""
    out = collections.Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        out[stack] += int(weight)
    return out


def as_stackcollapse(stack, marks=""):
    """Our line with the answers' faults put in."""
    frames = stack.split(";")
    frames[0] = frames[0].replace(" ", "_")
    out = [frames[0]]
    for frame in frames[1:]:
        mark = re.search(r"_\[[kij]\]$", frame)
        name = frame[:mark.start()] if mark else frame
        if not re.search(r"\.\(.*\)\.", name):
            name = re.sub(r"\((?!anonymous namespace\)).*", "", name)
        if mark is None and "[k]" in marks and name.startswith("__vdso_"):
            mark = re.search(".*", "_[k]")
        out.append(re.sub("[\"']", "", name) + (mark.group() if mark else ""))
    return ";".join(out)


def folded(text, arguments):
    if "--unknown" not in arguments:
        arguments = [*arguments, "--unknown", "module"]
    run = subprocess.run([CULPRIT, "flame", "-", "--format", "folded", "-o", "-", *arguments],
                         input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def main():
    if not CASES.is_dir():
        print(f"SKIPPED: {CASES} is not there")
        return 77
    failures = compared = 0
    for answer_path in sorted((CASES / "results").glob("*.txt.gz")):
        capture, option = re.match(r"(.*)-collapsed-(\w+)\.txt\.gz$", answer_path.name).groups()
        text = gzip.open(CASES / f"{capture}.txt.gz", "rt").read()
        answer = gzip.open(answer_path, "rt").read()
        theirs = stacks(re.sub(r";L(?=\w+/)", ";", answer) if option in ("pid", "tid") else answer)
        marks = "[k]" if option in ("kernel", "all") else ""
        ours = collections.Counter()
        for stack, weight in stacks(folded(text, OPTIONS[option])).items():
            ours[as_stackcollapse(stack, marks)] += weight
        lost = collections.Counter()
        if not text.endswith("\n\n"):
            # The sample that they lose is the last one: fold it alone.
            last = text.rstrip("\n").rpartition("\n\n")[2]
            for stack, weight in stacks(folded(last, OPTIONS[option])).items():
                lost[as_stackcollapse(stack, marks)] += weight
        compared += 1
        if ours == theirs + lost:
            continue
        failures += 1
        print(f"{answer_path.name}: {len(ours)} lines, the answer has {len(theirs)}")
        for stack in sorted(set(ours) | set(theirs)):
            if ours[stack] != theirs[stack] + lost[stack]:
                print(f"  {stack}: {ours[stack]}, not {theirs[stack] + lost[stack]}")
    print(f"{compared} answers compared, {failures} differ")
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
