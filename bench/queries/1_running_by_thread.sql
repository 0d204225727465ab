SELECT utid, SUM(dur) AS total_running FROM sched GROUP BY utid ORDER BY total_running DESC LIMIT 10
