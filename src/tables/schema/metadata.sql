-- metadata: facts about the recording, one row a fact.
-- Names are Perfetto's. Beside those: user_hz, page_size, num_cpus, machine_name, trace_duration_ms. trace_uuid is there
-- when the recorder wrote one and is not made up from the file.
--   id          number of the row
--   name        the fact: 'system_release', 'trace_size_bytes' ...
--   key_type    'single', or 'multi' when several rows may have the name
--   int_value   its value when it is a number
--   str_value   its value when it is text
--   machine_id  machine.id; NULL for facts of the trace itself
--   trace_id    0 for facts of the trace, NULL for those of its machine
CREATE TABLE metadata (
  id BIGINT NOT NULL,
  name VARCHAR NOT NULL,
  key_type VARCHAR,
  int_value BIGINT,
  str_value VARCHAR,
  machine_id BIGINT,
  trace_id BIGINT
);
