-- lost_gap: stretches in which events of a CPU were lost. A table of culprit's own.
-- What ran or waited across one is not known; slices and states that were open are closed at its begin.
--   cpu       the CPU
--   begin_ts  last event before, ns; NULL when there was none
--   end_ts    first event after, ns
--   events    how many were lost; NULL when the kernel did not count them
CREATE TABLE lost_gap (
  cpu BIGINT NOT NULL,
  begin_ts BIGINT,
  end_ts BIGINT NOT NULL,
  events BIGINT
);
