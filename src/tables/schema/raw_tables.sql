-- Tables of the kernel's events as they were recorded, with types for the names that the trace has: made empty with the
-- schema, and again from __raw_name (kind, name) when a query first asks for them.
DROP TABLE IF EXISTS __intrinsic_ftrace_event;
DROP TABLE IF EXISTS __intrinsic_ftrace_args;
DROP TYPE IF EXISTS ftrace_name;
DROP TYPE IF EXISTS ftrace_key;
CREATE TYPE ftrace_name AS ENUM (SELECT name FROM __raw_name WHERE kind = 'event' ORDER BY name);
CREATE TYPE ftrace_key AS ENUM (SELECT name FROM __raw_name WHERE kind = 'key' ORDER BY name);

CREATE TABLE __intrinsic_ftrace_event (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  name ftrace_name NOT NULL,
  cpu SMALLINT NOT NULL,
  utid INTEGER,
  arg_set_id INTEGER,
  common_flags SMALLINT
);

CREATE TABLE __intrinsic_ftrace_args (
  id INTEGER NOT NULL,
  arg_set_id INTEGER NOT NULL,
  int_value BIGINT,
  value_type arg_type NOT NULL,
  key ftrace_key NOT NULL,
  string_value VARCHAR
);
