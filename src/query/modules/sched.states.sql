-- sched.states: states of threads in words.

-- sched_state_to_human_readable_string('R+') -> 'Runnable (Preempted)'; what is unknown stays as it is.
CREATE PERFETTO FUNCTION sched_state_to_human_readable_string(short_name STRING) RETURNS STRING AS
SELECT coalesce(
  (SELECT words.text FROM (VALUES
    ('Running', 'Running'), ('R', 'Runnable'), ('R+', 'Runnable (Preempted)'), ('S', 'Sleeping'),
    ('D', 'Uninterruptible Sleep'), ('T', 'Stopped'), ('t', 'Traced'), ('X', 'Exit (Dead)'), ('Z', 'Exit (Zombie)'),
    ('x', 'Task Dead'), ('I', 'Idle'), ('K', 'Wakekill'), ('W', 'Waking'), ('P', 'Parked'), ('N', 'No Load')
  ) AS words(state, text) WHERE words.state = $short_name),
  $short_name);

-- The same with " (IO)" or " (non-IO)" behind it when io_wait is known.
CREATE PERFETTO FUNCTION sched_state_io_to_human_readable_string(sched_state STRING, io_wait BOOL) RETURNS STRING AS
SELECT coalesce(sched_state_to_human_readable_string($sched_state), '')
  || CASE WHEN $io_wait THEN ' (IO)' WHEN NOT $io_wait THEN ' (non-IO)' ELSE '' END;
