-- slice: named stretches of time: trace markers of programs, system calls, interrupts, softirqs ...
--   id                        number of the row
--   ts                        when it began, ns
--   dur                       how long it lasted, ns; 0 for an instant, -1 when its end was not seen
--   track_id                  the line it lies on (track.id)
--   category                  its category; NULL for most
--   name                      its name
--   depth                     how many slices of the track hold it
--   parent_id                 the slice that holds it; NULL at depth 0
--   arg_set_id                its arguments (args.arg_set_id); NULL for none
--   thread_ts                 CPU time of the thread at its begin, ns; NULL when not recorded
--   thread_dur                CPU time it took, ns; NULL when not recorded
--   thread_instruction_count  instructions of the thread at its begin; NULL when not recorded
--   thread_instruction_delta  instructions it took; NULL when not recorded
--   cat                       the same as category
--   slice_id                  the same as id
CREATE TABLE __intrinsic_slice (
  id INTEGER NOT NULL,
  ts BIGINT NOT NULL,
  dur BIGINT NOT NULL,
  track_id INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  parent_id INTEGER,
  arg_set_id INTEGER,
  category VARCHAR,
  name VARCHAR
);

CREATE VIEW slice AS
SELECT id::BIGINT AS id, ts, dur, track_id::BIGINT AS track_id, category, name, depth::BIGINT AS depth,
       parent_id::BIGINT AS parent_id, arg_set_id::BIGINT AS arg_set_id, NULL::BIGINT AS thread_ts,
       NULL::BIGINT AS thread_dur, NULL::BIGINT AS thread_instruction_count,
       NULL::BIGINT AS thread_instruction_delta, category AS cat, id::BIGINT AS slice_id
FROM __intrinsic_slice;
