-- id: throttle.cgroup
-- severity: info
-- needs: the counters cgroup.PATH.throttled_ns (category stats; only for cgroups with a CPU quota)
-- has: SELECT count(*) > 0 FROM counter_track WHERE name LIKE 'cgroup./%.throttled_ns'
-- meaning: cgroups of the machine that used up their CPU quota, by the kernel's own count (cpu.throttled says what that cost the victims)
-- remedy: raise cpu.max, or run fewer threads in the cgroup
SELECT NULL::BIGINT AS utid, 'cgroup' AS culprit_type, NULL::BIGINT AS culprit_utid, t.name[8:-14] AS culprit,
       (max(c.value) - min(c.value))::BIGINT AS ns, min(c.ts) AS ts,
       'threads of cgroup ' || t.name[8:-14] || ' were throttled (all of its CPUs together)' AS what, NULL AS detail
FROM counter AS c JOIN counter_track AS t ON c.track_id = t.id, explain_window AS w
WHERE t.name LIKE 'cgroup./%.throttled_ns' AND c.ts BETWEEN w.begin_ts AND w.end_ts
GROUP BY t.name HAVING max(c.value) > min(c.value)
ORDER BY t.name
