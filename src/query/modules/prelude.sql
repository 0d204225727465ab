-- prelude: what PerfettoSQL has without an INCLUDE, beyond the tables (tables/schema).

-- Casts as macros, so that they can stand in any expression.
CREATE PERFETTO MACRO cast_int(value Expr) RETURNS Expr AS CAST($value AS INT);
CREATE PERFETTO MACRO cast_double(value Expr) RETURNS Expr AS CAST($value AS REAL);
CREATE PERFETTO MACRO cast_string(value Expr) RETURNS Expr AS CAST($value AS TEXT);

-- EXTRACT_ARG(arg_set_id, key), by the kind of value that the key has.
CREATE PERFETTO FUNCTION __extract_int(arg_set_id LONG, key STRING) RETURNS LONG AS
SELECT any_value(a.int_value) FROM args AS a WHERE a.arg_set_id = $arg_set_id AND a.key = $key;
CREATE PERFETTO FUNCTION __extract_real(arg_set_id LONG, key STRING) RETURNS DOUBLE AS
SELECT any_value(a.real_value) FROM args AS a WHERE a.arg_set_id = $arg_set_id AND a.key = $key;
CREATE PERFETTO FUNCTION __extract_text(arg_set_id LONG, key STRING) RETURNS STRING AS
SELECT any_value(a.display_value) FROM args AS a WHERE a.arg_set_id = $arg_set_id AND a.key = $key;

-- The value of a key of the metadata table, as text.
CREATE PERFETTO FUNCTION extract_metadata(name STRING) RETURNS STRING AS
SELECT coalesce(m.str_value, CAST(m.int_value AS TEXT)) FROM metadata AS m WHERE m.name = $name LIMIT 1;

-- A time of the trace on other clocks, by the last snapshot before it (the first one for earlier times); NULL without
-- a snapshot of that clock.
CREATE PERFETTO FUNCTION to_monotonic(ts TIMESTAMP) RETURNS LONG AS
SELECT $ts + coalesce(max_by(c.clock_value - c.ts, c.ts) FILTER (WHERE c.ts <= $ts), min_by(c.clock_value - c.ts, c.ts))
FROM clock_snapshot AS c WHERE c.clock_name = 'MONOTONIC';
CREATE PERFETTO FUNCTION to_realtime(ts TIMESTAMP) RETURNS LONG AS
SELECT $ts + coalesce(max_by(c.clock_value - c.ts, c.ts) FILTER (WHERE c.ts <= $ts), min_by(c.clock_value - c.ts, c.ts))
FROM clock_snapshot AS c WHERE c.clock_name = 'REALTIME';

-- The wall clock's time as ISO 8601, UTC, to the nanosecond.
CREATE PERFETTO FUNCTION abs_time_str(ts TIMESTAMP) RETURNS STRING AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', to_realtime($ts) / 1000000000, 'unixepoch')
  || printf('.%09d', to_realtime($ts) % 1000000000);

-- How long of the second interval lies in the first, ns.
CREATE PERFETTO FUNCTION spans_overlapping_dur(ts1 LONG, dur1 LONG, ts2 LONG, dur2 LONG) RETURNS LONG AS
SELECT max(0, min($ts1 + $dur1, $ts2 + $dur2) - max($ts1, $ts2));

-- Slices around and inside a slice, by parent_id.
CREATE PERFETTO FUNCTION ancestor_slice(slice_id LONG)
RETURNS TABLE(id LONG, ts LONG, dur LONG, track_id LONG, category STRING, name STRING, depth LONG, parent_id LONG,
              arg_set_id LONG, thread_ts LONG, thread_dur LONG, thread_instruction_count LONG,
              thread_instruction_delta LONG) AS
WITH RECURSIVE up(id) AS (
  SELECT s.parent_id FROM slice AS s WHERE s.id = $slice_id
  UNION ALL
  SELECT s.parent_id FROM slice AS s JOIN up ON s.id = up.id
)
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id, s.thread_ts,
       s.thread_dur, s.thread_instruction_count, s.thread_instruction_delta
FROM slice AS s JOIN up ON s.id = up.id;
CREATE PERFETTO FUNCTION descendant_slice(slice_id LONG)
RETURNS TABLE(id LONG, ts LONG, dur LONG, track_id LONG, category STRING, name STRING, depth LONG, parent_id LONG,
              arg_set_id LONG, thread_ts LONG, thread_dur LONG, thread_instruction_count LONG,
              thread_instruction_delta LONG) AS
WITH RECURSIVE down(id) AS (
  SELECT s.id FROM slice AS s WHERE s.parent_id = $slice_id
  UNION ALL
  SELECT s.id FROM slice AS s JOIN down ON s.parent_id = down.id
)
SELECT s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id, s.thread_ts,
       s.thread_dur, s.thread_instruction_count, s.thread_instruction_delta
FROM slice AS s JOIN down ON s.id = down.id;
