-- slices.with_context: slices with the thread or process they belong to.

-- thread_slice: slices on tracks of threads.
--   id, ts, dur, category, name, track_id, depth, parent_id, arg_set_id, thread_ts, thread_dur  as in slice
--   track_name                                          name of the track
--   thread_name, utid, tid, is_main_thread              the thread
--   process_name, upid, pid                             its process
CREATE PERFETTO VIEW thread_slice(
  id ID(slice.id), ts TIMESTAMP, dur DURATION, category STRING, name STRING, track_id JOINID(track.id),
  track_name STRING, thread_name STRING, utid JOINID(thread.id), tid LONG, is_main_thread BOOL, process_name STRING,
  upid JOINID(process.id), pid LONG, depth LONG, parent_id JOINID(slice.id), arg_set_id ARGSETID,
  thread_ts TIMESTAMP, thread_dur LONG) AS
SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name, t.name, t.utid, t.tid, t.is_main_thread, p.name,
       p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur
FROM slice AS s
JOIN thread_track AS k ON s.track_id = k.id
JOIN thread AS t ON k.utid = t.utid
LEFT JOIN process AS p ON t.upid = p.upid;

-- process_slice: slices on tracks of processes; columns as above without the thread's.
CREATE PERFETTO VIEW process_slice(
  id ID(slice.id), ts TIMESTAMP, dur DURATION, category STRING, name STRING, track_id JOINID(track.id),
  track_name STRING, process_name STRING, upid JOINID(process.id), pid LONG, depth LONG, parent_id JOINID(slice.id),
  arg_set_id ARGSETID, thread_ts TIMESTAMP, thread_dur LONG) AS
SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name, p.name, p.upid, p.pid, s.depth, s.parent_id,
       s.arg_set_id, s.thread_ts, s.thread_dur
FROM slice AS s
JOIN process_track AS k ON s.track_id = k.id
JOIN process AS p ON k.upid = p.upid;

-- thread_or_process_slice: both; the thread's columns are NULL for a process's slice.
CREATE PERFETTO VIEW thread_or_process_slice(
  id JOINID(slice.id), ts TIMESTAMP, dur DURATION, category STRING, name STRING, track_id JOINID(track.id),
  track_name STRING, thread_name STRING, utid JOINID(thread.id), tid LONG, process_name STRING,
  upid JOINID(process.id), pid LONG, depth LONG, parent_id JOINID(slice.id), arg_set_id ARGSETID) AS
SELECT id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, process_name, upid, pid, depth,
       parent_id, arg_set_id
FROM thread_slice
UNION ALL
SELECT id, ts, dur, category, name, track_id, track_name, NULL, NULL, NULL, process_name, upid, pid, depth, parent_id,
       arg_set_id
FROM process_slice;
