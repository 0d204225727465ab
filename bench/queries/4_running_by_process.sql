SELECT p.name AS process_name, SUM(s.dur) / 1e9 AS total_running_sec FROM sched s JOIN process p ON s.upid = p.upid GROUP BY s.upid ORDER BY total_running_sec DESC;
