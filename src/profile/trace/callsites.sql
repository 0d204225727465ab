-- callsites: the tree of stacks, callers first.
--   id, parent_id, frame_id
SELECT id, parent_id, frame_id FROM stack_profile_callsite ORDER BY depth, id;
