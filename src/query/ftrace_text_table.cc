#include "query/ftrace_text_table.h"

namespace culprit::query {
namespace {

constexpr std::string_view kTask = "comm={comm} pid={pid} prio={prio}";
constexpr std::string_view kWakeup = "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:03}";
constexpr std::string_view kPower = "state={state} cpu_id={cpu_id}";
constexpr std::string_view kSoftirq = "vec={vec} [action={vec:vec}]";
constexpr std::string_view kBlockIssue =
    "{dev:dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} [{comm}]";

constexpr EventWording kWordings[] = {
    {"sched_switch",
     "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} "
     "prev_state={prev_state:state} ==> next_comm={next_comm} next_pid={next_pid} "
     "next_prio={next_prio}"},
    {"sched_waking", kWakeup},
    {"sched_wakeup", kWakeup},
    {"sched_wakeup_new", kWakeup},
    {"sched_migrate_task",
     "comm={comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"},
    {"sched_process_fork",
     "comm={parent_comm} pid={parent_pid} child_comm={child_comm} child_pid={child_pid}"},
    {"sched_process_exec", "filename={filename} pid={pid} old_pid={old_pid}"},
    {"sched_process_exit", kTask},
    {"sched_process_free", kTask},
    {"sched_process_wait", kTask},
    {"sched_blocked_reason", "pid={pid} iowait={io_wait} caller={caller:x}"},
    {"task_newtask",
     "pid={pid} comm={comm} clone_flags={clone_flags:x} oom_score_adj={oom_score_adj}"},
    {"task_rename", "pid={pid} oldcomm={oldcomm} newcomm={newcomm} oom_score_adj={oom_score_adj}"},
    {"irq_handler_entry", "irq={irq} name={name}"},
    {"irq_handler_exit", "irq={irq} ret={ret:ret}"},
    {"softirq_entry", kSoftirq},
    {"softirq_exit", kSoftirq},
    {"softirq_raise", kSoftirq},
    {"cpu_frequency", kPower},
    {"cpu_idle", kPower},
    {"block_rq_insert", kBlockIssue},
    {"block_rq_issue", kBlockIssue},
    {"block_rq_complete", "{dev:dev} {rwbs} ({cmd}) {sector} + {nr_sector} [{error}]"},
    {"print", "{buf}"},
};

}  // namespace

std::span<const EventWording> EventWordings() { return kWordings; }

}  // namespace culprit::query
