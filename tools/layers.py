#!/usr/bin/env python3
"""Checks that a folder of src/ includes only the folders that its stage may know.

The table is the architecture (ARCHITECTURE.md shows the same one): capture never sees DuckDB, analysis
never sees the kernel. Exit status 1 names each include that breaks it.
"""
import pathlib
import re
import sys

# stage -> stages it may include directly; itself is always allowed.
ALLOWED = {
    "base": set(),
    "kernel": {"base"},
    "tracefile": {"base"},
    "symbols": {"base", "kernel"},
    "capture": {"base", "kernel", "tracefile", "symbols"},
    "tables": {"base"},
    "load": {"base", "tracefile", "tables"},
    "query": {"base", "tables", "load"},
    "profile": {"base", "symbols", "tables"},
    "sampling": {"base", "kernel", "tracefile", "symbols", "profile"},
    "analysis": {"base", "tables"},
    "health": {"base", "kernel"},
    "lab": {"base", "kernel"},
    "stat": {"base", "kernel"},
    "views": {"base", "analysis", "tables", "profile"},
    "server": {"base", "analysis", "views", "load"},
    "cli": {"base", "kernel", "tracefile", "symbols", "capture", "tables", "load", "query", "profile", "sampling",
            "analysis", "health", "lab", "stat", "views", "server"},
}
# Library headers that only one stage may see.
ONLY_IN = {"duckdb.h": {"tables", "load", "query"}, "CLI/CLI.hpp": {"cli"}}

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    faults = []
    for path in sorted(root.rglob("*.h")) + sorted(root.rglob("*.cc")):
        stage = path.relative_to(root).parts[0]
        if stage not in ALLOWED:
            faults.append(f"src/{stage}: a folder that the table of tools/layers.py does not know")
            continue
        for name in INCLUDE.findall(path.read_text()):
            other = name.split("/")[0]
            where = path.relative_to(root.parent)
            if "/" in name and other in ALLOWED and other != stage and other not in ALLOWED[stage]:
                faults.append(f"{where}: {stage} may not include {name}")
            if name in ONLY_IN and stage not in ONLY_IN[name]:
                faults.append(f"{where}: only {', '.join(sorted(ONLY_IN[name]))} may include {name}")
    for fault in sorted(set(faults)):
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
