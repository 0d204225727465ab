// Which share of a victim's time makes a finding of a rule in rules/, and why that much.
#include <array>

#include "analysis/sql_rules.h"
#include "analysis/walk_rule_table.h"

namespace culprit::analysis {
namespace {

constexpr std::int64_t kMs = 1'000'000;

constexpr std::array kRules = {
    SqlRule{"checkpoint.writer", "disk", 0.05, 0.20, 50 * kMs,
            "as disk.wait: a loader that reads ahead waits for less than 5 % of its time"},
    SqlRule{"disk.saturated", "disk", 0.05, 0.20, 50 * kMs,
            "as disk.wait; a disk that is busy 80 % of the time with two in flight has a queue"},
    SqlRule{"frequency.below_max", "frequency", 0.10, 0.30, 100 * kMs,
            "governors take some time to go up; a tenth of the work is felt"},
    SqlRule{"irq.storm", "irq", 0.05, 0.15, 50 * kMs,
            "a busy network card takes 1 to 2 % of a CPU, a compile's disk requests less"},
    SqlRule{"memory.compaction", "memory", 0.03, 0.10, 50 * kMs,
            "a node with memory to spare does not compact while a thread waits"},
    SqlRule{"memory.major_fault", "memory", 0.05, 0.20, 50 * kMs,
            "programs start cold: some hundred faults of 0.1 ms; a job that runs has none"},
    SqlRule{"memory.pressure", "memory", kNever, kNever, 0,
            "about the machine, not about a victim"},
    SqlRule{"memory.reclaim", "memory", 0.03, 0.10, 50 * kMs,
            "kswapd does it beside the work: a thread that reclaims itself is out of memory"},
    SqlRule{"memory.swap_in", "memory", 0.02, 0.10, 20 * kMs,
            "memory in use is not swapped out on a healthy node"},
    SqlRule{"numa.balancing", "numa", kNever, kNever, 0, "about the machine, not about a victim"},
    SqlRule{"sched.migration", "scheduler", kNever, kNever, 0,
            "moving a thread to a CPU that is free is what the scheduler is for"},
    SqlRule{"throttle.cgroup", "throttle", kNever, kNever, 0,
            "about the machine; cpu.throttled judges what it cost the victims"},
};

}  // namespace

std::span<const SqlRule> SqlRules() { return kRules; }

}  // namespace culprit::analysis
