-- metadata: facts about the recording, one row a fact.
--   id          number of the row
--   name        the fact: 'system_release', 'trace_size_bytes' ...
--   key_type    'single', or 'multi' when several rows may have the name
--   int_value   its value when it is a number
--   str_value   its value when it is text
--   machine_id  machine.id; NULL for facts of the trace itself
--   trace_id    always 0: one file a load
CREATE TABLE metadata (
  id BIGINT NOT NULL,
  name VARCHAR NOT NULL,
  key_type VARCHAR,
  int_value BIGINT,
  str_value VARCHAR,
  machine_id BIGINT,
  trace_id BIGINT
);
