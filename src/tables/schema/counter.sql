-- counter: values that change over time, one row a sample; a value holds until the next row of its track.
--   id          number of the row
--   ts          when, ns
--   track_id    what is counted (counter_track.id)
--   value       the value
--   arg_set_id  further arguments (args.arg_set_id); NULL for none
CREATE TABLE __intrinsic_counter (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  track_id INTEGER NOT NULL,
  value DOUBLE NOT NULL,
  arg_set_id INTEGER
);

CREATE VIEW counter AS
SELECT id::BIGINT AS id, ts, track_id::BIGINT AS track_id, value, arg_set_id::BIGINT AS arg_set_id
FROM __intrinsic_counter;
