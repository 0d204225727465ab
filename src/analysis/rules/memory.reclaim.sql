-- id: memory.reclaim
-- severity: crit
-- needs: vmscan/mm_vmscan_direct_reclaim_*, vmscan/mm_vmscan_memcg_reclaim_* (culprit record node mem)
-- has: SELECT count(*) > 0 FROM slice WHERE name IN ('mm_vmscan_direct_reclaim', 'mm_vmscan_memcg_reclaim')
-- meaning: the victim had to free pages itself before it got one
-- remedy: raise the memory limit of its cgroup (memory.max, memory.high), or let the job use less memory
SELECT t.utid, 'kernel' AS culprit_type, NULL::BIGINT AS culprit_utid,
       CASE s.name WHEN 'mm_vmscan_memcg_reclaim' THEN 'memory reclaim of its cgroup'
                   ELSE 'memory reclaim' END AS culprit,
       least(CASE WHEN s.dur < 0 THEN w.end_ts ELSE s.ts + s.dur END, w.end_ts) - greatest(s.ts, w.begin_ts) AS ns,
       s.ts, 'in reclaim' AS what, NULL AS detail
FROM slice AS s JOIN thread_track AS t ON s.track_id = t.id JOIN explain_victim AS v ON t.utid = v.utid, explain_window AS w
WHERE s.name IN ('mm_vmscan_direct_reclaim', 'mm_vmscan_memcg_reclaim')
  AND s.ts < w.end_ts AND (s.dur < 0 OR s.ts + s.dur > w.begin_ts)
