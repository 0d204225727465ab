#!/usr/bin/env python3
"""Runs clang-tidy over the given sources, and again only over those that changed.

A source that passed leaves a stamp in BUILD/tidy/, named by what it was after the preprocessor together with
.clang-tidy: a change in any header that it includes counts. Exit status 1 when a source has findings.

  tools/tidy.py BUILD JOBS SOURCE...
"""
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys


def preprocessed(command: dict) -> bytes:
    """The text of a source as the compiler sees it."""
    words = shlex.split(command["command"])
    if pathlib.Path(words[0]).name == "ccache":
        words = words[1:]
    without_output = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-MD", "-c"):
            without_output.append(word)
    run = subprocess.run(without_output + ["-E", "-P"], cwd=command["directory"], capture_output=True)
    return run.stdout if run.returncode == 0 else b""


def main() -> int:
    build, jobs, sources = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    commands = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        commands[str(pathlib.Path(command["directory"], command["file"]).resolve())] = command
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    config = pathlib.Path(".clang-tidy").read_bytes()

    def check(source: str) -> tuple[str, str]:
        command = commands.get(str(pathlib.Path(source).resolve()))
        if command is None:  # built by no target of this configuration: a fuzz target
            return source, ""
        text = preprocessed(command)
        stamp = stamps / hashlib.sha256(config + text).hexdigest()
        if text and stamp.exists():
            return source, ""
        run = subprocess.run(["clang-tidy", "--quiet", "-p", str(build), source], capture_output=True, text=True)
        if run.returncode == 0:
            stamp.touch()
            return source, ""
        return source, run.stdout or run.stderr

    findings = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (source, text) in enumerate(pool.map(check, sources), 1):
            if sys.stderr.isatty():
                print(f"\r[{done}/{len(sources)}] {source:70.70}", end="", file=sys.stderr)
            if text:
                findings += 1
                print(text)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"clang-tidy: {len(sources)} sources, {findings} with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
