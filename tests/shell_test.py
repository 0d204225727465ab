#!/usr/bin/env python3
"""The interactive shell of culprit query on a terminal of its own: lines, completion, history, ^C.

    tests/shell_test.py PROGRAM
"""
import os
import pty
import select
import sys
import tempfile
import time

TRACE = """# tracer: nop
#
          <idle>-0     [000] d... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=busy next_pid=10 next_prio=120
            busy-10    [000] d... 1.003000: sched_switch: prev_comm=busy prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
"""


class Shell:
    def __init__(self, program, trace, state):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", XDG_STATE_HOME=state, INPUTRC="/dev/null", COLUMNS="200")
            os.execv(program, [program, "query", trace])
        self.text = ""

    def wait_for(self, wanted, seconds=60):
        """Reads until the text since the last call holds `wanted`; returns it."""
        end = time.monotonic() + seconds
        while wanted not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise SystemExit(f"FAIL: no {wanted!r} in {self.text!r}")
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                raise SystemExit(f"FAIL: it ended without {wanted!r} in {self.text!r}") from None
        at = self.text.index(wanted) + len(wanted)
        seen, self.text = self.text[:at], self.text[at:]
        return seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "t.txt")
        with open(trace, "w", encoding="utf-8") as file:
            file.write(TRACE)
        prompt, more = "culprit> ", "...> "

        shell = Shell(program, trace, work)
        shell.wait_for(prompt)
        shell.type("SELECT dur,\n")  # a statement over two lines
        shell.wait_for(more)
        shell.type("end_state FROM sched WHERE utid <> 0;\n")
        shell.wait_for("3000000  S")
        shell.wait_for("(1 row, ")
        shell.wait_for(prompt)

        shell.type("SELECT s.pri\t FROM sched s LIMIT 1;")  # no FROM yet: nothing to complete with
        shell.type("\x01\x0b")  # to the begin, and all of it away
        shell.type("SELECT count(*) AS n FROM sched_sl\t;\n")
        shell.wait_for("sched_slice")
        shell.wait_for(prompt)

        shell.type(".tables\n")
        shell.wait_for("thread_state")
        shell.wait_for(prompt)
        shell.type(".schema lost_gap\n")
        shell.wait_for("begin_ts")
        shell.wait_for(prompt)
        shell.type(".nonsense\n")
        shell.wait_for("no such command: .nonsense")
        shell.wait_for(prompt)
        shell.type(".format csv\n")
        shell.wait_for(prompt)
        shell.type("SELECT 1 AS a, NULL AS b, '' AS c;\n")
        shell.wait_for('1,,""')
        shell.wait_for(prompt)
        shell.type(".format table\n")
        shell.wait_for(prompt)

        shell.type("SELECT nothing FROM sched;\n")  # an error points at its place, and is not the end
        shell.wait_for("^")
        shell.wait_for(prompt)

        shell.type("SELECT half of\n")  # ^C drops what is typed
        shell.wait_for(more)
        shell.type("\x03")
        shell.wait_for("^C")
        shell.wait_for(prompt)
        # ^C cancels a query that would take for ever, and not the shell: once it shows that it runs,
        # and also when it has hardly begun.
        for_ever = ("SELECT count(*) FROM range(1000000000) a, range(1000000000) b "
                    "WHERE a.range * b.range % 7 = 3;\n")
        for sign in ("query ", "= 3;"):
            shell.type(for_ever)
            shell.wait_for(sign)
            shell.type("\x03")
            shell.wait_for("cancelled")
            shell.wait_for(prompt)
        shell.type("SELECT 40 + 2 AS answer;\n")
        shell.wait_for("42")
        shell.wait_for(prompt)
        shell.type(".quit\n")
        if (status := shell.end()) != 0:
            raise SystemExit(f"FAIL: .quit: status {status}")

        history = os.path.join(work, "culprit", "query_history")
        if os.stat(history).st_mode & 0o077:
            raise SystemExit("FAIL: the history is open to others")
        shell = Shell(program, trace, work)
        shell.wait_for(prompt)
        shell.type("\x1b[A\x1b[A\n")  # the last but one of the last time
        shell.wait_for("answer")
        shell.wait_for("42")
        shell.wait_for(prompt)
        shell.type("\x04")  # ^D
        if (status := shell.end()) != 0:
            raise SystemExit(f"FAIL: ^D: status {status}")
    print("ok")


if __name__ == "__main__":
    main()
