-- spurious_sched_wakeup: wakeups of threads that were not asleep; they change no state.
--   id               number of the row
--   ts               when, ns
--   thread_state_id  the row of thread_state it fell into
--   irq_context      1 when it came from an interrupt, 0 when not
--   utid             the thread that was woken
--   waker_utid       the thread that woke it
CREATE TABLE __intrinsic_spurious_sched_wakeup (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  thread_state_id INTEGER,
  irq_context TINYINT,
  utid INTEGER NOT NULL,
  waker_utid INTEGER,
  target_cpu SMALLINT
);

CREATE VIEW spurious_sched_wakeup AS
SELECT id::BIGINT AS id, ts, thread_state_id::BIGINT AS thread_state_id, irq_context::BIGINT AS irq_context,
       utid::BIGINT AS utid, waker_utid::BIGINT AS waker_utid
FROM __intrinsic_spurious_sched_wakeup;
