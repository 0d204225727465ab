#include "analysis/walk_rule_table.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace culprit::analysis {
namespace {

constexpr std::int64_t kMs = 1'000'000;

constexpr std::array kRules = {
    WalkRule{rule::kNeighbour, "cpu", 0.05, 0.15, 50 * kMs,
             "threads of another process ran on the CPU in whose queue a victim stood ready",
             "daemons of a healthy node take 1 to 2 % of a CPU; a step that is 5 % longer is felt",
             "keep the other process off the victim's CPUs, or give it less weight",
             "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kInversion, "cpu", 0.05, 0.15, 50 * kMs,
             "a thread that the victim waited for stood ready while a thread ran that has better "
             "priority than it, and not than the victim",
             "as cpu.neighbour",
             "use a lock with priority inheritance, or raise the priority of whoever holds it",
             "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kKernelThread, "cpu", 0.05, 0.15, 50 * kMs,
             "kernel threads ran on the CPU in whose queue a victim stood ready",
             "kernel threads of a quiet node take less than 1 % of a CPU",
             "find whose work they do (culprit record workqueue); keep it off these CPUs",
             "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kOversubscribed, "cpu", 0.15, 0.40, 100 * kMs,
             "the victims stand ready while their own kind runs: more workers than CPUs",
             "two workers that share a CPU now and then cost each other some 10 %",
             "run no more workers than there are CPUs", "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kIrq, "irq", 0.03, 0.10, 50 * kMs,
             "the victim's CPU served interrupts and softirqs",
             "a busy network card takes 1 to 2 % of a CPU",
             "move the interrupt to other CPUs, or the victim away from it",
             "irq/irq_handler_*, irq/softirq_*"},
    WalkRule{rule::kThrottled, "throttle", 0.03, 0.15, 50 * kMs,
             "the victim's cgroup had used up its CPU quota",
             "a quota that is meant is not felt: below 3 % it only rounds off peaks",
             "raise cpu.max, or run fewer threads in the cgroup",
             "stats (cgroup counters), sched/sched_switch"},
    WalkRule{rule::kIdle, "scheduler", kNever, kNever, 100 * kMs,
             "the victim stood ready in the queue of a CPU that was idle",
             "told and no more: a late wakeup, a CPU that the host took (steal) and threads that a "
             "sandbox hides all look like this",
             "look at idle states (cpupower idle-info) and, in a guest, at steal time",
             "sched/sched_switch, sched/sched_waking"},
    WalkRule{
        rule::kHolder, "lock", 0.10, 0.30, 100 * kMs,
        "threads of one process wake each other in turns, as at a lock, and one of them had it "
        "most of the time",
        "locks that are held for a tenth of the time stop scaling at ten threads",
        "hold the lock for less: see what that thread does in it (culprit flame)",
        "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kConvoy, "lock", 0.15, 0.40, 100 * kMs,
             "threads of one process wake each other in turns, and only one of them runs at a "
             "time: a global lock",
             "as lock.holder, and turns that are short cost little",
             "use processes where threads share one lock (Python: the GIL)",
             "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kBusy, "producer", 0.10, 0.30, 100 * kMs,
             "the victim slept until another thread woke it, and that one was at work meanwhile",
             "a prefetching loader that is fast enough costs less than a tenth of a step",
             "give that work more threads, or make it cheaper (culprit flame)",
             "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kSleeps, "producer", 0.10, 0.30, 100 * kMs,
             "the victim slept until another thread woke it, and that one slept on a timer of its "
             "own meanwhile",
             "as producer.busy", "look for sleeps, polling and back-off in that thread",
             "sched/sched_switch, sched/sched_waking, irq/*"},
    WalkRule{rule::kChild, "child", kNever, kNever, 0,
             "the victim waited for a child process, or a thread that it joined, which was at work",
             "waiting for a child is "
             "what a parent does",
             "look at the child", "sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kDisk, "disk", 0.05, 0.20, 50 * kMs,
             "the victim, or whom it waited for, waited until requests of a disk completed",
             "a loader that reads ahead waits for less than 5 % of its time",
             "read ahead, cache, or keep other writers off the disk",
             "block/block_rq_*, sched/sched_switch, sched/sched_waking"},
    WalkRule{rule::kBlocked, "dstate", 0.05, 0.20, 50 * kMs,
             "the victim, or whom it waited for, was in uninterruptible sleep",
             "D is for short waits: a thread in it for 5 % of the time waits for something slow",
             "see what its kernel stack points to", "sched/sched_switch with its D-state stacks"},
    WalkRule{rule::kStopped, "signal", 0.02, 0.10, 50 * kMs,
             "a thread was stopped by a signal or a debugger", "nothing stops by itself",
             "continue it, and find out who stopped it", "sched/sched_switch"},
    WalkRule{rule::kNetwork, "network", kNever, kNever, 0, "the wait ended when packets arrived",
             "waiting for packets is what servers do", "look at the other side",
             "irq/softirq_*, sched/sched_waking"},
    WalkRule{rule::kInterrupt, "interrupt", kNever, kNever, 0,
             "the wait ended with an interrupt of a device",
             "whoever waits for a GPU is waiting for its own work", "look at the device",
             "irq/irq_handler_*, sched/sched_waking"},
    WalkRule{rule::kConsumer, "producer", kNever, kNever, 0,
             "a worker waited for the main thread to take its results: it is ahead",
             "a full queue is what prefetching is for",
             "nothing: the main thread is the bottleneck",
             "sched/sched_switch, sched/sched_waking"},
};

}  // namespace

std::span<const WalkRule> WalkRules() { return kRules; }

const WalkRule& FindWalkRule(std::string_view id) {
  const auto found = std::ranges::find(kRules, id, &WalkRule::id);
  CULPRIT_CHECK(found != kRules.end());
  return *found;
}

}  // namespace culprit::analysis
