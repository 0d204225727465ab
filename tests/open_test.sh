#!/usr/bin/env bash
# culprit open, as it is typed: the printed address gives the file to Perfetto's page, then it ends.
#   tests/open_test.sh PROGRAM
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

head -c 100000 /dev/urandom >"$work/it's a <trace>.pftrace"
"$program" open --port 0 "$work/it's a <trace>.pftrace" >"$work/out" 2>"$work/err" &
server=$!
for _ in {1..100}; do [[ -s $work/out ]] && break; sleep 0.05; done
address=$(<"$work/out")
pattern='^https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:([0-9]+)(/[0-9a-f]{32}/it_s_a__trace_\.pftrace)$'
[[ $address =~ $pattern ]] || fail "address: $address"
port=${BASH_REMATCH[1]} path=${BASH_REMATCH[2]}

exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nOrigin: https://ui.perfetto.dev\r\n\r\n' "$path" "$port" >&3
cat <&3 >"$work/answer"
exec 3>&-
grep -qa '^Access-Control-Allow-Origin: https://ui.perfetto.dev' "$work/answer" || fail "no CORS header"
tail -c 100000 "$work/answer" | cmp - "$work/it's a <trace>.pftrace" || fail "other bytes"
wait "$server" || fail "exit status $?"

status=0
"$program" open "$work" 2>"$work/err" || status=$?
[[ $status == 1 ]] || fail "a folder: status $status"
grep -q 'is not a file' "$work/err" || fail "a folder: $(<"$work/err")"
status=0
"$program" open --ui nonsense "$work/out" 2>"$work/err" || status=$?
[[ $status == 2 ]] || fail "--ui nonsense: status $status"
: >"$work/empty"
status=0
"$program" open "$work/empty" 2>"$work/err" || status=$?
[[ $status == 1 ]] || fail "an empty file: status $status"
echo ok
