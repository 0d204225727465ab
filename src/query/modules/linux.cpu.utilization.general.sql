-- linux.cpu.utilization.general: what the other modules of this package share.
INCLUDE PERFETTO MODULE linux.cpu.frequency;
INCLUDE PERFETTO MODULE intervals.intersect;
INCLUDE PERFETTO MODULE time.conversion;

-- _cpu_avg_utilization_per_period!(interval, table of ts, ts_end) -> ts, utilization, unnormalized_utilization: a row
-- a period (a multiple of interval) in which any of the stretches lies; each counts in all periods that it crosses.
CREATE PERFETTO MACRO _cpu_avg_utilization_per_period(interval Expr, sched_table TableOrSubquery)
RETURNS TableOrSubquery AS (
  SELECT part.ts, CAST(part.busy AS REAL) / ($interval * (SELECT max(c.cpu) + 1 FROM sched AS c)) AS utilization,
         CAST(part.busy AS REAL) / $interval AS unnormalized_utilization
  FROM (
    SELECT cut.ts, sum(min(cut.busy_end, cut.ts + $interval) - max(cut.busy_ts, cut.ts)) AS busy
    FROM (
      SELECT busy.ts AS busy_ts, busy.ts_end AS busy_end,
             CAST(unnest(range(busy.ts / $interval, (busy.ts_end - 1) / $interval + 1)) AS INT) * $interval AS ts
      FROM $sched_table AS busy WHERE busy.ts_end > busy.ts
    ) AS cut
    GROUP BY cut.ts
  ) AS part
  ORDER BY part.ts
);

CREATE PERFETTO VIEW _cpu_freq_for_metrics AS
SELECT id AS counter_id, ts, dur, cpu, ucpu, freq FROM cpu_frequency_counters WHERE freq IS NOT NULL;
CREATE PERFETTO VIEW _sched_without_idle AS
SELECT ts, dur, utid, ucpu FROM sched
WHERE dur != -1 AND utid NOT IN (SELECT utid FROM thread WHERE is_idle);
CREATE VIRTUAL TABLE _cpu_freq_per_thread_span_join USING SPAN_LEFT_JOIN(
  _sched_without_idle PARTITIONED ucpu, _cpu_freq_for_metrics PARTITIONED ucpu);

-- _cpu_freq_per_thread: who ran, split where the frequency of the CPU changes; freq NULL where it is not known.
CREATE PERFETTO TABLE _cpu_freq_per_thread AS
SELECT row_number() OVER () - 1 AS id, ts, dur, ucpu, cpu, utid, freq, counter_id FROM _cpu_freq_per_thread_span_join;
