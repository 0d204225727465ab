-- linux.memory.process: resident memory and swap of processes over time.
INCLUDE PERFETTO MODULE linux.memory.general;

CREATE PERFETTO VIEW _anon_rss AS
SELECT ts, dur, upid, value AS anon FROM _all_counters_per_process WHERE name = 'mem.rss.anon';
CREATE PERFETTO VIEW _file_rss AS
SELECT ts, dur, upid, value AS file FROM _all_counters_per_process WHERE name = 'mem.rss.file';
CREATE PERFETTO VIEW _shmem_rss AS
SELECT ts, dur, upid, value AS shmem FROM _all_counters_per_process WHERE name = 'mem.rss.shmem';
CREATE PERFETTO VIEW _swap AS
SELECT ts, dur, upid, value AS swapped FROM _all_counters_per_process WHERE name = 'mem.swap';
CREATE VIRTUAL TABLE _anon_swap USING SPAN_OUTER_JOIN(_anon_rss PARTITIONED upid, _swap PARTITIONED upid);
CREATE VIRTUAL TABLE _anon_swap_file USING SPAN_OUTER_JOIN(_anon_swap PARTITIONED upid, _file_rss PARTITIONED upid);
CREATE VIRTUAL TABLE _rss_and_swap USING SPAN_OUTER_JOIN(_anon_swap_file PARTITIONED upid, _shmem_rss PARTITIONED upid);
CREATE PERFETTO TABLE _memory_rss_and_swap_per_process_table AS
SELECT ts, dur, upid, CAST(anon AS INT) AS anon_rss, CAST(file AS INT) AS file_rss, CAST(shmem AS INT) AS shmem_rss,
       CAST(swapped AS INT) AS swap
FROM _rss_and_swap;

-- memory_rss_and_swap_per_process: one row a stretch in which nothing changes; bytes.
--   ts, dur                                 the stretch, ns
--   upid, pid, process_name                 the process
--   anon_rss, file_rss, shmem_rss, swap     as sampled; NULL before the first sample
--   rss                                     anonymous, file and shared memory together
--   anon_rss_and_swap, rss_and_swap         sums with what is swapped out
CREATE PERFETTO VIEW memory_rss_and_swap_per_process(
  ts TIMESTAMP, dur DURATION, upid JOINID(process.id), pid LONG, process_name STRING, anon_rss LONG, file_rss LONG,
  shmem_rss LONG, rss LONG, swap LONG, anon_rss_and_swap LONG, rss_and_swap LONG) AS
SELECT m.ts, m.dur, m.upid, p.pid, p.name, m.anon_rss, m.file_rss, m.shmem_rss,
       m.anon_rss + m.file_rss + coalesce(m.shmem_rss, 0), m.swap, m.anon_rss + coalesce(m.swap, 0),
       m.anon_rss + m.file_rss + coalesce(m.shmem_rss, 0) + coalesce(m.swap, 0)
FROM _memory_rss_and_swap_per_process_table AS m
JOIN process AS p ON m.upid = p.upid;
