-- args: arguments of events, slices and tracks, one row a key of a set.
-- Elements of an array have a row each ('args[0]'), of an ftrace event too, where Perfetto keeps one row of all.
--   id             number of the row
--   arg_set_id     the set; rows that have arguments name their set
--   flat_key       the key without the indexes of arrays
--   key            the key
--   int_value      the value when value_type is int, uint, pointer or bool
--   string_value   the value when value_type is string or json
--   real_value     the value when value_type is real
--   value_type     'int', 'uint', 'string', 'real', 'pointer', 'bool', 'json' or 'null'
--   display_value  the value as text
CREATE TABLE __intrinsic_args (
  id INTEGER NOT NULL,
  arg_set_id INTEGER NOT NULL,
  int_value BIGINT,
  real_value DOUBLE,
  value_type arg_type NOT NULL,
  flat_key VARCHAR NOT NULL,
  key VARCHAR NOT NULL,
  string_value VARCHAR
);

CREATE VIEW args AS
WITH every AS (
  SELECT id + 2147483648 AS id, arg_set_id::BIGINT AS arg_set_id, flat_key, key, int_value, string_value, real_value,
         value_type
  FROM __intrinsic_args
  UNION ALL
  SELECT id::BIGINT, arg_set_id::BIGINT, split_part(key::VARCHAR, '[', 1), key::VARCHAR, int_value, string_value, NULL, value_type
  FROM __intrinsic_ftrace_args
)
SELECT id, arg_set_id, flat_key, key, int_value, string_value, real_value, value_type::VARCHAR AS value_type,
       CASE value_type
         WHEN 'int' THEN int_value::VARCHAR
         WHEN 'uint' THEN (CASE WHEN int_value < 0 THEN int_value::HUGEINT + 18446744073709551616
                                ELSE int_value END)::VARCHAR
         WHEN 'string' THEN string_value
         WHEN 'real' THEN real_value::VARCHAR
         WHEN 'pointer' THEN printf('0x%x', int_value)
         WHEN 'bool' THEN CASE WHEN int_value <> 0 THEN 'true' ELSE 'false' END
         WHEN 'json' THEN string_value
       END AS display_value
FROM every;

-- The value of one key of a set; NULL when it has no such key.
CREATE MACRO __arg_int(set_id, wanted) AS (
  SELECT any_value(a.int_value) FROM args AS a WHERE a.arg_set_id = set_id AND a.key = wanted);
CREATE MACRO __arg_real(set_id, wanted) AS (
  SELECT any_value(coalesce(a.real_value, a.int_value)) FROM args AS a
  WHERE a.arg_set_id = set_id AND a.key = wanted);
CREATE MACRO __arg_text(set_id, wanted) AS (
  SELECT any_value(a.display_value) FROM args AS a WHERE a.arg_set_id = set_id AND a.key = wanted);
