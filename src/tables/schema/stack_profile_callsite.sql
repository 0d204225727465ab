-- stack_profile_callsite: stacks as a tree: a row is a frame and the callsite that called it.
--   id         number of the row; a stack is named by its innermost one
--   depth      number of callers above it
--   parent_id  the caller's row; NULL for the outermost
--   frame_id   the function (stack_profile_frame.id)
CREATE TABLE stack_profile_callsite (
  id BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  parent_id BIGINT,
  frame_id BIGINT NOT NULL
);
