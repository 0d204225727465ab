-- thread: the threads of the trace; tids are used again by the kernel, utids never are.
-- The idle threads of all CPUs share tid 0 and are utid 0; their own names are cpu.idle_name.
--   id              the same as utid
--   utid            number of the thread in this trace
--   tid             the kernel's id of the thread (what the kernel calls pid)
--   name            last name (comm) seen; NULL when none was
--   start_ts        when it was created, ns; NULL when that was not seen
--   end_ts          when the kernel freed it, ns; NULL when that was not seen
--   upid            its process; NULL when unknown
--   is_main_thread  1 when tid is the pid of its process, 0 when not, NULL when the process is unknown
--   is_idle         1 for the idle thread, else 0
--   machine_id      machine.id
--   arg_set_id      further arguments (args.arg_set_id); NULL for none
CREATE TABLE thread (
  id BIGINT NOT NULL,
  utid BIGINT NOT NULL,
  tid BIGINT NOT NULL,
  name VARCHAR,
  start_ts BIGINT,
  end_ts BIGINT,
  upid BIGINT,
  is_main_thread BIGINT,
  is_idle BIGINT,
  machine_id BIGINT,
  arg_set_id BIGINT
);
