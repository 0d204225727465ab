-- thread_state: what each thread did at every moment, one row a stretch in one state.
-- The idle threads have no rows here.
--   id                number of the row
--   ts                when the state began, ns
--   dur               how long it lasted, ns; -1 when its end was not seen
--   cpu               the CPU it ran on; NULL unless state is 'Running'
--   utid              the thread (thread.utid)
--   state             'Running', or a state of sched.end_state: R and R+ wait for a CPU
--   io_wait           1 when it waited for I/O, 0 when not, NULL when the trace does not say
--   blocked_function  kernel function in which it slept; NULL when unknown
--   waker_utid        for R: the thread that woke it
--   waker_id          for R: the waker's row in this table at that time
--   irq_context       for R: 1 when it was woken from an interrupt, 0 when not
--   ucpu              the same as cpu
CREATE TABLE __intrinsic_thread_state (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  dur BIGINT NOT NULL,
  cpu SMALLINT,
  utid INTEGER NOT NULL,
  state sched_state,
  io_wait TINYINT,
  irq_context TINYINT,
  waker_utid INTEGER,
  waker_id INTEGER,
  target_cpu SMALLINT,
  blocked_function VARCHAR
);

CREATE VIEW thread_state AS
SELECT id::BIGINT AS id, ts, dur, cpu::BIGINT AS cpu, utid::BIGINT AS utid, state::VARCHAR AS state,
       io_wait::BIGINT AS io_wait, blocked_function, waker_utid::BIGINT AS waker_utid, waker_id::BIGINT AS waker_id,
       irq_context::BIGINT AS irq_context, cpu::BIGINT AS ucpu
FROM __intrinsic_thread_state;
