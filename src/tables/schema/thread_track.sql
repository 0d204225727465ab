-- thread_track: the tracks whose slices belong to a thread.
--   id                 track.id
--   name               track.name
--   type               track.type
--   parent_id          track.parent_id
--   source_arg_set_id  track.source_arg_set_id
--   machine_id         machine.id
--   utid               the thread (thread.utid)
CREATE VIEW thread_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid
FROM __intrinsic_track
WHERE event_type = 'slice' AND utid IS NOT NULL;
