-- clock_snapshot: what several clocks showed at the same moment.
--   id           number of the row
--   ts           the moment in the trace's clock, ns
--   clock_id     the clock, by its number in the trace format
--   clock_name   'REALTIME', 'MONOTONIC', 'BOOTTIME' ...; NULL for clocks of a producer's own
--   clock_value  what it showed, ns
--   snapshot_id  rows of one moment share it
--   machine_id   machine.id
CREATE TABLE clock_snapshot (
  id BIGINT NOT NULL,
  ts BIGINT NOT NULL,
  clock_id BIGINT NOT NULL,
  clock_name VARCHAR,
  clock_value BIGINT NOT NULL,
  snapshot_id BIGINT NOT NULL,
  machine_id BIGINT
);
