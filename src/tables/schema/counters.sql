-- counters: counter with the name and unit of its track.
--   id          counter.id
--   ts          counter.ts
--   track_id    counter.track_id
--   value       counter.value
--   arg_set_id  counter.arg_set_id
--   name        counter_track.name
--   unit        counter_track.unit
CREATE VIEW counters AS
SELECT v.id, v.ts, v.track_id, v.value, v.arg_set_id, t.name, t.unit
FROM counter AS v
JOIN counter_track AS t ON v.track_id = t.id
ORDER BY v.ts, v.id;
