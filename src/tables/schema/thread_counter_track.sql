-- thread_counter_track: the tracks whose counters belong to a thread.
--   id                 track.id
--   name               track.name
--   type               track.type
--   parent_id          track.parent_id
--   source_arg_set_id  track.source_arg_set_id
--   machine_id         machine.id
--   unit               unit of the values; often NULL
--   description        what is counted; often NULL
--   utid               the thread (thread.utid)
CREATE VIEW thread_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit AS unit, description, utid
FROM __intrinsic_track
WHERE event_type = 'counter' AND utid IS NOT NULL;
