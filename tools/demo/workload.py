#!/usr/bin/env python3
"""A small training job gone wrong, for ./dev demo: workload.py SECONDS DIRECTORY

Loaders unpack samples and hand them to a trainer through a pipe; there are more of them than CPUs, so they
stand in one another's way. A checkpoint writer calls fsync, a logger mostly sleeps and starts short-lived
programs. Names are those of a real job, so that the answers read like real ones.
"""
import os
import subprocess
import sys
import threading
import time
import zlib


def rename(name, path="/proc/self/comm"):
    """The name that the kernel shows for a process or thread (15 characters)."""
    with open(path, "w") as comm:
        comm.write(name)


def rename_thread(name):
    rename(name, f"/proc/self/task/{threading.get_native_id()}/comm")


def loader(number, batches, until):
    rename(f"DataLoader-{number}")
    packed = zlib.compress(bytes(range(256)) * 1024, 6)
    while time.monotonic() < until:
        for _ in range(40):
            sample = zlib.decompress(packed)
        os.write(batches, sample[:512])  # at most PIPE_BUF, so that writers do not mix


def trainer(batches, until):
    rename("trainer")

    def heartbeat():
        rename_thread("heartbeat")
        while time.monotonic() < until:
            time.sleep(0.05)

    threading.Thread(target=heartbeat).start()
    while True:
        batch = os.read(batches, 512)
        if not batch:
            return
        for _ in range(60):
            zlib.crc32(batch * 20)


def checkpointer(directory, until):
    rename("checkpoint")
    path = os.path.join(directory, "checkpoint.bin")
    block = os.urandom(1 << 20)
    while time.monotonic() < until:
        with open(path, "wb") as file:
            for _ in range(4):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        time.sleep(0.05)
    os.unlink(path)


def logger(until):
    rename("logger")
    while time.monotonic() < until:
        subprocess.run(["date"], stdout=subprocess.DEVNULL, check=True)
        time.sleep(0.2)


def start(work, *arguments):
    pid = os.fork()
    if pid == 0:
        work(*arguments)
        os._exit(0)
    return pid


def main():
    seconds, directory = float(sys.argv[1]), sys.argv[2]
    until = time.monotonic() + seconds
    batches_out, batches_in = os.pipe()
    children = [start(loader, number, batches_in, until) for number in range(len(os.sched_getaffinity(0)) + 1)]
    children += [start(checkpointer, directory, until), start(logger, until)]
    os.close(batches_in)
    children.append(start(trainer, batches_out, until))
    os.close(batches_out)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
