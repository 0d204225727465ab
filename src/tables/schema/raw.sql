-- raw: ftrace_event under its old name.
--   id            ftrace_event.id
--   ts            ftrace_event.ts
--   name          ftrace_event.name
--   cpu           ftrace_event.cpu
--   utid          ftrace_event.utid
--   arg_set_id    ftrace_event.arg_set_id
--   common_flags  ftrace_event.common_flags
--   ucpu          ftrace_event.ucpu
CREATE VIEW raw AS SELECT * FROM ftrace_event;
