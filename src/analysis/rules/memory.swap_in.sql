-- id: memory.swap_in
-- severity: crit
-- needs: kernel stacks of D-state waits (sched/sched_switch; every preset of culprit record has them)
-- has: SELECT count(*) > 0 FROM blocked_stack
-- meaning: the victim touched memory that had been swapped out
-- remedy: lower the job's memory, raise its limit (memory.max), or take the swap away: swapoff, memory.swap.max
WITH RECURSIVE wait AS (
  SELECT d.utid, d.ts, d.dur, b.callsite_id
  FROM thread_state AS d JOIN blocked_stack AS b ON b.thread_state_id = d.id
  JOIN explain_victim AS v ON d.utid = v.utid, explain_window AS w
  WHERE d.ts < w.end_ts AND (d.dur < 0 OR d.ts + d.dur > w.begin_ts)
), frames AS (
  SELECT DISTINCT callsite_id, callsite_id AS at_id, 0 AS above FROM wait
  UNION
  SELECT f.callsite_id, c.parent_id, f.above + 1
  FROM frames AS f JOIN stack_profile_callsite AS c ON f.at_id = c.id WHERE c.parent_id IS NOT NULL AND f.above < 128
), matching AS (
  SELECT DISTINCT f.callsite_id FROM frames AS f JOIN stack_profile_callsite AS c ON f.at_id = c.id
  JOIN stack_profile_frame AS n ON c.frame_id = n.id
  WHERE n.name IN ('do_swap_page', 'swapin_readahead', 'swap_cluster_readahead')
)
SELECT d.utid, 'kernel' AS culprit_type, NULL::BIGINT AS culprit_utid, 'swap' AS culprit,
       least(CASE WHEN d.dur < 0 THEN w.end_ts ELSE d.ts + d.dur END, w.end_ts) - greatest(d.ts, w.begin_ts) AS ns,
       d.ts, 'waiting for pages that had been swapped out' AS what, NULL AS detail
FROM wait AS d JOIN matching AS m ON d.callsite_id = m.callsite_id, explain_window AS w
