-- states: every wait of a thread by thread_state, for traces without offcpu_sample. Stacks are the kernel's, of waits
-- for which one was recorded (D states).
--   the columns of offcpu.sql; waker is always NULL
SELECT s.ts, s.utid, NULL::BIGINT AS cpu, s.dur AS off_cpu,
       CASE WHEN s.state IN ('R', 'R+') THEN 0 ELSE s.dur END AS wait,
       CASE WHEN s.state IN ('R', 'R+') THEN s.dur ELSE 0 END AS runnable,
       b.callsite_id AS callsite, NULL::BIGINT AS waker, s.state
FROM thread_state AS s
LEFT JOIN blocked_stack AS b ON b.thread_state_id = s.id
WHERE s.dur > 0 AND s.state <> 'Running' AND s.state NOT IN ('X', 'Z', 'Created', 'Unknown')
ORDER BY s.ts, s.utid;
