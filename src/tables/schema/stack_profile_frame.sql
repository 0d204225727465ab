-- stack_profile_frame: the functions of stacks, one row a place in code.
--   id                 number of the row
--   name               the function; NULL or '' when there is no symbol
--   mapping            the file it lies in (stack_profile_mapping.id)
--   rel_pc             address, relative to the file
--   symbol_set_id      its lines of source (stack_profile_symbol.symbol_set_id); NULL when unknown
--   deobfuscated_name  readable name of an obfuscated one; NULL for none
CREATE TABLE stack_profile_frame (
  id BIGINT NOT NULL,
  name VARCHAR,
  mapping BIGINT,
  rel_pc BIGINT,
  symbol_set_id BIGINT,
  deobfuscated_name VARCHAR
);
