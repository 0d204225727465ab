"""What the tests of culprit check share: running it, finding findings, skipping aloud."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

PROGRAM = os.environ["CULPRIT_PROGRAM"]
SOURCE = os.environ["CULPRIT_SOURCE_DIR"]
with open(PROGRAM, "rb") as _program:
    SANITIZED = b"__ubsan_" in _program.read()


def run(*arguments, **keywords):
    """(exit status, stdout, stderr) of culprit with these arguments."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, **keywords)
    return done.returncode, done.stdout, done.stderr


def check(*arguments, **keywords):
    """The JSON report of culprit check."""
    status, out, err = run("check", "--format", "json", *arguments, **keywords)
    assert out, f"no report (status {status}): {err}"
    report = json.loads(out)
    report["exit"] = status
    return report


def findings(report, check_id):
    return [f for f in report["findings"] if f["id"] == check_id]


def problem(report, check_id, subject=""):
    """The first finding of that check that is WARN or CRIT, or None; with a subject, only of those whose subject has it."""
    for finding in findings(report, check_id):
        if finding["status"] in ("WARN", "CRIT") and subject in finding["subject"]:
            return finding
    return None


class Config:
    """A --config file that lowers thresholds, so that a test need not wait for minutes."""

    def __init__(self, text):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".conf")
        self.file.write(text)
        self.file.flush()

    @property
    def arguments(self):
        return ["--config", self.file.name]


libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags=0, data=""):
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), target)


def umount(target, flags=2):  # MNT_DETACH
    libc.umount2(target.encode(), flags)


class Spawned(unittest.TestCase):
    """Ends what a test started, by its own process ids."""

    def setUp(self):
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def python(self, code):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        self.children.append(child)
        return child


def wait_for(condition, seconds=20):
    """True as soon as condition() is; False when it never was."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def tasks_named(prefix):
    """Process ids whose comm begins so and whom this test program has started, abandoned ones too: its process group (see
    main) stays with them when process 1 takes them over. Another culprit may well be at work on the machine."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().startswith(prefix) and os.getpgid(int(name)) == os.getpgid(0):
                    found.append(int(name))
        except OSError:
            pass
    return found


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root")(test)


def main():
    # Skips are told by name and reason, so that a log shows what was not tested.
    warnings.simplefilter("ignore", ResourceWarning)
    if os.getpgid(0) != os.getpid():
        os.setpgid(0, 0)  # what is ours is told by it
        libc.prctl(1, signal.SIGINT, 0, 0, 0)  # PR_SET_PDEATHSIG: a ^C at ctest does not reach another group
    result = unittest.main(module="__main__", verbosity=2, exit=False, warnings="ignore").result
    for test, reason in result.skipped:
        print(f"SKIPPED {test}: {reason}", file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() else 1)
