-- id: memory.major_fault
-- severity: crit
-- needs: kernel stacks of D-state waits (sched/sched_switch; every preset of culprit record has them)
-- has: SELECT count(*) > 0 FROM blocked_stack
-- meaning: the victim touched pages of a mapped file (a program, a library, a data set) that were not in memory
-- remedy: read the file before (MADV_WILLNEED, vmtouch), keep it in memory (mlock), or leave more memory for the page cache
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
  WHERE n.name IN ('filemap_fault', '__do_fault', 'do_read_fault')
)
SELECT d.utid, 'kernel' AS culprit_type, NULL::BIGINT AS culprit_utid, 'page faults of files' AS culprit,
       least(CASE WHEN d.dur < 0 THEN w.end_ts ELSE d.ts + d.dur END, w.end_ts) - greatest(d.ts, w.begin_ts) AS ns,
       d.ts, 'waiting for pages of mapped files' AS what, NULL AS detail
FROM wait AS d JOIN matching AS m ON d.callsite_id = m.callsite_id, explain_window AS w
