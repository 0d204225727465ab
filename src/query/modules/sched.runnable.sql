-- sched.runnable: for each stretch of running, the wait for the CPU that came before it.

-- sched_previous_runnable_on_thread: one row a finished row of thread_state with state Running.
--   id                       that row (thread_state.id)
--   prev_runnable_id         the thread's last row before it that is R or R+
--   prev_wakeup_runnable_id  the last of these that a known thread woke, and not from an interrupt
CREATE PERFETTO TABLE sched_previous_runnable_on_thread(
  id JOINID(thread_state.id), prev_runnable_id JOINID(thread_state.id),
  prev_wakeup_runnable_id JOINID(thread_state.id)) AS
WITH on_cpu_or_waiting AS (
  SELECT id, state,
         max(CASE WHEN state != 'Running' THEN id END) OVER earlier AS waited,
         max(CASE WHEN waker_utid IS NOT NULL AND coalesce(irq_context, 0) != 1 THEN id END) OVER earlier AS woken
  FROM thread_state
  WHERE state IN ('Running', 'R', 'R+') AND dur != -1
  WINDOW earlier AS (PARTITION BY utid ORDER BY id)
)
SELECT id, waited, woken FROM on_cpu_or_waiting WHERE state = 'Running' ORDER BY id;
