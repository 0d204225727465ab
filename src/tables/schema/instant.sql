-- instant: the slices that are a moment.
--   ts          when, ns
--   track_id    the line it lies on (track.id)
--   name        its name
--   arg_set_id  its arguments (args.arg_set_id); NULL for none
CREATE VIEW instant AS
SELECT ts, track_id, name, arg_set_id FROM slice WHERE dur = 0;
