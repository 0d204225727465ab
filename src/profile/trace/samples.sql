-- samples: every sample of an event; those of switches and wakeups are no samples of running code and stand only when
-- they are asked for ($1 true).
--   ts, utid, cpu, callsite_id, event, unwind_error
--   unit    "ns", "cycles" ...; NULL when unknown
--   period  how much of the event the sample stands for; NULL when that is not known of all samples of the event
SELECT p.ts, p.utid, p.cpu, p.callsite_id, p.unwind_error, s.event, s.unit,
       CASE WHEN bool_and(p.period IS NOT NULL) OVER (PARTITION BY p.perf_session_id) THEN p.period END AS period
FROM perf_sample AS p JOIN perf_session AS s USING (perf_session_id)
WHERE $1 OR s.event NOT LIKE 'sched_sched_%'
ORDER BY p.ts, p.id;
