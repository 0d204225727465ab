#!/usr/bin/env python3
"""usage: make_big_binary.py FOLDER: FOLDER/big, a program of 500 MB with 200,000 functions, and FOLDER/big.data, a
perf.data of 40,000 samples with 25 frames each, one million frames at 50,000 places in it. Needs as and ld (binutils)."""
import pathlib
import re
import struct
import subprocess
import sys

FUNCTIONS, BYTES = 200_000, 2501
SAMPLES, DEPTH, PLACES = 40_000, 25, 50_000
IDENTIFIER, IP, TID, TIME, CALLCHAIN, PERIOD = 1 << 16, 1, 2, 4, 32, 256
USER = 2**64 - 512


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def main():
    folder = pathlib.Path(sys.argv[1])
    source, binary = folder / "big.s", folder / "big"
    with open(source, "w") as out:
        out.write(".text\n.globl _start\n_start: ret\n")
        for i in range(FUNCTIONS):
            name = f"_ZN5torch3big14function{i:06d}ERKi"
            out.write(f".globl {name}\n.type {name},@function\n{name}:\n.zero {BYTES - 1},0x90\nret\n.size {name},.-{name}\n")
    subprocess.run(["as", "-o", folder / "big.o", source], check=True)
    subprocess.run(["ld", "--build-id", "-o", binary, folder / "big.o"], check=True)
    source.unlink()
    (folder / "big.o").unlink()
    notes = subprocess.run(["readelf", "-n", binary], check=True, capture_output=True, text=True).stdout
    build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes).group(1))
    segments = subprocess.run(["readelf", "-lW", binary], check=True, capture_output=True, text=True).stdout
    offset, address = (int(word, 16) for word in re.search(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+\S+\s+\S+\s+\S+\s+R E", segments).groups())
    size = FUNCTIONS * BYTES + 4096

    attr = struct.pack("<IIQQQQQ", 0, 112, 0, 1000, IDENTIFIER | IP | TID | TIME | PERIOD | CALLCHAIN, 0, 1 << 18) + bytes(64)
    path = str(binary).encode()
    path += b"\0" * (8 - len(path) % 8)
    trailer = struct.pack("<IIQQ", 7, 7, 1, 1)
    records = [record(3, struct.pack("<II", 7, 7) + b"big\0\0\0\0\0" + trailer),
               record(10, struct.pack("<IIQQQB3x20sII", 7, 7, address, size, offset, 20, build_id, 5, 2) + path + trailer, 2 | 1 << 14)]
    step = FUNCTIONS * BYTES // PLACES
    at = 1
    for number in range(SAMPLES):
        chain = []
        for _ in range(DEPTH):
            at = (at * 1103515245 + 12345) % 2**31
            chain.append(address + 100 + (at >> 8) % PLACES * step)
        records.append(record(9, struct.pack("<QQIIQQQ", 1, chain[0], 7, 7, 100 + number, 1000, DEPTH + 1) +
                              struct.pack(f"<{DEPTH + 1}Q", USER, *chain), 2))
    data = b"".join(records)
    head = 104 + 8
    header = b"PERFILE2" + struct.pack("<8Q", 104, 128, head, 128, head + 128, len(data), 0, 0) + bytes(32)
    (folder / "big.data").write_bytes(header + struct.pack("<Q", 1) + attr + struct.pack("<QQ", 104, 8) + data)


if __name__ == "__main__":
    main()
