-- sched.thread_level_parallelism: how many threads ran or waited, over time. Each row holds until the next.
INCLUDE PERFETTO MODULE intervals.overlap;

-- sched_runnable_thread_count: threads waiting for a CPU (state R).
--   ts, runnable_thread_count
CREATE PERFETTO TABLE sched_runnable_thread_count(ts TIMESTAMP, runnable_thread_count LONG) AS
WITH waiting AS (SELECT ts, dur FROM thread_state WHERE state = 'R')
SELECT * FROM intervals_overlap_count!(waiting, ts, dur) ORDER BY ts;

-- sched_uninterruptible_sleep_thread_count: threads in state D.
--   ts, uninterruptible_sleep_thread_count
CREATE PERFETTO TABLE sched_uninterruptible_sleep_thread_count(
  ts TIMESTAMP, uninterruptible_sleep_thread_count LONG) AS
WITH blocked AS (SELECT ts, dur FROM thread_state WHERE state = 'D')
SELECT * FROM intervals_overlap_count!(blocked, ts, dur) ORDER BY ts;

-- sched_active_cpu_count: CPUs that run something but their idle thread.
--   ts, active_cpu_count
CREATE PERFETTO TABLE sched_active_cpu_count(ts TIMESTAMP, active_cpu_count LONG) AS
WITH busy AS (SELECT ts, dur FROM sched WHERE utid NOT IN (SELECT utid FROM thread WHERE is_idle))
SELECT * FROM intervals_overlap_count!(busy, ts, dur) ORDER BY ts;
