-- blocked_stack: kernel stacks of threads at the moment they went to sleep. A table of culprit's own.
--   ts               when the thread left the CPU, ns
--   utid             the thread
--   thread_state_id  its row of thread_state that began then; NULL when there is none
--   callsite_id      the stack (stack_profile_callsite.id)
CREATE TABLE blocked_stack (
  ts BIGINT NOT NULL,
  utid BIGINT NOT NULL,
  thread_state_id BIGINT,
  callsite_id BIGINT NOT NULL
);
