#!/usr/bin/env bash
# culprit query, load, export and what explain refuses, as they are typed, on a small trace in ftrace's text whose rows can
# be counted by hand.
#   tests/query_test.sh PROGRAM
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAIL: $*" >&2; exit 1; }

# expect NAME WANTED COMMAND...: the command's standard output.
expect() {
  local name=$1 wanted=$2 got
  shift 2
  got=$("$@" 2>err) || fail "$name: status $?: $(<err)"
  [[ $got == "$wanted" ]] || fail "$name: wanted:"$'\n'"$wanted"$'\n'"got:"$'\n'"$got"
}
# refuse NAME STATUS PATTERN COMMAND...: fails so, with one line that matches (and the place below).
refuse() {
  local name=$1 wanted=$2 pattern=$3 status=0
  shift 3
  "$@" >out 2>err </dev/null || status=$?
  [[ $status == "$wanted" ]] || fail "$name: status $status, not $wanted: $(<err)"
  grep -qE "$pattern" err || fail "$name: $(<err)"
  [[ $(grep -c '^culprit: ' err) == 1 ]] || fail "$name: not one line: $(<err)"
}

# CPU 0: a (pid 10) runs 1.000 to 1.003 and sleeps, b (pid 20) runs to 1.005 and waits in D, a again.
cat >t.txt <<'END'
# tracer: nop
#
          <idle>-0     [000] d... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a,"x" next_pid=10 next_prio=120
           a,"x"-10    [000] d... 1.003000: sched_switch: prev_comm=a,"x" prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=20 next_prio=110
               b-20    [000] d... 1.005000: sched_switch: prev_comm=b prev_pid=20 prev_prio=110 prev_state=D ==> next_comm=a,"x" next_pid=10 next_prio=120
END

sql='SELECT t.name, s.dur, s.end_state FROM sched s JOIN thread t USING (utid) ORDER BY s.ts'
table='name   dur      end_state
-----  -------  ---------'
csv='name,dur,end_state
"a,""x""",3000000,S
b,2000000,D
"a,""x""",-1,'
expect "csv" "$csv" "$program" query t.txt "$sql" --format csv
expect "options first" "$csv" "$program" query --format csv t.txt "$sql"
expect "trace_processor's order" "$csv" "$program" query --format csv --query "$sql" t.txt
expect "-Q" "$csv" "$program" query -Q "$sql" t.txt --format csv
expect "SQL before the trace" "$csv" "$program" query "$sql" t.txt --format csv
printf '%s' "$sql" >q.sql
expect "-f" "$csv" "$program" query t.txt -f q.sql --format csv
expect "-q" "$csv" "$program" query -q q.sql t.txt --format csv
got=$("$program" query t.txt --format csv <q.sql) || fail "SQL from standard input"
[[ $got == "$csv" ]] || fail "SQL from standard input: $got"
got=$("$program" query t.txt --format csv -f - <q.sql) || fail "-f -"
[[ $got == "$csv" ]] || fail "-f -: $got"
[[ $("$program" query t.txt "$sql" | head -2 | tr -d ' ') == "$(tr -d ' ' <<<"${table/name  /name  }")" ]] ||
  "$program" query t.txt "$sql" | grep -q '^a,"x"  *3000000  S$' || fail "table"
expect "ndjson" '{"name":"a,\"x\"","dur":3000000,"end_state":"S"}' \
  "$program" query t.txt "$sql LIMIT 1" --format ndjson
expect "several results" $'1\n-\n1\n\n2\n-\n2' "$program" query t.txt 'SELECT 1 AS "1"; SELECT 2 AS "2"'

# Files appear whole, in the format of their ending; what was there stays when the query fails.
"$program" query t.txt "$sql" -o rows.csv || fail "-o"
[[ $(<rows.csv) == "$csv" ]] || fail "-o: $(<rows.csv)"
refuse "failing query keeps the file" 1 'no_such_table' \
  "$program" query t.txt "SELECT * FROM no_such_table" -o rows.csv
[[ $(<rows.csv) == "$csv" ]] || fail "a failing query changed its file"
"$program" query t.txt "$sql" -o rows.parquet || fail "parquet"
[[ $(head -c 4 rows.parquet) == PAR1 && $(tail -c 4 rows.parquet) == PAR1 ]] || fail "no parquet file"

# Databases.
"$program" load t.txt -o t.duckdb 2>err || fail "load: $(<err)"
expect "database" "$csv" "$program" query t.duckdb "$sql" --format csv
expect "raw events of a database" $'name\nsched_switch' \
  "$program" query t.duckdb "SELECT DISTINCT name FROM ftrace_event" --format csv
refuse "load of a database" 1 'is a database already' "$program" load t.duckdb -o u.duckdb
[[ ! -e u.duckdb ]] || fail "a file of a load that failed"
cp t.duckdb before.duckdb
"$program" query t.duckdb "CREATE PERFETTO TABLE mine AS SELECT 1 AS x; SELECT * FROM mine" >out ||
  fail "a table of the user's own"
cmp t.duckdb before.duckdb || fail "a query changed its database"

# Exports.
"$program" export t.txt --format duckdb -o e.duckdb
expect "exported database" "$csv" "$program" query e.duckdb "$sql" --format csv
"$program" export t.duckdb --format duckdb -o f.duckdb
cmp t.duckdb f.duckdb || fail "a copied database"
"$program" export t.txt --format parquet -o tables
[[ -s tables/sched.parquet && -s tables/ftrace_event.parquet && ! -e tables/slices.parquet ]] ||
  fail "parquet: $(ls tables)"
refuse "folder that is there" 1 'not empty' "$program" export t.txt --format parquet -o tables
"$program" export t.txt --format json -o t.json
python3 - t.json <<'END' || fail "json: $(<t.json)"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
runs = [e for e in events if e.get("cat") == "sched"]
assert [(e["ph"], e["name"], e["ts"], e.get("dur")) for e in runs] == [
    ("X", 'a,"x"', 1000000, 3000), ("X", "b", 1003000, 2000), ("B", 'a,"x"', 1005000, None)], runs
END
"$program" export t.txt --format ftrace-text -o t2.txt
expect "text reads back the same" "$csv" "$program" query t2.txt "$sql" --format csv
"$program" export t.duckdb --format ftrace-text -o - >t3.txt
cmp t2.txt t3.txt || fail "text of the database"

# Errors: one line and a remedy; the place in the SQL under it.
refuse "syntax" 1 '^culprit: .*syntax error' "$program" query t.txt "SELECT 1 FROM"
refuse "column" 1 '^culprit: .*nothing' "$program" query t.txt "SELECT nothing FROM sched"
[[ $(sed -n 2,3p err) == $'  SELECT nothing FROM sched\n         ^' ]] || fail "place: $(<err)"
: >empty
head -c 5000 /dev/zero | tr '\0' 'x' >noise
refuse "no trace" 2 'no trace is named' "$program" query
refuse "three words" 2 'one argument too many' "$program" query t.txt "SELECT 1" more
refuse "SQL twice" 2 'both as text and as a file' "$program" query t.txt -Q "SELECT 1" -f q.sql
refuse "format" 2 'xml' "$program" query t.txt "SELECT 1" --format xml
refuse "parquet to a terminal" 2 'name a file' "$program" query t.txt "SELECT 1" --format parquet
refuse "missing" 1 'No such file' "$program" query missing "SELECT 1"
refuse "empty" 1 'empty' "$program" query empty "SELECT 1"
refuse "noise" 1 'noise' "$program" query noise "SELECT 1"
refuse "folder" 1 'folder|directory|is not a file' "$program" query . "SELECT 1"
refuse "missing SQL" 1 'no.sql.*No such file' "$program" query t.txt -f no.sql
refuse "unwritable" 1 'no/such' "$program" query t.txt "SELECT 1" -o no/such/file.csv
refuse "load: no output" 2 'output|-o' "$program" load t.txt
refuse "load: missing" 1 'No such file' "$program" load missing -o m.duckdb
refuse "load: noise" 1 'noise' "$program" load noise -o m.duckdb
refuse "load: unwritable" 1 'no/such' "$program" load t.txt -o no/such/m.duckdb
refuse "export: format" 2 'xml' "$program" export t.txt --format xml -o x
# Databases of another version of culprit and of other programs.
"$program" query t.txt "ATTACH 'old.duckdb' AS old; CREATE TABLE old.__culprit_schema AS SELECT 1 AS version, true AS raw_loaded;
  ATTACH 'foreign.duckdb' AS other; CREATE TABLE other.t AS SELECT 1 AS x" >out 2>err || fail "databases to refuse: $(<err)"
for verb in query explain 'export --format json -o -'; do
  refuse "another version: $verb" 1 'old.duckdb: .* version 1,.*culprit load' "$program" $verb old.duckdb
  refuse "foreign database: $verb" 1 'foreign.duckdb: .*not a loaded trace.*culprit load' "$program" $verb foreign.duckdb
done
# What cannot be explained is no good health.
printf '%s\n' '# tracer: nop' '#' '  a-10    [000] .... 1.000000: tracing_mark_write: B|10|step' \
  '  a-10    [000] .... 2.000000: tracing_mark_write: E|10' >marks.txt
refuse "explain: nobody fits" 1 'no thread .* fits --thread nobody' "$program" explain t.txt --thread nobody
refuse "explain: no pid" 1 'fits --pid 4000000' "$program" explain t.txt --pid 4000000
refuse "explain: no switches" 1 'no scheduling events' "$program" explain marks.txt
refuse "a folder" 1 'a directory, not a trace; name a file' "$program" query . "SELECT 1"
refuse "no such file" 1 'missing: No such file.*check the path' "$program" query missing "SELECT 1"
head -c 5000 t.duckdb >cut.duckdb
refuse "cut database" 1 'cut.duckdb' "$program" query cut.duckdb "SELECT 1"
ls -A | grep -E '\.tmp\.|^m\.duckdb' && fail "something was left behind"
echo ok
