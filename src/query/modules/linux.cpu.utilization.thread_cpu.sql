-- linux.cpu.utilization.thread_cpu: CPU cycles of threads on each CPU.
INCLUDE PERFETTO MODULE linux.cpu.utilization.general;

-- cpu_cycles_per_thread_per_cpu: one row a thread and CPU.
--   utid, ucpu, cpu               the thread and the CPU
--   millicycles, megacycles       cycles, from the time at each frequency; NULL where that was not recorded
--   runtime                       ns on the CPU
--   min_freq, max_freq, avg_freq  kHz while it ran
CREATE PERFETTO TABLE cpu_cycles_per_thread_per_cpu(
  utid JOINID(thread.id), ucpu JOINID(cpu.id), cpu LONG, millicycles LONG, megacycles LONG, runtime DURATION,
  min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT f.utid, f.ucpu, any_value(c.cpu), sum(f.dur * f.freq / 1000), CAST(sum(f.dur * f.freq / 1000) / 1e9 AS INT),
       sum(f.dur), min(f.freq), max(f.freq), sum(f.dur * f.freq / 1000) / (sum(f.dur) / 1000)
FROM _cpu_freq_per_thread AS f JOIN cpu AS c ON f.ucpu = c.ucpu
GROUP BY f.utid, f.ucpu ORDER BY f.utid, f.ucpu;

-- The same within an interval.
CREATE PERFETTO FUNCTION cpu_cycles_per_thread_per_cpu_in_interval(ts TIMESTAMP, dur LONG)
RETURNS TABLE(utid JOINID(thread.id), ucpu JOINID(cpu.id), cpu LONG, millicycles LONG, megacycles LONG,
              runtime DURATION, min_freq LONG, max_freq LONG, avg_freq LONG) AS
SELECT f.utid, f.ucpu, any_value(c.cpu), sum(ii.dur * f.freq / 1000), CAST(sum(ii.dur * f.freq / 1000) / 1e9 AS INT),
       sum(ii.dur), min(f.freq), max(f.freq), sum(ii.dur * f.freq / 1000) / (sum(ii.dur) / 1000)
FROM _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) AS ii
JOIN _cpu_freq_per_thread AS f ON f.id = ii.id
JOIN cpu AS c ON f.ucpu = c.ucpu
GROUP BY f.utid, f.ucpu;
