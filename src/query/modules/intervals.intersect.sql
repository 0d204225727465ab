-- intervals.intersect: intervals cut to one interval.

-- _interval_intersect_single!(ts, dur, table of id, ts, dur) -> id, ts, dur
CREATE PERFETTO MACRO _interval_intersect_single(ts Expr, dur Expr, t TableOrSubquery) RETURNS TableOrSubquery AS (
  SELECT cut.id, max(cut.ts, $ts) AS ts, min(cut.ts + cut.dur, $ts + $dur) - max(cut.ts, $ts) AS dur
  FROM $t AS cut
  WHERE cut.dur >= 0 AND cut.ts < $ts + $dur AND $ts < cut.ts + cut.dur
);
