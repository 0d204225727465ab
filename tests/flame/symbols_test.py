#!/usr/bin/env python3
"""Inlined functions against addr2line, shares of known work, a binary replaced since its recording, a name from a debug
file. Recorded here with perf; skipped where it is not or may not record."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CULPRIT = os.environ["CULPRIT_PROGRAM"]
PROGRAM = r"""
#include <cmath>
#include <cstdlib>
volatile double sink;
namespace work {
// Compilers leave functions that call none without a frame, whatever they are told.
__attribute__((noinline)) void tick() { __asm__ volatile(""); }
inline __attribute__((always_inline)) void spin(long n) { for (long i = 0; i < n; ++i) sink = sink + 1; tick(); }
inline __attribute__((always_inline)) void half(long n) { spin(n); }
__attribute__((noinline)) void fifty(long n) { half(50 * n); }
__attribute__((noinline)) void thirty(long n) { half(30 * n); }
__attribute__((noinline)) void twenty(long n) { half(20 * n); }
}
int main(int, char** words) {
  const long n = std::atol(words[1]);
  for (int i = 0; i < 200; ++i) { work::fifty(n); work::thirty(n); work::twenty(n); }
}
"""


class Symbols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        (cls.folder / "work.cc").write_text(PROGRAM)
        cls.program = cls.folder / "work"
        cls.compile("-O1", "-g")
        cls.data = cls.folder / "perf.data"
        (cls.folder / "recorder").mkdir()
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o", cls.data, "--", cls.program, "60000"],
                       cwd=cls.folder, check=True, capture_output=True, env={**os.environ, "HOME": str(cls.folder / "recorder")})

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def compile(cls, *flags):
        subprocess.run(["c++", "-fno-omit-frame-pointer", "-fno-shrink-wrap", "-fno-optimize-sibling-calls", "-Wl,--build-id", *flags, "-o", cls.program,
                        cls.folder / "work.cc"], check=True)

    def flame(self, *arguments, home=None):
        environment = {**os.environ, "HOME": str(home or self.folder / "home"), "XDG_CACHE_HOME": ""}
        run = subprocess.run([CULPRIT, "flame", self.data, "--format", "folded", *arguments], capture_output=True, text=True,
                             env=environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in run.stdout.splitlines()}, run.stderr

    def test_1_shares_and_whole_chains(self):
        stacks, _ = self.flame("--filter", "work::")
        total = sum(stacks.values())
        for name, share in (("fifty", 50), ("thirty", 30), ("twenty", 20)):
            mine = sum(weight for stack, weight in stacks.items() if f";work::{name};" in stack)
            self.assertAlmostEqual(100 * mine / total, share, delta=4, msg=name)
        everything, _ = self.flame()
        whole = sum(weight for stack, weight in everything.items() if ";main" in stack)
        self.assertGreater(whole / sum(everything.values()), 0.95)

    def test_2_inlined_functions_are_those_of_addr2line(self):
        # Addresses in the file of the innermost frames, from perf; what addr2line -i says of each.
        script = subprocess.run(["perf", "script", "--no-inline", "-F", "ip,sym,symoff", "-i", self.data], capture_output=True, text=True,
                                check=True).stdout
        symbols = {line.split()[2]: int(line.split()[0], 16) for line in
                   subprocess.run(["nm", self.program], capture_output=True, text=True, check=True).stdout.splitlines()
                   if len(line.split()) == 3}
        wanted = {}
        for name in ("fifty", "thirty", "twenty"):
            offset = re.search(rf"work::{name}\(?[a-z]*\)?\+0x([0-9a-f]+)|_ZN4work\d+{name}El\+0x([0-9a-f]+)", script)
            self.assertIsNotNone(offset, script[:500])
            address = symbols[f"_ZN4work{len(name)}{name}El"] + int(offset.group(1) or offset.group(2), 16)
            out = subprocess.run(["addr2line", "-e", self.program, "-i", "-f", "-C", hex(address)], capture_output=True, text=True,
                                 check=True).stdout.splitlines()[::2]
            wanted[name] = [re.sub(r"\(.*", "", function) for function in reversed(out)]
        stacks, _ = self.flame("--group", "merged")
        tails = {";".join(stack.split(";")[-3:]) for stack in stacks}
        for name, functions in wanted.items():
            self.assertEqual(functions, [f"work::{name}", "work::half", "work::spin"], "what addr2line says")
            self.assertIn(";".join(functions), tails)
        plain, _ = self.flame("--no-inlines")
        self.assertFalse([stack for stack in plain if "work::spin" in stack])

    def test_3_names_from_a_debug_file_of_the_same_build_id(self):
        build_id = re.search(r"Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True).stdout).group(1)
        root = self.folder / "root"
        place = root / "usr/lib/debug/.build-id" / build_id[:2]
        place.mkdir(parents=True)
        stripped = root / str(self.program).lstrip("/")
        stripped.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.program, place / f"{build_id[2:]}.debug"], check=True)
        subprocess.run(["objcopy", "--strip-all", self.program, stripped], check=True)
        stacks, _ = self.flame("--root", root)
        self.assertTrue([stack for stack in stacks if ";work::fifty;work::half;work::spin" in stack])
        (place / f"{build_id[2:]}.debug").unlink()
        stacks, _ = self.flame("--root", root)
        self.assertFalse([stack for stack in stacks if "work::" in stack])
        self.assertTrue([stack for stack in stacks if "[work+0x" in stack])

    def test_4_a_replaced_binary_is_said_and_not_named(self):
        self.compile("-O2", "-DANOTHER")
        stacks, said = self.flame()
        self.assertFalse([stack for stack in stacks if "work::" in stack])
        self.assertRegex(said, r"replaced since the recording \(the build id differs\), so not named: .*/work")
        # perf keeps a copy of what it recorded, by build id.
        stacks, _ = self.flame(home=self.folder / "recorder")
        self.assertTrue([stack for stack in stacks if "work::fifty" in stack])


if __name__ == "__main__":
    if not shutil.which("perf") or not shutil.which("c++"):
        print("SKIPPED: perf or c++ is not installed")
        sys.exit(77)
    if subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "--", "true"], capture_output=True).returncode != 0:
        print("SKIPPED: perf cannot record here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
