-- id: numa.balancing
-- severity: info
-- needs: the counters numa_hint_faults and numa_pages_migrated of /proc/vmstat (kernels with NUMA balancing, category stats)
-- has: SELECT count(*) > 0 FROM counter_track WHERE name = 'numa_pages_migrated'
-- meaning: the kernel moved pages between NUMA nodes after their users, and made them fault to see who uses them
-- remedy: bind the job to the node of its memory and GPU (numactl --cpunodebind --membind), or sysctl kernel.numa_balancing=0
SELECT NULL::BIGINT AS utid, 'kernel' AS culprit_type, NULL::BIGINT AS culprit_utid, 'NUMA balancing' AS culprit,
       NULL::BIGINT AS ns, min(c.ts) AS ts, printf('%d pages moved between NUMA nodes',
       (max(c.value) - min(c.value))::BIGINT) AS what, NULL AS detail
FROM counter AS c JOIN counter_track AS t ON c.track_id = t.id, explain_window AS w
WHERE t.name = 'numa_pages_migrated' AND c.ts BETWEEN w.begin_ts AND w.end_ts
HAVING max(c.value) > min(c.value)
