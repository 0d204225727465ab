-- perf_session: the events that were sampled, one row an event and recorder.
--   id               number of the row
--   perf_session_id  the same number
--   cmdline          command line of the recorder; NULL for traces in Perfetto's format
--   event            the event, as perf calls it: "cycles", "cpu-clock", "sched:sched_switch"; culprit's own column
--   unit             what it counts: "ns", "cycles", "count"; NULL when unknown; culprit's own column
--   frequency_hz     samples a second that were asked for; NULL when it was a period; culprit's own column
--   period           events from sample to sample that were asked for; NULL when it was a frequency; culprit's own column
CREATE TABLE perf_session (
  id BIGINT NOT NULL,
  perf_session_id BIGINT NOT NULL,
  cmdline VARCHAR,
  event VARCHAR NOT NULL,
  unit VARCHAR,
  frequency_hz BIGINT,
  period BIGINT
);
