-- process_counter_track: the tracks whose counters belong to a process.
--   id                 track.id
--   name               track.name
--   type               track.type
--   parent_id          track.parent_id
--   source_arg_set_id  track.source_arg_set_id
--   machine_id         machine.id
--   unit               unit of the values; often NULL
--   description        what is counted; often NULL
--   upid               the process (process.upid)
CREATE VIEW process_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit, description, upid
FROM __intrinsic_track
WHERE event_type = 'counter' AND upid IS NOT NULL;
