-- ftrace_event: every event of the kernel as it was recorded; for looking closely, not for reports.
--   id            number of the row
--   ts            when, ns
--   name          the event: 'sched_switch', 'block_rq_issue' ...
--   cpu           the CPU it happened on
--   utid          the thread that ran there
--   arg_set_id    its fields (args.arg_set_id)
--   common_flags  the kernel's flags of the event: interrupts off, in hard or soft interrupt ...; NULL when not recorded
--   ucpu          the same as cpu
CREATE VIEW ftrace_event AS
SELECT id::BIGINT AS id, ts, name::VARCHAR AS name, cpu::BIGINT AS cpu, utid::BIGINT AS utid,
       arg_set_id::BIGINT AS arg_set_id, common_flags::BIGINT AS common_flags, cpu::BIGINT AS ucpu
FROM __intrinsic_ftrace_event;
