-- states: every wait of a thread by thread_state, for traces without offcpu_sample. Stacks are the kernel's, of waits
-- for which one was recorded (D states). A wait whose end was not seen lasts to the end of the trace if it is the
-- thread's last; else events are missing behind it and it counts nothing, since how long it lasted is not known.
--   the columns of offcpu.sql; waker is always NULL
WITH states AS (
  SELECT id, ts, utid, state,
         CASE WHEN dur >= 0 THEN dur
              WHEN lead(ts) OVER (PARTITION BY utid ORDER BY ts, id) IS NULL
              THEN (SELECT end_ts FROM trace_bounds) - ts
              ELSE 0 END AS dur,
         last_value(cpu IGNORE NULLS) OVER (PARTITION BY utid ORDER BY ts, id
                                            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cpu
  FROM thread_state
)
SELECT s.ts, s.utid, s.cpu, s.dur AS off_cpu,
       CASE WHEN s.state IN ('R', 'R+') THEN 0 ELSE s.dur END AS wait,
       CASE WHEN s.state IN ('R', 'R+') THEN s.dur ELSE 0 END AS runnable,
       b.callsite_id AS callsite, NULL::BIGINT AS waker, s.state
FROM states AS s
LEFT JOIN blocked_stack AS b ON b.thread_state_id = s.id
WHERE s.dur > 0 AND s.state <> 'Running' AND s.state NOT IN ('X', 'Z', 'Created', 'Unknown')
ORDER BY s.ts, s.utid;
