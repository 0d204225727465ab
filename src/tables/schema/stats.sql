-- stats: what went wrong or was left out, in the recording and in loading; every view shows what is not 0.
--   id           number of the row
--   name         what is counted: 'ftrace_cpu_overrun_delta', 'unknown_packets' ...
--   key          number of the name
--   idx          which one of several, as the CPU; NULL when there is one
--   severity     'info', 'notice', 'data_loss' or 'error'
--   source       'trace' (while recording) or 'analysis' (while loading)
--   value        the count
--   description  what it means
--   machine_id   machine.id; NULL for those of the trace itself
--   trace_id     always 0: one file a load
CREATE TABLE stats (
  id BIGINT NOT NULL,
  name VARCHAR NOT NULL,
  key BIGINT,
  idx BIGINT,
  severity VARCHAR NOT NULL,
  source VARCHAR NOT NULL,
  value BIGINT NOT NULL,
  description VARCHAR,
  machine_id BIGINT,
  trace_id BIGINT
);
