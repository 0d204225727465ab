-- linux.cpu.utilization.system: how busy the CPUs are.
INCLUDE PERFETTO MODULE linux.cpu.utilization.general;
INCLUDE PERFETTO MODULE linux.cpu.utilization.thread_cpu;

-- cpu_utilization_per_period(interval), table cpu_utilization_per_second -> one row a period.
--   ts                         begin of the period, a multiple of its length
--   utilization                share of the time of all CPUs, 0 to 1; low for the first and the last period, of which
--                              the trace holds a part
--   unnormalized_utilization   share of one CPU's time, 0 to the number of CPUs
CREATE PERFETTO FUNCTION cpu_utilization_per_period(interval LONG)
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM _cpu_avg_utilization_per_period!($interval, (
  SELECT s.ts, s.ts_end FROM sched AS s
  WHERE s.dur != -1 AND s.utid NOT IN (SELECT t.utid FROM thread AS t WHERE t.is_idle)));
CREATE PERFETTO TABLE cpu_utilization_per_second(
  ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM cpu_utilization_per_period(1000000000);

-- cpu_cycles: one row; columns as in cpu_cycles_per_thread_per_cpu.
CREATE PERFETTO TABLE cpu_cycles(
  millicycles LONG, megacycles LONG, runtime DURATION, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT sum(millicycles), CAST(sum(millicycles) / 1e9 AS INT), sum(runtime), min(min_freq), max(max_freq),
       sum(millicycles) / (sum(runtime) / 1000)
FROM cpu_cycles_per_thread_per_cpu;

-- The same within an interval; awake_runtime is the part in which the machine was not suspended.
CREATE PERFETTO FUNCTION cpu_cycles_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(millicycles LONG, megacycles LONG, runtime DURATION, awake_runtime DURATION, min_freq LONG,
              max_freq LONG, avg_freq LONG) AS
SELECT sum(ii.dur * f.freq / 1000), CAST(sum(ii.dur * f.freq / 1000) / 1e9 AS INT), sum(ii.dur),
       sum(to_monotonic(ii.ts + ii.dur) - to_monotonic(ii.ts)), min(f.freq), max(f.freq),
       sum(ii.dur * f.freq / 1000) / (sum(CASE WHEN f.freq IS NOT NULL THEN ii.dur END) / 1000)
FROM _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) AS ii
JOIN _cpu_freq_per_thread AS f ON f.id = ii.id;

-- cpu_utilization_in_interval(ts, dur) -> one row.
--   awake_dur                        ns on CPUs while the machine was not suspended
--   awake_utilization                percent of all CPUs' time in the interval
--   awake_unnormalized_utilization   percent of one CPU's
CREATE PERFETTO FUNCTION cpu_utilization_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(awake_dur LONG, awake_utilization DOUBLE, awake_unnormalized_utilization DOUBLE) AS
SELECT c.awake_runtime,
       round(c.awake_runtime * 100.0 / (to_monotonic($ts + $dur) - to_monotonic($ts))
             / (SELECT max(n.cpu) + 1 FROM cpu AS n), 2),
       round(c.awake_runtime * 100.0 / (to_monotonic($ts + $dur) - to_monotonic($ts)), 2)
FROM cpu_cycles_in_interval($ts, $dur) AS c;

-- cpu_cycles_per_cpu: one row a CPU; columns as in cpu_cycles_per_thread_per_cpu.
CREATE PERFETTO TABLE cpu_cycles_per_cpu(
  ucpu JOINID(cpu.id), cpu LONG, millicycles LONG, megacycles LONG, runtime DURATION, min_freq LONG, max_freq LONG,
  avg_freq LONG) AS
SELECT ucpu, cpu, sum(millicycles), CAST(sum(millicycles) / 1e9 AS INT), sum(runtime), min(min_freq), max(max_freq),
       sum(millicycles) / (sum(runtime) / 1000)
FROM cpu_cycles_per_thread_per_cpu GROUP BY ucpu, cpu ORDER BY ucpu;

-- The same within an interval.
CREATE PERFETTO FUNCTION cpu_cycles_per_cpu_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(ucpu JOINID(cpu.id), cpu LONG, millicycles LONG, megacycles LONG, runtime DURATION, min_freq LONG,
              max_freq LONG, avg_freq LONG) AS
SELECT f.ucpu, f.cpu, sum(ii.dur * f.freq / 1000), CAST(sum(ii.dur * f.freq / 1000) / 1e9 AS INT), sum(ii.dur),
       min(f.freq), max(f.freq), sum(ii.dur * f.freq / 1000) / (sum(CASE WHEN f.freq IS NOT NULL THEN ii.dur END) / 1000)
FROM _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) AS ii
JOIN _cpu_freq_per_thread AS f ON f.id = ii.id
GROUP BY f.ucpu;
