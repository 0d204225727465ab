"""record --sample, --off-cpu, --wakers and profile: programs of known shares and known waits, and what they say of themselves."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

CULPRIT = os.environ["CULPRIT_PROGRAM"]

# Each function takes the CPU time it is told, by its own clock.
SHARES = r"""
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
#define BURN(name) __attribute__((noinline)) void name(double s) { \
    double end = cpu() + s; volatile unsigned x = 0; \
    while (cpu() < end) for (int i = 0; i < 50000; ++i) x += i; __asm__ volatile(""); }
BURN(burn_half) BURN(burn_third) BURN(burn_fifth)
int main(void) { for (int i = 0; i < 30; ++i) { burn_half(0.05); burn_third(0.03); burn_fifth(0.02); } }
"""

# A reader that waits for a pipe, a sleeper, and a thread that wants a mutex; each prints how long it waited.
WAITS = r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static int ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void nap(double s) { struct timespec t = {0, (long)(s * 1e9)}; nanosleep(&t, 0); }
static void* wait_pipe(void* unused) { char c; double sum = 0, t;
  for (int i = 0; i < 20; ++i) { t = now(); if (read(ends[0], &c, 1) != 1) return unused; sum += now() - t; }
  printf("vfs_read %f\n", sum); return unused; }
static void* wait_mutex(void* unused) { nap(0.05); double t = now(); pthread_mutex_lock(&lock); printf("futex_wait %f\n", now() - t);
  pthread_mutex_unlock(&lock); return unused; }
int main(void) {
  pthread_t a, b; if (pipe(ends) != 0) return 1;
  pthread_mutex_lock(&lock);
  pthread_create(&a, 0, wait_pipe, 0); pthread_create(&b, 0, wait_mutex, 0);
  double sum = 0;
  for (int i = 0; i < 20; ++i) { double t = now(); nap(0.02); sum += now() - t; if (write(ends[1], "x", 1) != 1) return 1; }
  pthread_mutex_unlock(&lock);
  pthread_join(a, 0); pthread_join(b, 0);
  printf("asleep %f\n", sum);
}
"""


def may_sample():
    return os.geteuid() == 0 and shutil.which("cc") and os.path.exists("/proc/sys/kernel/perf_event_paranoid")


@unittest.skipUnless(may_sample(), "needs root, perf events and a C compiler")
class Samples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def build(self, name, text, *flags):
        source = f"{self.folder}/{name}.c"
        with open(source, "w") as file:
            file.write(text)
        subprocess.run(["cc", "-O1", "-g", *flags, source, "-o", f"{self.folder}/{name}", "-pthread"], check=True)
        return f"{self.folder}/{name}"

    def record(self, *words):
        trace = f"{self.folder}/t.trace"
        done = subprocess.run([CULPRIT, "record", "-o", trace, *words], capture_output=True, text=True, check=True)
        return trace, done.stdout

    def folded(self, trace, *words):
        out = f"{self.folder}/out.folded"
        subprocess.run([CULPRIT, "flame", trace, "-o", out, *words], check=True, capture_output=True)
        with open(out) as file:
            return [(stack.split(";"), int(weight)) for stack, weight in (line.rsplit(" ", 1) for line in file)]

    def test_shares(self):
        for flags, how in ((["-fno-omit-frame-pointer"], "fp"), (["-fomit-frame-pointer"], "auto")):
            with self.subTest(how=how):
                program = self.build("shares", SHARES, *flags)
                trace, summary = self.record("sched", "--sample=499", "--event", "cpu-clock", "--call-graph", how, "--",
                                             program)
                self.assertRegex(summary, r"samples: [\d,]+ of cpu-clock; lost: none")
                stacks = [(s, w) for s, w in self.folded(trace, "--process", "shares") if any("burn_" in f for f in s)]
                total = sum(w for _, w in stacks)
                # Of 3 s of CPU time; throttling may take some.
                self.assertGreater(total, 1.5e9)
                for name, share in (("burn_half", 50), ("burn_third", 30), ("burn_fifth", 20)):
                    part = 100 * sum(w for s, w in stacks if any(name in f for f in s)) / total
                    self.assertAlmostEqual(part, share, delta=5, msg=name)
                with_main = sum(w for s, w in stacks if "main" in s)
                self.assertGreaterEqual(with_main / total, 0.99)

    def test_waits(self):
        program = self.build("waits", WAITS, "-fno-omit-frame-pointer")
        trace = f"{self.folder}/t.trace"
        done = subprocess.run([CULPRIT, "record", "-q", "-o", trace, "sched", "--off-cpu", "--wakers",
                               "--call-graph", "auto", "--", program],
                              capture_output=True, text=True, check=True)
        told = dict(line.split() for line in done.stdout.splitlines())
        stacks = self.folded(trace, "--type", "off-cpu", "--process", "waits")
        for function, seconds in told.items():
            names = {"vfs_read": r"vfs_read", "futex_wait": r"futex_wait", "asleep": r"do_nanosleep"}[function]
            of_main = [(s, w) for s, w in stacks if any(re.search(names, f) for f in s)]
            if function == "asleep":
                of_main = [(s, w) for s, w in of_main if "main" in s or "__libc_start_call_main" in s]
            got = sum(w for _, w in of_main) / 1e9
            self.assertAlmostEqual(got, float(seconds), delta=0.05 * float(seconds) + 0.01, msg=function)
        wakers = self.folded(trace, "--type", "waker", "--process", "waits")
        self.assertTrue(any("main" in s and any("pipe_write" in f for f in s) for s, _ in wakers))

    def test_profile_draws_both(self):
        program = self.build("waits", WAITS, "-fno-omit-frame-pointer")
        out = f"{self.folder}/both.folded"
        subprocess.run([CULPRIT, "profile", "-o", out, "--", program], check=True, capture_output=True)
        with open(out) as file:
            roots = {line.split(";")[0] for line in file}
        self.assertIn("off-cpu", roots)
        self.assertLessEqual(roots, {"on-cpu", "off-cpu"})

    def test_what_costs_too_much_is_asked_for(self):
        done = subprocess.run([CULPRIT, "record", "--off-cpu", "--for", "1s"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--system-wide", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
