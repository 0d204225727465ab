-- process: the processes of the trace; pids are used again by the kernel, upids never are.
--   id               the same as upid
--   upid             number of the process in this trace
--   pid              the kernel's id of the process (what the kernel calls tgid)
--   name             its name: the first word of the command line, else the comm of its main thread
--   start_ts         when it was created, ns; NULL when that was not seen
--   end_ts           when its main thread was freed, ns; NULL when that was not seen
--   parent_upid      the process that created it; NULL when unknown
--   uid              user id; NULL when unknown
--   android_appid    always NULL here; for queries written for Android
--   android_user_id  always NULL here; for queries written for Android
--   cmdline          command line, words parted by blanks; NULL when unknown
--   arg_set_id       further arguments (args.arg_set_id); NULL for none
--   machine_id       machine.id
CREATE TABLE process (
  id BIGINT NOT NULL,
  upid BIGINT NOT NULL,
  pid BIGINT NOT NULL,
  name VARCHAR,
  start_ts BIGINT,
  end_ts BIGINT,
  parent_upid BIGINT,
  uid BIGINT,
  android_appid BIGINT,
  android_user_id BIGINT,
  cmdline VARCHAR,
  arg_set_id BIGINT,
  machine_id BIGINT
);
