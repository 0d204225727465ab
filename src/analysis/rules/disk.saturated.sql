-- id: disk.saturated
-- severity: crit
-- needs: block/block_rq_*, sched/sched_switch
-- has: SELECT count(*) > 0 FROM block_io
-- meaning: the victim waited in D until a request of a disk completed that was busy all the time with a queue (busy 80 % of the window, two requests in flight on average)
-- remedy: let who fills the queue write less or later (ionice -c 3, io.max, io.weight), or use another disk
WITH req AS (
  SELECT b.device, b.utid, b.ts, b.complete_ts, coalesce(b.issue_ts, b.ts) AS issue_ts
  FROM block_io AS b, explain_window AS w
  WHERE b.complete_ts IS NOT NULL AND b.ts < w.end_ts AND b.complete_ts > w.begin_ts
), edge AS (
  SELECT device, ts, max(complete_ts) OVER (PARTITION BY device ORDER BY ts, complete_ts
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until, complete_ts FROM req
), busy AS (
  SELECT device, sum(greatest(complete_ts - greatest(ts, coalesce(busy_until, ts)), 0)) AS busy_ns FROM edge GROUP BY device
), load AS (
  SELECT r.device, count(*) AS requests, sum(r.complete_ts - r.ts) AS in_flight_ns,
         avg(r.issue_ts - r.ts) AS queue_ns, avg(r.complete_ts - r.issue_ts) AS service_ns FROM req AS r GROUP BY r.device
), owner AS (
  SELECT r.device, r.utid, t.upid, t.name, row_number() OVER (PARTITION BY r.device
         ORDER BY sum(r.complete_ts - r.ts) DESC, r.utid) AS place, sum(r.complete_ts - r.ts) AS in_flight_ns
  FROM req AS r LEFT JOIN thread AS t ON r.utid = t.utid GROUP BY r.device, r.utid, t.upid, t.name
), full_disk AS (
  SELECT l.*, b.busy_ns, w.end_ts - w.begin_ts AS window_ns
  FROM load AS l JOIN busy AS b ON l.device = b.device, explain_window AS w
  WHERE b.busy_ns >= 0.8 * (w.end_ts - w.begin_ts) AND l.in_flight_ns >= 2.0 * (w.end_ts - w.begin_ts)
), wait AS (
  SELECT d.utid, d.ts, d.ts + d.dur AS end_ts, d.dur
  FROM thread_state AS d JOIN explain_victim AS v ON d.utid = v.utid, explain_window AS w
  WHERE d.state LIKE 'D%' AND d.dur > 0 AND d.ts >= w.begin_ts AND d.ts + d.dur <= w.end_ts
), ended AS (
  SELECT x.utid, x.ts, x.dur, r.device FROM wait AS x ASOF JOIN req AS r ON x.end_ts >= r.complete_ts
  WHERE x.end_ts - r.complete_ts < 100000
)
SELECT e.utid, 'device' AS culprit_type, o.utid AS culprit_utid, 'disk ' || e.device AS culprit, e.dur AS ns, e.ts,
       'waiting for a disk with a full queue' AS what,
       printf('disk %s: %.0f requests/s x %.1f ms each = %.1f in flight (Little''s law), %.1f ms of it in the queue, %.1f ms in the disk; busy %.0f %% of the time; most of the queue, %.0f %%: %s',
              e.device, f.requests * 1e9 / f.window_ns, f.in_flight_ns / f.requests / 1e6, f.in_flight_ns / f.window_ns,
              f.queue_ns / 1e6, f.service_ns / 1e6, 100.0 * f.busy_ns / f.window_ns,
              100.0 * o.in_flight_ns / f.in_flight_ns, coalesce(o.name, 'not known')) AS detail
FROM ended AS e JOIN full_disk AS f ON e.device = f.device JOIN owner AS o ON o.device = f.device AND o.place = 1
