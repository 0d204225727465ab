-- id: checkpoint.writer
-- severity: crit
-- needs: block/block_rq_*, sched/sched_switch
-- has: SELECT count(*) > 0 FROM block_io
-- meaning: a process writes in bursts at regular intervals, as checkpoints are, and the victim waited in D for requests of a disk during them
-- remedy: write checkpoints to another disk, at a lower rate (io.max), or in another process that the training loop doesn't wait for
WITH written AS (
  SELECT t.upid, b.device, b.ts, b.complete_ts, b.bytes
  FROM explain_window AS w CROSS JOIN block_io AS b JOIN thread AS t ON b.utid = t.utid
  JOIN process AS p ON t.upid = p.upid LEFT JOIN process AS up ON p.parent_upid = up.upid
  WHERE b.op LIKE '%W%' AND b.complete_ts IS NOT NULL AND b.ts < w.end_ts AND b.complete_ts > w.begin_ts
    AND p.pid <> 2 AND coalesce(up.pid, 0) <> 2
), gap AS (
  SELECT *, ts - max(complete_ts) OVER (PARTITION BY upid, device ORDER BY ts, complete_ts
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns FROM written
), numbered AS (
  SELECT *, sum(CASE WHEN gap_ns > 300000000 THEN 1 ELSE 0 END) OVER (PARTITION BY upid, device ORDER BY ts, complete_ts
         ROWS UNBOUNDED PRECEDING) AS burst FROM gap
), burst AS (
  SELECT upid, device, burst, min(ts) AS ts, max(complete_ts) AS end_ts, sum(bytes) AS bytes
  FROM numbered GROUP BY upid, device, burst HAVING sum(bytes) >= 4000000
), spaced AS (
  SELECT *, ts - lag(ts) OVER (PARTITION BY upid, device ORDER BY ts) AS period_ns FROM burst
), writer AS (
  SELECT upid, device, count(*) AS bursts, avg(period_ns) AS period_ns, avg(end_ts - ts) AS burst_ns, sum(bytes) AS bytes
  FROM spaced GROUP BY upid, device
  HAVING count(*) >= 3 AND coalesce(stddev_pop(period_ns), 0) < 0.5 * avg(period_ns) AND avg(end_ts - ts) < 0.9 * avg(period_ns)
), wait AS (
  SELECT d.utid, d.ts, d.ts + d.dur AS end_ts
  FROM thread_state AS d JOIN explain_victim AS v ON d.utid = v.utid, explain_window AS w
  WHERE d.state LIKE 'D%' AND d.dur > 0 AND d.ts >= w.begin_ts AND d.ts + d.dur <= w.end_ts
), done AS (
  SELECT b.device, b.complete_ts FROM block_io AS b WHERE b.complete_ts IS NOT NULL
), ended AS (
  SELECT x.utid, x.ts, x.end_ts, r.device FROM wait AS x ASOF JOIN done AS r ON x.end_ts >= r.complete_ts
  WHERE x.end_ts - r.complete_ts < 100000
)
SELECT e.utid, 'process' AS culprit_type,
       (SELECT min(t.utid) FROM thread AS t WHERE t.upid = k.upid AND t.is_main_thread = 1) AS culprit_utid,
       coalesce(p.name, 'not known') AS culprit, least(e.end_ts, b.end_ts) - greatest(e.ts, b.ts) AS ns, e.ts,
       'waiting for the disk in bursts of writing' AS what,
       printf('%d bursts, one every %.1f s, %.0f ms and %.0f MB each on average', k.bursts, k.period_ns / 1e9,
              k.burst_ns / 1e6, k.bytes / k.bursts / 1e6) AS detail
FROM ended AS e JOIN burst AS b ON e.device = b.device AND e.ts < b.end_ts AND e.end_ts > b.ts
JOIN writer AS k ON b.upid = k.upid AND b.device = k.device JOIN process AS p ON k.upid = p.upid
WHERE NOT EXISTS (SELECT 1 FROM thread AS own WHERE own.utid = e.utid AND own.upid = k.upid)
