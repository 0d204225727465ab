#!/usr/bin/env python3
"""Checks the house rules that a script can see: header comments, file sizes, addresses and paths.

Exit status 1 names each fault. Tables (files whose name ends in _table) may be of any length.
"""
import pathlib
import re
import subprocess
import sys

LONGEST = 600
ROOT = pathlib.Path(__file__).resolve().parent.parent
MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.-])/(work|farm|root)/")
PACKAGE_HOST = re.compile(r'"resolved": *"http|https?://[a-z.]*(npm|pypi|debian|pythonhosted)[a-z]*\.')


def main() -> int:
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\n")
    faults = []
    for name in filter(None, names):
        path = ROOT / name
        if not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        is_source = path.suffix in (".h", ".cc", ".ts") and name.startswith(("src/", "web/"))
        lines = text.count("\n")
        if is_source and lines > LONGEST and not path.stem.endswith("_table"):
            faults.append(f"{name}: {lines} lines; split it by what it does (limit {LONGEST})")
        if path.suffix == ".h" and name.startswith("src/") and not text.startswith("//"):
            faults.append(f"{name}: a header opens with what it is for and what it does not do")
        if name != "tools/house.py":
            for number, line in enumerate(text.split("\n"), 1):
                if MACHINE_PATH.search(line):
                    faults.append(f"{name}:{number}: an absolute path of one machine")
                if PACKAGE_HOST.search(line):
                    faults.append(f"{name}:{number}: the address of a package host")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
