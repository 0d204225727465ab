#!/usr/bin/env bash
# ./dev demo names the threads of its workload in each of its answers.
#   tests/demo_test.sh PROGRAM; status 77: skipped
set -euo pipefail
program=$1
skip() { echo "SKIPPED: $*"; exit 77; }
[[ $(id -u) == 0 ]] || skip "recording needs root"
grep -q tracefs /proc/filesystems || skip "this kernel has no tracefs"

source=$(cd "$(dirname "$0")/.." && pwd)
out=$(DEMO_SECONDS=2 "$source/tools/demo.sh" "$program")
answer() { sed -n "/^== $1/,/^==/p" <<<"$out"; }
fail() { printf 'FAIL: %s\n%s\n' "$*" "$out" >&2; exit 1; }
# On a busy machine others take that CPU, too: the log collector is named among them.
verdict=$(answer 'What made the worker wait')
grep -q 'pt_data_worker (tid [0-9]*) was ready to run but off the CPU' <<<"$verdict" || fail "no verdict on the worker"
grep -q 'logcollector (pid [0-9]*' <<<"$verdict" || fail "the log collector is not named"
grep -q 'lost events: none' <<<"$out" || fail "events were lost in a recording of 2 s"
answer 'Who used the CPUs' | grep -q running_ms || fail "no answer about the CPUs"
answer 'Who was runnable' | grep -q waited_ms || fail "no answer about the run queue"
# fsync waits in D state on any disk. On a busy machine other threads come first in the lists, so the
# workload's own are asked for.
trace=$(dirname "$program")/../demo/demo.trace
names=$("$program" query --quiet --format csv "$trace" "SELECT DISTINCT name FROM thread JOIN sched USING (utid) ORDER BY name")
for name in DataLoader-0 trainer checkpoint logger heartbeat date; do
  grep -qx "$name" <<<"$names" || fail "thread $name is not in the trace"
done
blocked=$("$program" query --quiet --format csv "$trace" "SELECT COUNT(*) FROM thread_state JOIN thread USING (utid) WHERE name = 'checkpoint' AND state = 'D' AND blocked_function IS NOT NULL" | tail -n 1)
((blocked > 0)) || fail "no wait of the checkpoint writer has a blocked function"
echo ok
