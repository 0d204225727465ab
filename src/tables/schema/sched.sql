-- sched: who ran on each CPU, one row a stretch between two switches.
-- Each row has its row in thread_state with state 'Running', except those of the idle threads.
--   id            number of the row
--   ts            when the thread was switched in, ns
--   dur           how long it ran, ns; -1 when the switch out was not seen
--   cpu           the CPU it ran on
--   utid          the thread (thread.utid)
--   end_state     state in which it left the CPU: R (still runnable), R+ (preempted), S (sleep), D (uninterruptible
--                 sleep), T (stopped), t (traced), X (dead), Z (zombie), P (parked), I (idle); letters may join, as DK;
--                 NULL when the switch out was not seen
--   priority      the kernel's priority of the thread: below 100 real time, 120 for nice 0
--   ucpu          the same as cpu
--   ts_end        ts + dur
--   thread_state  the same as end_state
--   upid          the thread's process (process.upid); NULL when unknown
CREATE TABLE __intrinsic_sched_slice (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  dur BIGINT NOT NULL,
  cpu SMALLINT NOT NULL,
  utid INTEGER NOT NULL,
  upid INTEGER,
  priority SMALLINT,
  end_state sched_state
);

-- Stored narrow, shown as 64-bit integers and text, so that sums and products cannot overflow where SQLite's would not.
CREATE VIEW sched AS
SELECT id::BIGINT AS id, ts, dur, cpu::BIGINT AS cpu, utid::BIGINT AS utid, end_state::VARCHAR AS end_state,
       priority::BIGINT AS priority, cpu::BIGINT AS ucpu, ts + dur AS ts_end, end_state::VARCHAR AS thread_state,
       upid::BIGINT AS upid
FROM __intrinsic_sched_slice;
