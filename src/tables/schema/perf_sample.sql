-- perf_sample: where the sampled threads were, one row a sample.
--   id               number of the row
--   ts               when, ns
--   utid             the thread (thread.utid)
--   cpu              the CPU; NULL when not recorded
--   cpu_mode         "user", "kernel", "hypervisor", "guest_kernel", "guest_user" or "unknown"
--   callsite_id      the stack (stack_profile_callsite.id); NULL when there is none
--   unwind_error     why the stack ends before its root; NULL when it does not
--   perf_session_id  the event that was sampled (perf_session.id)
--   period           how many of the event the sample stands for: those since the one before it on its CPU;
--                    NULL when unknown; culprit's own column
CREATE TABLE __intrinsic_perf_sample (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  utid INTEGER NOT NULL,
  cpu SMALLINT,
  callsite_id INTEGER,
  perf_session_id INTEGER NOT NULL,
  period BIGINT,
  cpu_mode VARCHAR,
  unwind_error VARCHAR
);

CREATE VIEW perf_sample AS
SELECT id::BIGINT AS id, ts, utid::BIGINT AS utid, cpu::BIGINT AS cpu, coalesce(cpu_mode, 'unknown') AS cpu_mode,
       callsite_id::BIGINT AS callsite_id, unwind_error, perf_session_id::BIGINT AS perf_session_id, period
FROM __intrinsic_perf_sample;
