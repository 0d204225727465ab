-- id: frequency.below_max
-- severity: crit
-- needs: counters cpu_frequency (power/cpu_frequency, or cpufreq of category stats)
-- has: SELECT count(*) > 0 FROM cpu_counter_track WHERE name IN ('cpufreq', 'cpu_frequency')
-- meaning: the victim's CPU ran below the highest frequency that was seen in the recording while the victim was on it
-- remedy: look for heat and power limits (turbostat, dmesg), and at the governor: cpupower frequency-set -g performance
WITH freq AS (
  SELECT t.cpu, c.ts, lead(c.ts, 1, w.end_ts) OVER (PARTITION BY t.cpu ORDER BY c.ts, c.id) AS next_ts, c.value AS khz,
         max(c.value) OVER () AS max_khz
  FROM counter AS c JOIN cpu_counter_track AS t ON c.track_id = t.id, explain_window AS w
  WHERE t.name IN ('cpufreq', 'cpu_frequency') AND c.value > 0
), slow AS (SELECT * FROM freq WHERE khz < 0.9 * max_khz), run AS (
  SELECT s.utid, s.cpu, greatest(s.ts, w.begin_ts) AS ts,
         least(CASE WHEN s.dur < 0 THEN w.end_ts ELSE s.ts + s.dur END, w.end_ts) AS end_ts
  FROM sched AS s JOIN explain_victim AS v ON s.utid = v.utid, explain_window AS w
  WHERE s.ts < w.end_ts AND (s.dur < 0 OR s.ts + s.dur > w.begin_ts)
)
SELECT r.utid, 'device' AS culprit_type, NULL::BIGINT AS culprit_utid, 'the CPU frequency' AS culprit,
       ((least(r.end_ts, f.next_ts) - greatest(r.ts, f.ts)) * (1 - f.khz / f.max_khz))::BIGINT AS ns,
       greatest(r.ts, f.ts) AS ts, 'by slower CPUs' AS what,
       printf('CPU %d ran with %d MHz, the highest seen is %d MHz', r.cpu, (f.khz / 1000)::BIGINT,
              (f.max_khz / 1000)::BIGINT) AS detail
FROM run AS r JOIN slow AS f ON r.cpu = f.cpu AND r.ts < f.next_ts AND r.end_ts > f.ts
