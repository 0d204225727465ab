-- offcpu: every wait of a thread, from the table that record --off-cpu fills. A wait whose end was not seen lasts to
-- the end of the trace.
--   ts, utid
--   cpu        the CPU that it left
--   off_cpu    ns from leaving the CPU to having one again
--   wait       of it, ns not able to run
--   runnable   of it, ns able to run and without a CPU
--   callsite   where the thread waited
--   waker      where its waker was when it woke it
--   state      the state that the wait began with
WITH states AS (
  SELECT ts, utid, state,
         last_value(cpu IGNORE NULLS) OVER (PARTITION BY utid ORDER BY ts, id
                                            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cpu
  FROM thread_state
  WHERE utid IN (SELECT utid FROM offcpu_sample)
)
SELECT o.ts, o.utid, s.cpu, o.blocked_ns + o.runnable_ns AS off_cpu, o.blocked_ns AS wait, o.runnable_ns AS runnable,
       o.callsite_id AS callsite, o.waker_callsite_id AS waker, s.state
FROM offcpu_sample AS o
LEFT JOIN states AS s ON s.utid = o.utid AND s.ts = o.ts
ORDER BY o.ts, o.utid;
