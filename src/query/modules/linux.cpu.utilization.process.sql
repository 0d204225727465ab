-- linux.cpu.utilization.process: how busy processes keep the CPUs.
INCLUDE PERFETTO MODULE linux.cpu.utilization.general;
INCLUDE PERFETTO MODULE linux.cpu.utilization.thread_cpu;

-- cpu_process_utilization_per_period(interval, upid), _per_second(upid) -> one row a period in which it ran.
--   ts                         begin of the period, a multiple of its length
--   utilization                share of the time of all CPUs, 0 to 1
--   unnormalized_utilization   share of one CPU's time, 0 to the number of CPUs
CREATE PERFETTO FUNCTION cpu_process_utilization_per_period(interval LONG, upid JOINID(process.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM _cpu_avg_utilization_per_period!($interval, (
  SELECT s.ts, s.ts_end FROM sched AS s JOIN thread AS t ON s.utid = t.utid
  WHERE t.upid = $upid AND NOT coalesce(t.is_idle, 0) AND s.dur != -1));
CREATE PERFETTO FUNCTION cpu_process_utilization_per_second(upid JOINID(process.id))
RETURNS TABLE(ts TIMESTAMP, utilization DOUBLE, unnormalized_utilization DOUBLE) AS
SELECT * FROM cpu_process_utilization_per_period(1000000000, $upid);

-- cpu_cycles_per_process: one row a process; columns as in cpu_cycles_per_thread_per_cpu.
CREATE PERFETTO TABLE cpu_cycles_per_process(
  upid JOINID(process.id), millicycles LONG, megacycles LONG, runtime DURATION, min_freq LONG, max_freq LONG,
  avg_freq LONG) AS
SELECT t.upid, sum(c.millicycles), CAST(sum(c.millicycles) / 1e9 AS INT), sum(c.runtime), min(c.min_freq),
       max(c.max_freq), sum(c.millicycles) / (sum(c.runtime) / 1000)
FROM cpu_cycles_per_thread_per_cpu AS c JOIN thread AS t ON c.utid = t.utid
WHERE t.upid IS NOT NULL GROUP BY t.upid ORDER BY t.upid;

-- The same within an interval; awake_runtime is the part in which the machine was not suspended.
CREATE PERFETTO FUNCTION cpu_cycles_per_process_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(upid JOINID(process.id), millicycles LONG, megacycles LONG, runtime DURATION, awake_runtime DURATION,
              min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT t.upid, sum(ii.dur * f.freq / 1000), CAST(sum(ii.dur * f.freq / 1000) / 1e9 AS INT), sum(ii.dur),
       sum(to_monotonic(ii.ts + ii.dur) - to_monotonic(ii.ts)), min(f.freq), max(f.freq),
       sum(ii.dur * f.freq / 1000) / (sum(CASE WHEN f.freq IS NOT NULL THEN ii.dur END) / 1000)
FROM _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) AS ii
JOIN _cpu_freq_per_thread AS f ON f.id = ii.id
JOIN thread AS t ON f.utid = t.utid
GROUP BY t.upid;

-- cpu_process_utilization_in_interval(ts, dur) -> one row a process.
--   upid, process_name                 the process
--   awake_dur                          ns on CPUs while the machine was not suspended
--   awake_utilization                  percent of all CPUs' time in the interval
--   awake_unnormalized_utilization     percent of one CPU's
CREATE PERFETTO FUNCTION cpu_process_utilization_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(upid JOINID(process.id), process_name STRING, awake_dur LONG, awake_utilization DOUBLE,
              awake_unnormalized_utilization DOUBLE) AS
SELECT c.upid, p.name, c.awake_runtime,
       round(c.awake_runtime * 100.0 / (to_monotonic($ts + $dur) - to_monotonic($ts))
             / (SELECT max(n.cpu) + 1 FROM cpu AS n), 6),
       round(c.awake_runtime * 100.0 / (to_monotonic($ts + $dur) - to_monotonic($ts)), 6)
FROM cpu_cycles_per_process_in_interval($ts, $dur) AS c
JOIN process AS p ON c.upid = p.upid;
