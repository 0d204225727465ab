-- std.thread.with_context: threads with their processes.

-- _thread_with_process: one row a thread.
CREATE PERFETTO VIEW _thread_with_process AS
SELECT t.utid, t.tid, t.name AS thread_name, t.is_main_thread, p.upid, p.pid, p.name AS process_name
FROM thread AS t LEFT JOIN process AS p ON t.upid = p.upid;
