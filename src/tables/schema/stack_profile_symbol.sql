-- stack_profile_symbol: lines of source of a frame, several when functions were inlined.
--   id             number of the row
--   symbol_set_id  rows of one frame share it
--   name           the function
--   source_file    its source file; NULL when unknown
--   line_number    its line; NULL when unknown
--   inlined        1 when it was inlined into the next
CREATE TABLE stack_profile_symbol (
  id BIGINT NOT NULL,
  symbol_set_id BIGINT NOT NULL,
  name VARCHAR,
  source_file VARCHAR,
  line_number BIGINT,
  inlined BIGINT
);
