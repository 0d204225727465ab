-- linux.cpu.utilization.slice: CPU cycles of slices of threads.
INCLUDE PERFETTO MODULE linux.cpu.utilization.general;
INCLUDE PERFETTO MODULE slices.with_context;

-- _known_cycles: what each thread ran at known frequencies, with sums over all that came before.
CREATE PERFETTO TABLE _known_cycles AS
SELECT utid, ts, ts + dur AS ts_end, freq, dur * freq / 1000 AS millicycles,
       sum(dur) OVER earlier - dur AS dur_before, sum(dur * freq / 1000) OVER earlier AS millicycles_with
FROM _cpu_freq_per_thread WHERE freq IS NOT NULL AND dur > 0
WINDOW earlier AS (PARTITION BY utid ORDER BY ts);

-- _cycles_of_slices!(table of id, ts, dur, utid) -> id, millicycles: for slices that ran all the time, at frequencies
-- that are known. b is the running that the slice begins in, e the one that it ends in.
CREATE PERFETTO MACRO _cycles_of_slices(slices TableOrSubquery) RETURNS TableOrSubquery AS (
  SELECT s.id,
         CASE WHEN b.ts = e.ts THEN s.dur * b.freq / 1000
              ELSE (b.ts_end - s.ts) * b.freq / 1000 + (e.millicycles_with - e.millicycles - b.millicycles_with)
                   + (s.ts + s.dur - e.ts) * e.freq / 1000
         END AS millicycles
  FROM $slices AS s
  ASOF JOIN _known_cycles AS b ON b.utid = s.utid AND s.ts >= b.ts
  ASOF JOIN _known_cycles AS e ON e.utid = s.utid AND s.ts + s.dur > e.ts
  WHERE s.dur > 0
    AND (e.dur_before + min(s.ts + s.dur, e.ts_end) - e.ts) - (b.dur_before + min(s.ts, b.ts_end) - b.ts) = s.dur
);

-- cpu_cycles_per_thread_slice: one row a slice of thread_slice.
--   id, name, utid, thread_name, upid, process_name   as there
--   millicycles, megacycles   cycles while it lasted; NULL when it did not run all the time or at frequencies that are
--                             not known
CREATE PERFETTO TABLE cpu_cycles_per_thread_slice(
  id JOINID(slice.id), name STRING, utid JOINID(thread.id), thread_name STRING, upid JOINID(process.id),
  process_name STRING, millicycles LONG, megacycles LONG) AS
SELECT s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, c.millicycles, CAST(c.millicycles / 1e9 AS INT)
FROM thread_slice AS s LEFT JOIN _cycles_of_slices!(thread_slice) AS c ON s.id = c.id
ORDER BY s.id;

-- The same for the parts of slices within an interval.
CREATE PERFETTO FUNCTION cpu_cycles_per_thread_slice_in_interval(ts TIMESTAMP, dur DURATION)
RETURNS TABLE(id JOINID(slice.id), name STRING, utid JOINID(thread.id), thread_name STRING, upid JOINID(process.id),
              process_name STRING, millicycles LONG, megacycles LONG) AS
WITH cut AS (
  SELECT i.id, i.ts, i.dur, o.utid
  FROM _interval_intersect_single!($ts, $dur, (SELECT w.id, w.ts, w.dur FROM thread_slice AS w WHERE w.dur > 0)) AS i
  JOIN thread_slice AS o ON o.id = i.id
)
SELECT s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, c.millicycles, CAST(c.millicycles / 1e9 AS INT)
FROM cut JOIN thread_slice AS s ON s.id = cut.id LEFT JOIN _cycles_of_slices!(cut) AS c ON s.id = c.id;
