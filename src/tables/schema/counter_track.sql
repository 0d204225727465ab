-- counter_track: the tracks that hold counters.
--   id                    track.id
--   name                  track.name
--   parent_id             track.parent_id
--   type                  track.type
--   dimension_arg_set_id  track.dimension_arg_set_id
--   source_arg_set_id     track.source_arg_set_id
--   machine_id            machine.id
--   unit                  unit of the values; often NULL
--   description           what is counted; often NULL
CREATE VIEW counter_track AS
SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id, counter_unit AS unit,
       description
FROM __intrinsic_track
WHERE event_type = 'counter';
