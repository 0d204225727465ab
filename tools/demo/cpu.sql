-- Who used the CPUs.
SELECT t.name AS thread, t.tid, p.name AS process, COUNT(*) AS slices,
       ROUND(SUM(s.dur) / 1e6, 1) AS running_ms,
       ROUND(100.0 * SUM(s.dur) / (SELECT end_ts - start_ts FROM trace_bounds), 1) AS pct_of_a_cpu
FROM sched s JOIN thread t USING (utid) LEFT JOIN process p ON t.upid = p.upid
WHERE NOT t.is_idle AND s.dur > 0
GROUP BY t.utid, t.name, t.tid, p.name
ORDER BY SUM(s.dur) DESC, t.utid
LIMIT 8;
