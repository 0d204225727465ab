-- intervals.overlap: how many intervals are open at each time, and intervals that touch made one.

-- intervals_overlap_count!(table, ts, dur) -> ts, value: a row where the number of open intervals may change.
--   ts     when
--   value  intervals open from here on; one of dur -1 never ends
CREATE PERFETTO MACRO intervals_overlap_count(segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName)
RETURNS TableOrSubquery AS (
  SELECT edge.ts, sum(edge.change) OVER (ORDER BY edge.ts) AS value
  FROM (
    SELECT both_ends.ts, sum(both_ends.step) AS change
    FROM (
      SELECT begins.$ts_column AS ts, 1 AS step FROM $segments AS begins
      UNION ALL
      SELECT ends.$ts_column + ends.$dur_column, -1 FROM $segments AS ends WHERE ends.$dur_column != -1
    ) AS both_ends
    GROUP BY both_ends.ts
  ) AS edge
  ORDER BY edge.ts
);

-- The same for each value of a column -> ts, value, group_name.
CREATE PERFETTO MACRO intervals_overlap_count_by_group(segments TableOrSubquery, ts_column ColumnName,
                                                       dur_column ColumnName, group_column ColumnName)
RETURNS TableOrSubquery AS (
  SELECT edge.ts, sum(edge.change) OVER (PARTITION BY edge.group_name ORDER BY edge.ts) AS value, edge.group_name
  FROM (
    SELECT both_ends.ts, both_ends.group_name, sum(both_ends.step) AS change
    FROM (
      SELECT begins.$ts_column AS ts, begins.$group_column AS group_name, 1 AS step FROM $segments AS begins
      UNION ALL
      SELECT ends.$ts_column + ends.$dur_column, ends.$group_column, -1 FROM $segments AS ends
      WHERE ends.$dur_column != -1
    ) AS both_ends
    GROUP BY both_ends.ts, both_ends.group_name
  ) AS edge
  ORDER BY edge.ts, edge.group_name
);

-- interval_merge_overlapping!(table, epsilon) -> ts, dur: the least set of intervals that covers the same time; those
-- no further apart than epsilon become one. Intervals with dur -1 are left out.
CREATE PERFETTO MACRO interval_merge_overlapping(intervals TableOrSubquery, epsilon Expr)
RETURNS TableOrSubquery AS (
  SELECT min(numbered.ts) AS ts, max(numbered.ts + numbered.dur) - min(numbered.ts) AS dur
  FROM (
    SELECT apart.ts, apart.dur, sum(apart.is_new) OVER (ORDER BY apart.ts, apart.dur) AS island
    FROM (
      SELECT each.ts, each.dur,
             CASE WHEN each.ts <= $epsilon + max(each.ts + each.dur) OVER (
               ORDER BY each.ts, each.dur ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS is_new
      FROM $intervals AS each WHERE each.dur >= 0
    ) AS apart
  ) AS numbered
  GROUP BY numbered.island
  ORDER BY 1
);

-- interval_merge_overlapping_partitioned!(table, (columns)) -> ts, dur, columns: the same within each partition.
CREATE PERFETTO MACRO interval_merge_overlapping_partitioned(intervals TableOrSubquery,
                                                             partition_columns ColumnNameList)
RETURNS TableOrSubquery AS (
  WITH apart AS (
    SELECT *, CASE WHEN ts <= max(ts + dur) OVER (
                PARTITION BY metasql_unparenthesize_exprlist!($partition_columns) ORDER BY ts, dur
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS is_new
    FROM $intervals WHERE dur >= 0
  ),
  numbered AS (
    SELECT *, sum(is_new) OVER (
                PARTITION BY metasql_unparenthesize_exprlist!($partition_columns) ORDER BY ts, dur) AS island
    FROM apart
  )
  SELECT min(ts) AS ts, max(ts + dur) - min(ts) AS dur, metasql_unparenthesize_exprlist!($partition_columns)
  FROM numbered
  GROUP BY metasql_unparenthesize_exprlist!($partition_columns), island
);

-- _intervals_overlap_in_table!(table) -> has_overlaps: 1 when any two intervals overlap.
CREATE PERFETTO MACRO _intervals_overlap_in_table(intervals TableOrSubquery) RETURNS Expr AS (
  SELECT coalesce(max(near.ts_end > near.next_ts), 0) AS has_overlaps
  FROM (SELECT each.ts + each.dur AS ts_end, lead(each.ts) OVER (ORDER BY each.ts) AS next_ts
        FROM $intervals AS each WHERE each.dur != -1) AS near
);
