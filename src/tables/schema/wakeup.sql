-- wakeup: who woke whom, one row a wakeup. A table of culprit's own.
--   ts               when, ns
--   waker_utid       the thread that ran on the waking CPU
--   wakee_utid       the thread that was woken
--   target_cpu       the CPU that the wakeup names; sched_waking comes before the kernel picks one, so it may be the
--                    CPU the thread ran on before
--   irq_context      1 when the wakeup came from an interrupt, so that waker_utid only happened to run there; else 0
--   thread_state_id  the row of thread_state that it began, or into which it fell when spurious
--   spurious         1 when the thread was not asleep, else 0
CREATE VIEW wakeup AS
SELECT ts, waker_utid::BIGINT AS waker_utid, utid::BIGINT AS wakee_utid, target_cpu::BIGINT AS target_cpu,
       irq_context::BIGINT AS irq_context, id::BIGINT AS thread_state_id, 0::BIGINT AS spurious
FROM __intrinsic_thread_state
WHERE waker_utid IS NOT NULL
UNION ALL
SELECT ts, waker_utid::BIGINT, utid::BIGINT, target_cpu::BIGINT, irq_context::BIGINT, thread_state_id::BIGINT,
       1::BIGINT
FROM __intrinsic_spurious_sched_wakeup;
