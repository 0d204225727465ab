-- Who could have run and had no CPU.
SELECT t.name AS thread, t.tid, p.name AS process, COUNT(*) AS waits,
       ROUND(SUM(s.dur) / 1e6, 1) AS waited_ms, ROUND(MAX(s.dur) / 1e6, 2) AS worst_ms
FROM thread_state s JOIN thread t USING (utid) LEFT JOIN process p ON t.upid = p.upid
WHERE s.state IN ('R', 'R+') AND s.dur > 0
GROUP BY t.utid, t.name, t.tid, p.name
ORDER BY SUM(s.dur) DESC, t.utid
LIMIT 8;
