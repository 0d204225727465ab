-- id: memory.compaction
-- severity: crit
-- needs: kernel stacks of D-state waits, and the counter compact_stall of /proc/vmstat (category stats)
-- has: SELECT count(*) > 0 FROM counter_track WHERE name = 'compact_stall'
-- meaning: the victim waited for memory to be compacted: it asked for pages that lie side by side
-- remedy: use fewer transparent huge pages (/sys/kernel/mm/transparent_hugepage/defrag: defer), or keep more memory free (vm.min_free_kbytes)
SELECT d.utid, 'kernel' AS culprit_type, NULL::BIGINT AS culprit_utid, 'memory compaction' AS culprit,
       least(CASE WHEN d.dur < 0 THEN w.end_ts ELSE d.ts + d.dur END, w.end_ts) - greatest(d.ts, w.begin_ts) AS ns,
       d.ts, 'in compaction' AS what, NULL AS detail
FROM thread_state AS d JOIN explain_victim AS v ON d.utid = v.utid, explain_window AS w
WHERE d.blocked_function IN ('compact_zone', 'isolate_migratepages_block', 'migrate_pages', 'migrate_pages_batch',
                             'try_to_compact_pages', 'too_many_isolated')
  AND d.ts < w.end_ts AND (d.dur < 0 OR d.ts + d.dur > w.begin_ts)
