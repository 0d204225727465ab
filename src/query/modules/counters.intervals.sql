-- counters.intervals: counters as intervals of one value.

-- counter_leading_intervals!(table of id, ts, track_id, value) -> a row for the first and the last sample of a run of
-- equal values, and one for all between.
--   id, ts, track_id, value  of the sample that begins it
--   dur          until the next row of the track; the last one lasts to the end of the trace
--   next_value   value of the next row; NULL for the last
--   delta_value  value less that of the row before; NULL for the first
CREATE PERFETTO MACRO counter_leading_intervals(counter_table TableOrSubquery) RETURNS TableOrSubquery AS (
  SELECT kept.id, kept.ts,
         lead(kept.ts, 1, trace_end()) OVER (PARTITION BY kept.track_id ORDER BY kept.ts, kept.id) - kept.ts AS dur,
         kept.track_id, kept.value,
         lead(kept.value) OVER (PARTITION BY kept.track_id ORDER BY kept.ts, kept.id) AS next_value,
         kept.value - lag(kept.value) OVER (PARTITION BY kept.track_id ORDER BY kept.ts, kept.id) AS delta_value
  FROM (
    SELECT sample.id, sample.ts, sample.track_id, CAST(sample.value AS REAL) AS value,
           lag(sample.value) OVER (PARTITION BY sample.track_id ORDER BY sample.ts, sample.id) AS before,
           lag(sample.value, 2) OVER (PARTITION BY sample.track_id ORDER BY sample.ts, sample.id) AS before_that,
           lead(sample.value) OVER (PARTITION BY sample.track_id ORDER BY sample.ts, sample.id) AS after
    FROM $counter_table AS sample
  ) AS kept
  WHERE kept.before IS NOT kept.value OR kept.after IS NOT kept.value OR kept.before_that IS NOT kept.value
  ORDER BY kept.track_id, kept.ts, kept.id
);
