-- linux.cpu.utilization.thread: how busy threads keep the CPUs.
INCLUDE PERFETTO MODULE linux.cpu.utilization.general;
INCLUDE PERFETTO MODULE linux.cpu.utilization.thread_cpu;

-- cpu_thread_utilization_per_period(interval, utid), _per_second(utid) -> one row a period in which the thread ran.
--   ts                         begin of the period, a multiple of its length
--   utilization                share of the time of all CPUs, 0 to 1
--   unnormalized_utilization   share of one CPU's time
CREATE PERFETTO FUNCTION cpu_thread_utilization_per_period(interval LONG, utid JOINID(thread.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM _cpu_avg_utilization_per_period!($interval, (
  SELECT s.ts, s.ts_end FROM sched AS s WHERE s.utid = $utid AND s.dur != -1));
CREATE PERFETTO FUNCTION cpu_thread_utilization_per_second(utid JOINID(thread.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM cpu_thread_utilization_per_period(1000000000, $utid);

-- cpu_cycles_per_thread: one row a thread; columns as in cpu_cycles_per_thread_per_cpu.
CREATE PERFETTO TABLE cpu_cycles_per_thread(
  utid JOINID(thread.id), millicycles LONG, megacycles LONG, runtime DURATION, min_freq LONG, max_freq LONG,
  avg_freq LONG) AS
SELECT utid, sum(millicycles), CAST(sum(millicycles) / 1e9 AS INT), sum(runtime), min(min_freq), max(max_freq),
       sum(millicycles) / (sum(runtime) / 1000)
FROM cpu_cycles_per_thread_per_cpu GROUP BY utid ORDER BY utid;

-- The same within an interval; awake_runtime is the part in which the machine was not suspended.
CREATE PERFETTO FUNCTION cpu_cycles_per_thread_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(utid JOINID(thread.id), millicycles LONG, megacycles LONG, runtime DURATION, awake_runtime DURATION,
              min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT f.utid, sum(ii.dur * f.freq / 1000), CAST(sum(ii.dur * f.freq / 1000) / 1e9 AS INT), sum(ii.dur),
       sum(to_monotonic(ii.ts + ii.dur) - to_monotonic(ii.ts)), min(f.freq), max(f.freq),
       sum(ii.dur * f.freq / 1000) / (sum(CASE WHEN f.freq IS NOT NULL THEN ii.dur END) / 1000)
FROM _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) AS ii
JOIN _cpu_freq_per_thread AS f ON f.id = ii.id
GROUP BY f.utid;

-- cpu_thread_utilization_in_interval(ts, dur) -> one row a thread.
--   upid, utid, thread_name            the thread
--   awake_dur                          ns on CPUs while the machine was not suspended
--   awake_utilization                  percent of all CPUs' time in the interval
--   awake_unnormalized_utilization     percent of one CPU's
CREATE PERFETTO FUNCTION cpu_thread_utilization_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(upid JOINID(process.id), utid JOINID(thread.id), thread_name STRING, awake_dur LONG,
              awake_utilization DOUBLE, awake_unnormalized_utilization DOUBLE) AS
SELECT t.upid, c.utid, t.name, c.awake_runtime,
       round(c.awake_runtime * 100.0 / (to_monotonic($ts + $dur) - to_monotonic($ts))
             / (SELECT max(n.cpu) + 1 FROM cpu AS n), 6),
       round(c.awake_runtime * 100.0 / (to_monotonic($ts + $dur) - to_monotonic($ts)), 6)
FROM cpu_cycles_per_thread_in_interval($ts, $dur) AS c
JOIN thread AS t ON c.utid = t.utid;
