-- sched.with_context: scheduling slices with names.

-- sched_with_thread_process: one row a row of sched.
--   id, ts, dur, utid, cpu, end_state, priority  as in sched
--   thread_name                                  name of the thread
--   upid, process_name                           its process; NULL when unknown
CREATE PERFETTO VIEW sched_with_thread_process(
  id ID(sched.id), ts TIMESTAMP, dur DURATION, utid JOINID(thread.id), upid JOINID(process.id), thread_name STRING,
  process_name STRING, cpu LONG, end_state STRING, priority LONG) AS
SELECT s.id, s.ts, s.dur, s.utid, t.upid, t.name, p.name, s.cpu, s.end_state, s.priority
FROM sched AS s
JOIN thread AS t ON s.utid = t.utid
LEFT JOIN process AS p ON t.upid = p.upid;
