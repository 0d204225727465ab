-- offcpu: every wait of a thread, from the table that record --off-cpu fills.
--   ts, utid
--   cpu        NULL: a waiting thread has none
--   off_cpu    ns from leaving the CPU to having one again
--   wait       of it, ns not able to run
--   runnable   of it, ns able to run and without a CPU
--   callsite   where the thread waited
--   waker      where its waker was when it woke it
--   state      the state that the wait began with
SELECT o.ts, o.utid, NULL::BIGINT AS cpu, o.dur AS off_cpu, o.blocked_ns AS wait, o.runnable_ns AS runnable,
       o.callsite_id AS callsite, o.waker_callsite_id AS waker, s.state
FROM offcpu_sample AS o
LEFT JOIN thread_state AS s ON s.utid = o.utid AND s.ts = o.ts
WHERE o.dur > 0
ORDER BY o.ts, o.utid;
