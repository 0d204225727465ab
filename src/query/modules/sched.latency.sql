-- sched.latency: how long threads waited for a CPU before each stretch of running.
INCLUDE PERFETTO MODULE sched.runnable;

-- sched_latency_for_running_interval: one row a stretch of running that a wait came before.
--   thread_state_id      the stretch (thread_state.id)
--   sched_id             the same in sched
--   utid                 the thread
--   runnable_latency_id  the wait (thread_state.id)
--   latency_dur          its length, ns
CREATE PERFETTO TABLE sched_latency_for_running_interval(
  thread_state_id JOINID(thread_state.id), sched_id JOINID(sched.id), utid JOINID(thread.id),
  runnable_latency_id JOINID(thread_state.id), latency_dur LONG) AS
SELECT run.id, s.id, run.utid, wait.id, wait.dur
FROM sched_previous_runnable_on_thread AS r
JOIN thread_state AS wait ON r.prev_runnable_id = wait.id
JOIN thread_state AS run ON r.id = run.id
JOIN sched AS s ON s.utid = run.utid AND s.ts = run.ts AND s.dur = run.dur
ORDER BY run.id;
