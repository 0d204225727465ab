-- linux.cpu.frequency: stretches of one CPU frequency.
INCLUDE PERFETTO MODULE counters.intervals;

-- cpu_frequency_counters: one row a stretch.
--   id, track_id  the counter's sample that begins it
--   ts, dur       the stretch, ns
--   freq          kHz
--   ucpu, cpu     the CPU
CREATE PERFETTO TABLE cpu_frequency_counters(
  id LONG, track_id JOINID(track.id), ts TIMESTAMP, dur DURATION, freq LONG, ucpu LONG, cpu LONG) AS
SELECT v.id, v.track_id, v.ts, v.dur, CAST(v.value AS INT), c.ucpu, k.cpu
FROM counter_leading_intervals!((
  SELECT s.* FROM counter AS s JOIN cpu_counter_track AS f ON s.track_id = f.id WHERE f.name = 'cpufreq')) AS v
JOIN cpu_counter_track AS k ON v.track_id = k.id
JOIN cpu AS c ON c.cpu = k.cpu AND c.machine_id IS k.machine_id
ORDER BY v.track_id, v.ts;
