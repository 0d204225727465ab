-- cpu_track: the tracks whose slices belong to a CPU: interrupts and softirqs.
--   id                 track.id
--   name               track.name
--   type               track.type
--   parent_id          track.parent_id
--   source_arg_set_id  track.source_arg_set_id
--   machine_id         machine.id
--   cpu                the CPU (cpu.cpu)
CREATE VIEW cpu_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, cpu
FROM __intrinsic_track
WHERE event_type = 'slice' AND cpu IS NOT NULL;
