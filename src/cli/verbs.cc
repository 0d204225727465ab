#include "cli/verbs.h"

#include <array>

#include "cli/verb.h"

namespace culprit::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"check", "[--only LIST] [--watch TIME] [--format FORMAT] [--root DIR]",
         "is this node healthy: what is wrong, with what, and what to do",
         "  culprit check                        # the whole node, in about a second\n"
         "  culprit check --only disk,fs --all   # also what is fine there\n"
         "  culprit check --watch 5s             # again and again, marking what is new and over\n"
         "  culprit check --explain cpu.psi      # what a check reads and what fools it\n",
         DeclareCheck},

    Verb{
        "record",
        "[-o FILE] [-c CONFIG] [--for TIME] [--ring | --stop-when-full] [--background]\n"
        "  [--pid PID]... [CATEGORY...] [-- COMMAND...]\n"
        "--sample [HZ] [--event EVENT] [--call-graph fp|dwarf|auto] [--off-cpu] [--wakers] ...\n"
        "--rotate TIME --dir DIR [--keep N] [--max-disk SIZE] [CATEGORY...]\n"
        "--list | --status | --stop [PID] | --cleanup",
        "record kernel events, counters and threads to a trace file",
        "  culprit record --for 10s                  # what a node does: preset node\n"
        "  culprit record -o t.pftrace sched disk -- make -j8   # while a command runs\n"
        "  culprit record -c config.pbtxt -o t.pftrace          # a config of Perfetto's\n"
        "  culprit record --ring --background        # the last seconds before culprit record "
        "--stop\n"
        "  culprit record --background --rotate 60s --keep 20 --max-disk 2G --dir "
        "/var/tmp/culprit\n",
        DeclareRecord,
        "Records the whole machine, or with --pid the events in which a thread of these processes "
        "takes part (also those of threads and children that they make later). COMMAND runs as the "
        "user who runs culprit; it starts once recording has begun and ends the recording, and its "
        "exit status is passed on. ^C ends a recording and writes its file; a second ^C gives the "
        "file up. SIGTERM ends the command, too.\n\n"
        "Without --ring and --stop-when-full every event is kept: full buffers are moved to a file "
        "without a name beside the output, and made into the trace after the stop.\n\n"
        "Whatever becomes of the recorder, a guardian process removes its trace instance from the "
        "kernel; --cleanup does the same by hand.\n\n"
        "Without root, --pid and COMMAND record the threads of these processes alone: exact "
        "switches where perf events are allowed, else samples of /proc. The file says which "
        "(docs/own_threads.md).\n"},
    Verb{"explain",
         "[--thread GLOB | --process GLOB | --pid PID | --tid TID | --slice GLOB]\n"
         "  [--from TIME] [--to TIME] [--format FORMAT] [-o FILE] [--fail-on LEVEL] TRACE\n"
         "--list-rules",
         "name what made the work wait, with the evidence",
         "  culprit explain node.trace                        # the work is found by itself\n"
         "  culprit explain --process 'python*' node.trace    # of these processes\n"
         "  culprit explain --slice batch_wait node.trace     # in the time of these slices\n"
         "  culprit explain --from 2s --to 3s --show-sql node.trace\n",
         DeclareExplain,
         "Without a selection these are explained: processes that held a GPU; else threads with "
         "known names of training and serving programs; else the threads that waited most while "
         "they had work.\n\n"
         "A thread's waits are followed from whoever woke it to whoever woke that one, until "
         "somebody ran, stood without a CPU, or waited for a device or a timer. What is above the "
         "thresholds of culprit explain --list-rules is named, the worst first.\n\n"
         "Exit status: 0 done, whatever was found; 1 something failed; 2 wrong usage; 3 a finding "
         "is as bad as --fail-on says.\n"},
    Verb{
        "query", "TRACE [\"SQL\" | -f FILE] [--format FORMAT] [-o FILE]\n--query \"SQL\" TRACE",
        "ask a trace in SQL; without SQL an interactive shell",
        "  culprit query node.trace                 # the shell\n"
        "  culprit query node.trace \"SELECT name, tid FROM thread\"\n"
        "  culprit query node.trace -f report.sql --format csv -o report.csv\n"
        "  echo 'SELECT count(*) FROM sched' | culprit query node.trace\n",
        DeclareQuery,
        "The tables are Perfetto's and a few more: docs/tables.md, or .schema in the shell. SQL is "
        "as "
        "Perfetto's users write it, with PerfettoSQL's statements, on DuckDB.\n\n"
        "TRACE is a recording, also of Perfetto's own tools, also compressed, or a file of culprit "
        "load. CSV writes NULL as nothing and an empty text as \"\"; JSON writes integers "
        "whole.\n"},
    Verb{"load", "[--no-raw] -o FILE.duckdb TRACE", "load a trace once into a database file",
         "  culprit load node.trace -o node.duckdb\n"
         "  culprit query node.duckdb \"SELECT count(*) FROM sched\"   # opens at once\n",
         DeclareLoad},
    Verb{"export", "--format FORMAT -o FILE TRACE", "write a trace for other programs",
         "  culprit export node.trace --format parquet -o node.tables   # a folder\n"
         "  culprit export node.trace --format json -o node.json        # for chrome://tracing\n"
         "  culprit export node.trace --format ftrace-text -o - | less\n",
         DeclareExport},
    Verb{"flame",
         "[-o FILE] [--type TYPE] [SELECTION...] INPUT\ndiff [-o FILE] [--normalize BY] BEFORE "
         "AFTER",
         "draw where time goes by stacks: a flame graph, or text, of any profile",
         "  culprit flame perf.data -o cpu.svg             # opens in any browser\n"
         "  culprit flame perf.data                        # top functions and the tree, as text\n"
         "  perf script | culprit flame - -o cpu.folded    # for other tools\n"
         "  culprit flame diff before.data after.data -o diff.svg\n",
         DeclareFlame,
         "INPUT is told apart by its content. Totals add up: what is printed as the total is the "
         "sum of the roots and of the threads. What was lost or cannot be named is said below "
         "it.\n"},
    Verb{"profile",
         "[--for TIME] [--pid PID | -- COMMAND...] [--sample HZ] [--call-graph HOW] [-o FILE]",
         "record with samples and draw at once: time on CPUs and time off them, side by side",
         "  culprit profile --pid 4711 --for 10s -o job.svg\n"
         "  culprit profile -o job.html -- python3 -X perf train.py\n",
         DeclareProfile,
         "Widths are time in both halves, so they can be compared: the left of a thread that only "
         "computes is as wide as it ran, the right as long as it was away from a CPU, by the stack "
         "with which it left. Without a process only time on CPUs is shown, of the whole machine. "
         "To keep the recording: culprit record --sample --off-cpu, then culprit flame.\n"},
    Verb{"stat",
         "[-a | -p PID[,PID] | -- COMMAND...] [--for TIME] [--interval TIME] [-e EVENTS]\n"
         "  [--per-thread | --per-cpu] [--format FORMAT] [-o FILE]\n--list-thresholds",
         "count what CPUs and the kernel do for a program, and say what it is bound by",
         "  culprit stat -- python3 train.py         # a command, until it ends\n"
         "  culprit stat -p 4711 --for 5s --per-thread\n"
         "  sudo culprit stat -a --for 10s --interval 1s\n"
         "  culprit stat -e LLC-loads,LLC-load-misses,r01c2:u -p 4711\n",
         DeclareStat,
         "Counts are those of perf events, scaled up when the CPU has too few counters for all of "
         "them at a time (the share of time is shown); switches by kind, and whatever this user "
         "may not count, come from /proc and wait4(2). What this CPU cannot count is said, and the "
         "rest is read. Ratios are judged by the thresholds of --list-thresholds, and the one that "
         "decided is named.\n\n"
         "EVENTS are names as perf has them (cycles, L1-dcache-load-misses, sched:sched_switch), "
         "PMU/event=1,umask=2/ or a name out of /sys/bus/event_source/devices/PMU/events, raw "
         "numbers (r01c2) and names of libpfm4; :u and :k behind one count in user or kernel mode "
         "only. A command's exit status is passed on; it gets ^C as without culprit.\n"},
    Verb{"preflight", "[--dir DIR] [--size SIZE] [--buffer SIZE] [--json]",
         "is everything there that a recording needs, and what helps where it is not",
         "  culprit preflight                             # before the first recording\n"
         "  culprit preflight --dir /data --size 20G      # is there room for a long one\n",
         DeclarePreflight,
         "Each line is one need: ok, less (a recording works and holds less) or missing (no "
         "recording). Exit status 0 when a recording is possible, 1 when not.\n"},
    Verb{"open", "[--port PORT] [--ui URL] [--no-browser] TRACE", "show a trace in Perfetto's UI",
         "  culprit open node.trace\n", DeclareOpen,
         "Serves this one file on loopback, under an address that nobody can guess, to Perfetto's "
         "page "
         "alone, and prints (on a desktop: opens) the address that shows it there. The trace goes "
         "from "
         "this machine into the browser and nowhere else. It ends when the page has the trace.\n"},
    Verb{
        "tune",
        "[audit] [--profile NAME] [KEY...]\napply [--dry-run] [--yes] [KEY...]\n"
        "rollback [--dry-run] [--force] [KEY...]",
        "audit the kernel's settings for AI work; apply what is advised, take it back",
        "  culprit tune                            # what to change here, why, who set it\n"
        "  culprit tune vm.dirty_bytes             # all about one key\n"
        "  culprit tune apply --profile storage --dry-run\n"
        "  culprit tune apply vm.max_map_count     # one key: running value and drop-in\n"
        "  culprit tune rollback                   # everything as it was before\n",
        DeclareTune,
        "apply writes the running values and keeps them over a reboot in one file each: "
        "/etc/sysctl.d/99-zz-culprit.conf and, for files in /sys, "
        "/etc/tmpfiles.d/99-zz-culprit.conf. Old values are in /var/lib/culprit/tune.json before "
        "the first write, so that rollback restores them whatever happened in between; it leaves "
        "alone what somebody changed since, unless --force is given.\n"
        "Exit status of the audit: 0 nothing to change, 1 something to change, 2 wrong usage, 3 no "
        "audit possible; of apply and rollback: 0 all done, 1 something was not, 2 wrong "
        "usage.\n"},
    Verb{"lab",
         "SCENARIO [--for TIME] [--scale N] [--fault FAULT] [--record FILE] [--explain]\n--list",
         "make a fault with a known culprit, to see what the other verbs say about it",
         "  culprit lab --list                           # every scenario and what to watch\n"
         "  culprit lab preempt --for 5s --explain       # record it and explain it\n"
         "  culprit lab pipeline --fault lock --record lock.pftrace\n"
         "  culprit lab zombie & culprit check           # what does check say\n",
         DeclareLab,
         "Real processes with a real fault. At the end the truth is printed as JSON, as the "
         "processes measured it themselves: who the culprit is, and what share of the victims' "
         "time it took (docs/lab.md). Everything is bounded in time and size and cleaned up, also "
         "after kill -9; nothing leaves this machine. Not for a node in production: the scenarios "
         "take CPUs and disks from whoever else is there.\n"},
    Verb{"help", "[VERB]\n--man | --markdown | --tables | --completion SHELL",
         "explain a verb, or list them all",
         "  culprit help record\n"
         "  source <(culprit help --completion bash)   # completion in this shell\n",
         DeclareHelp},
};

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

}  // namespace culprit::cli
