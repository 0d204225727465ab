-- Who waited where no signal reaches (D state), and in which function of the kernel.
SELECT t.name AS thread, t.tid, p.name AS process, s.blocked_function, COUNT(*) AS waits,
       ROUND(SUM(s.dur) / 1e6, 1) AS blocked_ms, ROUND(MAX(s.dur) / 1e6, 2) AS worst_ms
FROM thread_state s JOIN thread t USING (utid) LEFT JOIN process p ON t.upid = p.upid
WHERE s.state IN ('D', 'DK') AND s.dur > 0
GROUP BY t.utid, t.name, t.tid, p.name, s.blocked_function
ORDER BY SUM(s.dur) DESC, t.utid
LIMIT 8;
