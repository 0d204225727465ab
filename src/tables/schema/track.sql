-- track: the lines on which slices and counters lie.
--   id                    number of the track
--   name                  its name; NULL for some, as those of threads
--   type                  what it holds: 'thread_execution', 'cpu_frequency', 'cpu_irq' ...
--   dimension_arg_set_id  arguments that tell it from others of its type (args.arg_set_id): 'utid', 'upid', 'cpu', and of
--                         counters of /proc what is counted; NULL for none
--   parent_id             the track it belongs to; NULL for none
--   source_arg_set_id     NULL: where a track was described is not kept
--   machine_id            machine.id
--   track_group_id        tracks of one group are one line that overlapped; NULL for none
CREATE TABLE __intrinsic_track (
  id BIGINT NOT NULL,
  name VARCHAR,
  type VARCHAR NOT NULL,
  event_type VARCHAR NOT NULL,
  dimension_arg_set_id BIGINT,
  parent_id BIGINT,
  source_arg_set_id BIGINT,
  machine_id BIGINT,
  track_group_id BIGINT,
  utid BIGINT,
  upid BIGINT,
  cpu BIGINT,
  counter_unit VARCHAR,
  description VARCHAR
);

CREATE VIEW track AS
SELECT id, name, type, dimension_arg_set_id, parent_id, source_arg_set_id, machine_id, track_group_id
FROM __intrinsic_track;
