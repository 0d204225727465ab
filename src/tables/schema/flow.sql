-- flow: arrows between slices that programs drew: what one slice caused another to do.
--   id          number of the row
--   slice_out   the slice it comes from (slice.id)
--   slice_in    the slice it goes to (slice.id)
--   trace_id    the flow's number in the trace; several rows are one flow of several steps
--   arg_set_id  its arguments (args.arg_set_id); NULL for none
CREATE TABLE flow (
  id BIGINT NOT NULL,
  slice_out BIGINT NOT NULL,
  slice_in BIGINT NOT NULL,
  trace_id BIGINT,
  arg_set_id BIGINT
);
