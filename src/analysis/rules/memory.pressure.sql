-- id: memory.pressure
-- severity: info
-- needs: the counters psi.mem.some of /proc/pressure/memory (category stats)
-- has: SELECT count(*) > 1 FROM counter AS c JOIN counter_track AS t ON c.track_id = t.id WHERE t.name = 'psi.mem.some'
-- meaning: threads of the machine stood still for memory, by the kernel's own count
-- remedy: see the other findings of memory
SELECT NULL::BIGINT AS utid, 'kernel' AS culprit_type, NULL::BIGINT AS culprit_utid, 'memory' AS culprit,
       (max(c.value) - min(c.value))::BIGINT AS ns, min(c.ts) AS ts,
       'some thread of the machine stood still for memory' AS what, NULL AS detail
FROM counter AS c JOIN counter_track AS t ON c.track_id = t.id, explain_window AS w
WHERE t.name = 'psi.mem.some' AND c.ts BETWEEN w.begin_ts AND w.end_ts
HAVING max(c.value) - min(c.value) > 0.01 * (max(c.ts) - min(c.ts))
