-- stack_profile_mapping: files mapped into memory in which frames of stacks lie.
--   id            number of the row
--   build_id      its build id, hexadecimal; '' for none
--   exact_offset  offset in the file of the frame's place; 0 when unknown
--   start_offset  offset in the file of the mapping's begin
--   start         first address
--   end           address behind the last
--   load_bias     what is added to the file's own addresses
--   name          path of the file; "[kernel]" for the kernel
CREATE TABLE stack_profile_mapping (
  id BIGINT NOT NULL,
  build_id VARCHAR,
  exact_offset BIGINT,
  start_offset BIGINT,
  start BIGINT,
  "end" BIGINT,
  load_bias BIGINT,
  name VARCHAR
);
