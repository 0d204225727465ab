-- sched_slice: sched under its other name.
--   id            sched.id
--   ts            sched.ts
--   dur           sched.dur
--   cpu           sched.cpu
--   utid          sched.utid
--   end_state     sched.end_state
--   priority      sched.priority
--   ucpu          sched.ucpu
--   thread_state  sched.thread_state
--   upid          sched.upid
CREATE VIEW sched_slice AS
SELECT id, ts, dur, cpu, utid, end_state, priority, ucpu, thread_state, upid FROM sched;
