-- linux.memory.general: counters of processes as intervals.

-- _all_counters_per_process: one row a sample of a counter of a process.
--   ts, dur   until the next sample, or 1 ns past the end of the process or trace
--   upid, value, track_id, name
CREATE PERFETTO VIEW _all_counters_per_process AS
SELECT c.ts,
       coalesce(lead(c.ts) OVER (PARTITION BY c.track_id ORDER BY c.ts), coalesce(p.end_ts, trace_end()) + 1) - c.ts
         AS dur,
       k.upid, c.value, c.track_id, k.name
FROM counter AS c
JOIN process_counter_track AS k ON c.track_id = k.id
LEFT JOIN process AS p ON k.upid = p.upid
WHERE k.upid IS NOT NULL;
