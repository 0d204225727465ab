-- id: sched.migration
-- severity: info
-- needs: sched/sched_switch
-- has: SELECT count(*) > 0 FROM sched
-- meaning: the victim went on to run on another CPU than before; the cost counted is how long it stood ready before it did, cold caches come on top
-- remedy: bind the threads of the job to CPUs (taskset, cpuset, numactl) when this is often and caches matter
WITH run AS (
  SELECT s.utid, s.ts, s.cpu, lag(s.cpu) OVER q AS from_cpu, lag(s.ts + s.dur) OVER q AS left_ts
  FROM sched AS s JOIN explain_victim AS v ON s.utid = v.utid, explain_window AS w
  WHERE s.ts < w.end_ts AND (s.dur < 0 OR s.ts + s.dur > w.begin_ts)
  WINDOW q AS (PARTITION BY s.utid ORDER BY s.ts)
), moved AS (SELECT * FROM run WHERE cpu <> from_cpu)
SELECT m.utid, 'scheduler' AS culprit_type, NULL::BIGINT AS culprit_utid, 'the scheduler' AS culprit,
       sum(r.dur)::BIGINT AS ns, m.ts, 'ready to run before it went on on another CPU' AS what, NULL AS detail
FROM moved AS m JOIN thread_state AS r ON r.utid = m.utid AND r.ts + r.dur = m.ts AND r.state IN ('R', 'R+'), explain_window AS w
WHERE r.ts >= w.begin_ts
GROUP BY m.utid, m.ts
