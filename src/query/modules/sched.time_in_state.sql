-- sched.time_in_state: how much of its time a thread spends in each state.
INCLUDE PERFETTO MODULE intervals.intersect;

-- sched_time_in_state_for_thread: one row a thread and state.
--   utid                 the thread
--   total_runtime        all its rows of thread_state together, ns
--   state                the state
--   time_in_state        ns in it
--   percentage_in_state  of total_runtime, rounded down
CREATE PERFETTO TABLE sched_time_in_state_for_thread(
  utid JOINID(thread.id), total_runtime LONG, state STRING, time_in_state LONG, percentage_in_state LONG) AS
WITH summed AS (SELECT utid, state, sum(dur) AS time_in_state FROM thread_state GROUP BY utid, state),
     whole AS (SELECT *, sum(time_in_state) OVER (PARTITION BY utid) AS total FROM summed)
SELECT utid, total, state, time_in_state, time_in_state * 100 / total FROM whole ORDER BY utid, state;

-- sched_percentage_of_time_in_state: one row a thread; percentages are rounded down, NULL for a state it never had.
--   utid                   the thread
--   running, runnable, runnable_preempted, sleeping, uninterruptible_sleep   Running, R, R+, S, D
--   other                  T, t, X, Z, x, I, K, W, P and N together
CREATE PERFETTO TABLE sched_percentage_of_time_in_state(
  utid JOINID(thread.id), running LONG, runnable LONG, runnable_preempted LONG, sleeping LONG,
  uninterruptible_sleep LONG, other LONG) AS
SELECT utid,
       max(CASE WHEN state = 'Running' THEN percentage_in_state END),
       max(CASE WHEN state = 'R' THEN percentage_in_state END),
       max(CASE WHEN state = 'R+' THEN percentage_in_state END),
       max(CASE WHEN state = 'S' THEN percentage_in_state END),
       max(CASE WHEN state = 'D' THEN percentage_in_state END),
       sum(CASE WHEN state IN ('T', 't', 'X', 'Z', 'x', 'I', 'K', 'W', 'P', 'N') THEN time_in_state END) * 100
         / any_value(total_runtime)
FROM sched_time_in_state_for_thread GROUP BY utid ORDER BY utid;

-- sched_time_in_state_for_thread_in_interval(ts, dur, utid) -> state, io_wait, blocked_function, dur, longest first.
CREATE PERFETTO FUNCTION sched_time_in_state_for_thread_in_interval(ts TIMESTAMP, dur DURATION, utid JOINID(thread.id))
RETURNS TABLE(state STRING, io_wait BOOL, blocked_function STRING, dur DURATION) AS
SELECT s.state, s.io_wait, s.blocked_function, sum(ii.dur)
FROM _interval_intersect_single!($ts, $dur, (SELECT o.id, o.ts, o.dur FROM thread_state AS o
                                             WHERE o.utid = $utid AND o.dur > 0)) AS ii
JOIN thread_state AS s ON s.id = ii.id
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3;

-- The same by CPU -> state, io_wait, cpu, blocked_function, dur.
CREATE PERFETTO FUNCTION sched_time_in_state_and_cpu_for_thread_in_interval(ts TIMESTAMP, dur DURATION,
                                                                            utid JOINID(thread.id))
RETURNS TABLE(state STRING, io_wait BOOL, cpu LONG, blocked_function STRING, dur DURATION) AS
SELECT s.state, s.io_wait, s.cpu, s.blocked_function, sum(ii.dur)
FROM _interval_intersect_single!($ts, $dur, (SELECT o.id, o.ts, o.dur FROM thread_state AS o
                                             WHERE o.utid = $utid AND o.dur > 0)) AS ii
JOIN thread_state AS s ON s.id = ii.id
GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4;

-- sched_time_in_state_for_cpu_in_interval(cpu, ts, dur) -> end_state, dur: time on a CPU by the state it was left in.
CREATE PERFETTO FUNCTION sched_time_in_state_for_cpu_in_interval(cpu LONG, ts TIMESTAMP, dur LONG)
RETURNS TABLE(end_state STRING, dur LONG) AS
SELECT s.end_state, sum(ii.dur)
FROM _interval_intersect_single!($ts, $dur, (SELECT o.id, o.ts, o.dur FROM sched AS o
                                             WHERE o.cpu = $cpu AND o.dur != -1)) AS ii
JOIN sched AS s ON s.id = ii.id
GROUP BY 1 ORDER BY 1;
