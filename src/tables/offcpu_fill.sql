-- offcpu_fill: fills offcpu_sample: every stretch without a CPU of the threads whose switches were sampled, with the
-- stack of the sample at its begin and of the one of its waker at the wakeup.
-- Samples and scheduler events are written by different probes of one tracepoint, some microseconds apart: a stretch
-- takes the nearest sample of its thread within a millisecond, and a sample belongs to one stretch.
-- A state whose end was not seen lasts to the end of the trace if it is the thread's last; else events are missing
-- behind it, how long it lasted is not known and counts nothing, and what follows is another stretch.
CREATE TEMP TABLE __offcpu_switch AS
SELECT p.id, p.utid, p.ts, p.callsite_id
FROM perf_sample AS p JOIN perf_session AS s USING (perf_session_id)
WHERE s.event LIKE 'sched_sched_switch%';

CREATE TEMP TABLE __offcpu_waking AS
SELECT p.utid, p.ts, p.callsite_id
FROM perf_sample AS p JOIN perf_session AS s USING (perf_session_id)
WHERE s.event LIKE 'sched_sched_waking%' AND p.callsite_id IS NOT NULL;

CREATE TEMP TABLE __offcpu_stretch AS
WITH rows AS (
  SELECT t.id, t.utid, t.ts, t.state, t.waker_utid, t.dur,
         CASE WHEN t.dur >= 0 THEN t.dur
              WHEN lead(t.ts) OVER (PARTITION BY t.utid ORDER BY t.ts, t.id) IS NULL
              THEN (SELECT end_ts FROM trace_bounds) - t.ts
              ELSE 0 END AS known_ns,
         t.state = 'Running' OR coalesce(lag(t.dur) OVER (PARTITION BY t.utid ORDER BY t.ts, t.id) < 0, false) AS is_new
  FROM thread_state AS t
  WHERE t.utid IN (SELECT utid FROM __offcpu_switch)
), states AS (
  SELECT *, sum(CASE WHEN is_new THEN 1 ELSE 0 END) OVER (PARTITION BY utid ORDER BY ts, id) AS run
  FROM rows
)
SELECT utid, min(ts) AS ts, CASE WHEN bool_or(dur < 0) THEN -1 ELSE sum(dur) END AS dur,
       coalesce(sum(known_ns) FILTER (state NOT IN ('R', 'R+')), 0) AS blocked_ns,
       coalesce(sum(known_ns) FILTER (state IN ('R', 'R+')), 0) AS runnable_ns,
       min(ts) FILTER (waker_utid IS NOT NULL) AS waking_ts,
       arg_min(waker_utid, ts) FILTER (waker_utid IS NOT NULL) AS waker_utid
FROM states
WHERE state <> 'Running'
GROUP BY utid, run
HAVING NOT bool_or(state IN ('X', 'Z', 'Created', 'Unknown'));

CREATE TEMP TABLE __offcpu_match AS
WITH near AS (
  SELECT o.utid, o.ts, s.id AS sample_id, s.callsite_id, o.ts - s.ts AS distance
  FROM __offcpu_stretch AS o ASOF JOIN __offcpu_switch AS s ON o.utid = s.utid AND o.ts >= s.ts
  UNION ALL
  SELECT o.utid, o.ts, s.id, s.callsite_id, s.ts - o.ts
  FROM __offcpu_stretch AS o ASOF JOIN __offcpu_switch AS s ON o.utid = s.utid AND o.ts < s.ts
), of_stretch AS (
  SELECT * FROM near WHERE distance <= 1000000
  QUALIFY row_number() OVER (PARTITION BY utid, ts ORDER BY distance, sample_id) = 1
)
SELECT utid, ts, sample_id, callsite_id FROM of_stretch
QUALIFY row_number() OVER (PARTITION BY sample_id ORDER BY distance, ts) = 1;

CREATE TEMP TABLE __offcpu_waker AS
WITH near AS (
  SELECT o.utid, o.ts, w.callsite_id, o.waking_ts - w.ts AS distance
  FROM __offcpu_stretch AS o ASOF JOIN __offcpu_waking AS w ON o.waker_utid = w.utid AND o.waking_ts >= w.ts
  UNION ALL
  SELECT o.utid, o.ts, w.callsite_id, w.ts - o.waking_ts
  FROM __offcpu_stretch AS o ASOF JOIN __offcpu_waking AS w ON o.waker_utid = w.utid AND o.waking_ts < w.ts
)
SELECT utid, ts, callsite_id FROM near WHERE distance <= 1000000
QUALIFY row_number() OVER (PARTITION BY utid, ts ORDER BY distance, callsite_id) = 1;

INSERT INTO offcpu_sample
SELECT o.utid, o.ts, o.dur, o.blocked_ns, o.runnable_ns, m.callsite_id, w.callsite_id
FROM __offcpu_stretch AS o
LEFT JOIN __offcpu_match AS m ON m.utid = o.utid AND m.ts = o.ts
LEFT JOIN __offcpu_waker AS w ON w.utid = o.utid AND w.ts = o.ts
ORDER BY o.ts, o.utid;

INSERT INTO stats
SELECT (SELECT coalesce(max(id), -1) + 1 FROM stats), 'offcpu_samples_unmatched',
       (SELECT coalesce(max(key), -1) + 1 FROM stats), NULL, 'info', 'analysis', count(*),
       'stacks of switches that no wait in thread_state belongs to', 0, 0
FROM __offcpu_switch WHERE id NOT IN (SELECT sample_id FROM __offcpu_match)
HAVING count(*) > 0;

DROP TABLE __offcpu_switch;
DROP TABLE __offcpu_waking;
DROP TABLE __offcpu_stretch;
DROP TABLE __offcpu_match;
DROP TABLE __offcpu_waker;
