-- linux.cpu.idle: stretches of one idle state of a CPU.
INCLUDE PERFETTO MODULE counters.intervals;

-- cpu_idle_counters: one row a stretch.
--   id, track_id  the counter's sample that begins it
--   ts, dur       the stretch, ns
--   idle          -1 awake, 0 and above the deeper the more
--   cpu           the CPU
CREATE PERFETTO TABLE cpu_idle_counters(
  id LONG, track_id JOINID(track.id), ts TIMESTAMP, dur DURATION, idle LONG, cpu LONG) AS
SELECT v.id, v.track_id, v.ts, v.dur,
       -- The kernel's -1, where it was recorded as 32 bits without a sign.
       CASE v.value WHEN 4294967295 THEN -1 ELSE CAST(v.value AS INT) END, k.cpu
FROM counter_leading_intervals!((
  SELECT s.* FROM counter AS s JOIN cpu_counter_track AS i ON s.track_id = i.id WHERE i.name = 'cpuidle')) AS v
JOIN cpu_counter_track AS k ON v.track_id = k.id
ORDER BY v.track_id, v.ts;
