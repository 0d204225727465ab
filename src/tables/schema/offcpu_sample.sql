-- offcpu_sample: stretches without a CPU whose stack was recorded at the switch, one row a stretch. A table of
-- culprit's own, made of the samples of sched:sched_switch and sched:sched_waking and of thread_state.
--   utid               the thread
--   ts                 when it left the CPU, ns
--   dur                until it had one again, ns; -1 when the end was not seen
--   blocked_ns         of it, not able to run, ns; up to the end of the trace when the end was not seen
--   runnable_ns        of it, able to run and without a CPU, ns
--   callsite_id        where it left the CPU (stack_profile_callsite.id); NULL when there is no stack
--   waker_callsite_id  where the thread that woke it was then; NULL when there is no stack
CREATE TABLE offcpu_sample (
  utid BIGINT NOT NULL,
  ts BIGINT NOT NULL,
  dur BIGINT NOT NULL,
  blocked_ns BIGINT NOT NULL,
  runnable_ns BIGINT NOT NULL,
  callsite_id BIGINT,
  waker_callsite_id BIGINT
);
