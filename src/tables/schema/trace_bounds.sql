-- trace_bounds: begin and end of the trace; one row.
-- trace_start(), trace_end() and trace_dur() give the same as functions.
--   start_ts  first moment, ns
--   end_ts    last moment, ns
CREATE TABLE trace_bounds (
  start_ts BIGINT NOT NULL,
  end_ts BIGINT NOT NULL
);

CREATE MACRO trace_start() AS (SELECT any_value(b.start_ts) FROM trace_bounds AS b);
CREATE MACRO trace_end() AS (SELECT any_value(b.end_ts) FROM trace_bounds AS b);
CREATE MACRO trace_dur() AS (SELECT any_value(b.end_ts - b.start_ts) FROM trace_bounds AS b);
