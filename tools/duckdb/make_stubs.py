#!/usr/bin/env python3
"""Writes the C file that stands in for libduckdb.so at link time: one jump a function of duckdb.h.

Loading that library costs 10 to 30 ms of CPU time and 2 MB, which record and check must not pay. So the
program is linked with these jumps, and LoadDuckDb (src/tables/duckdb_library.h) opens the library and
fills in where they go.

usage: make_stubs.py duckdb.h OUTPUT.c
"""
import pathlib
import re
import sys

HEAD = r"""// Written by tools/duckdb/make_stubs.py.
// Until the library is loaded a jump goes nowhere: that is a bug of ours, and ends the program.
#if defined(__x86_64__)
#define JUMP(name, slot)                                                                          \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n  endbr64\n"            \
          "  jmp *culprit_duckdb_slots+8*" #slot "(%rip)\n.size " #name ", .-" #name "\n");
#elif defined(__aarch64__)
#define JUMP(name, slot)                                                                          \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n  hint #34\n"           \
          "  adrp x16, culprit_duckdb_slots+8*" #slot "\n"                                         \
          "  ldr x16, [x16, :lo12:culprit_duckdb_slots+8*" #slot "]\n"                             \
          "  br x16\n.size " #name ", .-" #name "\n");
#else
#error "no jump for this machine: see tools/duckdb/make_stubs.py"
#endif
"""


def main() -> None:
    header, output = map(pathlib.Path, sys.argv[1:])
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
    names = re.findall(r"^DUCKDB_C_API\b[^;{]*?\b(duckdb_\w+)\s*\(", text, flags=re.M)
    if len(names) < 100 or len(set(names)) != len(names):
        sys.exit(f"make_stubs.py: {header} does not look like duckdb.h: {len(names)} functions")
    lines = [HEAD, f"const unsigned culprit_duckdb_count = {len(names)};",
             f"void* culprit_duckdb_slots[{len(names)}];", "const char* const culprit_duckdb_names[] = {"]
    lines += [f'    "{name}",' for name in names] + ["};"]
    lines += [f"JUMP({name}, {slot})" for slot, name in enumerate(names)]
    output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
