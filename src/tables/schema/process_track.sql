-- process_track: the tracks whose slices belong to a process.
--   id                 track.id
--   name               track.name
--   type               track.type
--   parent_id          track.parent_id
--   source_arg_set_id  track.source_arg_set_id
--   machine_id         machine.id
--   upid               the process (process.upid)
CREATE VIEW process_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
FROM __intrinsic_track
WHERE event_type = 'slice' AND upid IS NOT NULL;
