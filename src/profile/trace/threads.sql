-- threads: every thread and the process it is in.
--   utid, tid, comm, pid, process
SELECT t.utid, t.tid, t.name AS comm, p.pid, p.name AS process
FROM thread AS t LEFT JOIN process AS p ON p.upid = t.upid
ORDER BY t.utid;
