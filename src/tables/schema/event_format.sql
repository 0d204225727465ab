-- event_format: layouts of the recorded kernel events, as the traced kernel described them. A table of culprit's own.
--   name    the event: 'sched_switch' ...
--   format  the text of tracefs's format file, with the "print fmt" by which the kernel prints the event
CREATE TABLE event_format (
  name VARCHAR NOT NULL,
  format VARCHAR NOT NULL
);
