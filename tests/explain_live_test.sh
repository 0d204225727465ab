#!/usr/bin/env bash
# culprit explain --live with a command and with ^C, its temporary file, and that the SQL that a finding
# shows gives the finding's number when culprit query runs it.
#   tests/explain_live_test.sh PROGRAM        needs root and tracefs; exit status 77: skipped
set -euo pipefail
program=$1
if [[ $(id -u) != 0 || ! -e /sys/kernel/tracing/events/sched ]]; then
  echo "SKIPPED: explain --live needs root and tracefs" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# The command's exit status is told, explain's own is kept.
TMPDIR=$work "$program" explain --live --format json -o "$work/live.json" -- sh -c 'sleep 0.3; exit 7' 2>"$work/err" ||
  fail "explain --live -- COMMAND ended with $?: $(cat "$work/err")"
grep -q 'ended with 7' "$work/err" || fail "the command's status is not told: $(cat "$work/err")"
grep -q '"schema_version": 1' "$work/live.json" || fail "no report"

# ^C ends the recording, and what there is is explained.
TMPDIR=$work timeout --preserve-status -s INT 2 "$program" explain --live --for 60s >"$work/text" 2>"$work/err" ||
  fail "explain --live ended with $? after ^C: $(cat "$work/err")"
grep -q 'Time of the victims' "$work/text" || fail "no report after ^C"
[[ -z $(find "$work" -name 'culprit-explain-*') ]] || fail "the temporary recording is still there"

# A migration is seen in any second of a machine with two CPUs and four that want them.
"$program" record --quiet -o "$work/four.pftrace" --for 2s -- sh -c \
  'for i in 1 2 3 4; do timeout 1.5 sh -c "while :; do sleep 0.001; done" & done; wait' || true
"$program" explain "$work/four.pftrace" --process '*' --format json -o "$work/four.json" 2>/dev/null
python3 - "$program" "$work/four.pftrace" "$work/four.json" <<'PY' || fail "the SQL of a finding gives another number"
import json, subprocess, sys
program, trace, report = sys.argv[1:]
wrong = shown = 0
for finding in json.load(open(report))["findings"]:
    # The SQL of the walk leaves out interrupts and migrations, so its number is near the finding's and no more.
    if not finding["sql"] or "AS walk" in finding["sql"] or "walk AS" in finding["sql"]:
        continue
    done = subprocess.run([program, "query", trace, finding["sql"]], capture_output=True, text=True, check=False)
    value = done.stdout.split()[-1] if done.stdout.split() else done.stderr
    shown += 1
    if not value.lstrip("-").isdigit() or abs(int(value) - finding["wait_ns"]) > 1:
        wrong += 1
        print(finding["id"], finding["wait_ns"], value, finding["sql"], sep="\n", file=sys.stderr)
print(f"{shown} statements run")
sys.exit(1 if wrong else 0)
PY
