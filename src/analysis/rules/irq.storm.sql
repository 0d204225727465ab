-- id: irq.storm
-- severity: crit
-- needs: irq/irq_handler_*, irq/softirq_*
-- has: SELECT count(*) > 0 FROM cpu_track WHERE type IN ('cpu_irq', 'cpu_softirq')
-- meaning: interrupts and softirqs ran on top of the victim, by kind and CPU
-- remedy: move the interrupt (/proc/irq/NUMBER/smp_affinity_list) or spread it (RPS, queues: ethtool -L), or keep the victim off that CPU
WITH irq AS (
  SELECT t.cpu, s.ts, s.dur, s.name
  FROM slice AS s JOIN cpu_track AS t ON s.track_id = t.id, explain_window AS w
  WHERE t.type IN ('cpu_irq', 'cpu_softirq') AND s.dur > 0 AND s.ts >= w.begin_ts AND s.ts + s.dur <= w.end_ts
), hit AS (
  SELECT i.cpu, i.ts, i.name, r.utid,
         least(i.ts + i.dur, CASE WHEN r.dur < 0 THEN i.ts + i.dur ELSE r.ts + r.dur END) - i.ts AS ns
  FROM irq AS i ASOF JOIN sched AS r ON i.cpu = r.cpu AND i.ts >= r.ts
)
SELECT h.utid, 'irq' AS culprit_type, NULL::BIGINT AS culprit_utid,
       regexp_replace(h.name, '^IRQ [(](.*)[)]$', '\1') || ' on CPU ' || h.cpu::BIGINT AS culprit,
       h.ns, h.ts, 'while interrupts ran on top of it' AS what, NULL AS detail
FROM hit AS h JOIN explain_victim AS v ON h.utid = v.utid
WHERE h.ns > 0
