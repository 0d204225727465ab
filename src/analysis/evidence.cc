#include "analysis/evidence.h"

#include <fmt/format.h>

#include "base/text.h"

namespace culprit::analysis {
namespace {

bool IsWait(const State& state) {
  return state.activity != Activity::kRunning && state.activity != Activity::kDead &&
         state.activity != Activity::kUnknown;
}

}  // namespace

Evidence WeighEvidence(const Timeline& timeline, std::span<const Walked> victims, Interval window) {
  Evidence evidence;
  for (const LostGap& gap : timeline.lost()) {
    if (Intersect(gap.time, window).length() == 0) continue;
    evidence.lost.push_back(gap);
    evidence.lost_events += gap.events;
  }
  evidence.has_irqs = timeline.has_irqs();
  evidence.has_disk = !timeline.disk_requests().empty();
  std::int64_t all = 0;
  for (const Walked& walked : victims) {
    for (const auto& [cause, amount] : walked.walk.ByCause()) {
      all += amount.ns;
      if (cause.kind == CauseKind::kUnknown || cause.kind == CauseKind::kCpuUnseen) {
        evidence.unknown_ns += amount.ns;
      }
    }
    for (const Interval& time : walked.walk.times) {
      for (const State& state : timeline.StatesIn(walked.victim.utid, time)) {
        const bool is_cut = state.ts < time.begin || state.end > time.end || state.is_open;
        if (is_cut && IsWait(state)) ++evidence.cut_waits;
        if (state.activity != Activity::kBlocked) continue;
        ++evidence.blocked_waits;
        if (state.blocked_in != 0 || state.wait_class != 0) ++evidence.blocked_waits_with_stack;
      }
    }
  }
  if (all > 0) evidence.unknown_share = static_cast<double>(evidence.unknown_ns) / all;
  if (!evidence.lost.empty()) {
    evidence.notes.push_back(
        fmt::format("{} events were lost in {} stretches: what happened there is unknown, and "
                    "shares are of what was seen",
                    FormatCount(evidence.lost_events), evidence.lost.size()));
  }
  if (timeline.has_own_threads_only()) {
    evidence.notes.emplace_back(
        "recorded without root: who else ran on the CPUs, and who woke whom, is not known; "
        "record as root to see them");
  }
  if (!evidence.has_irqs) {
    evidence.notes.emplace_back(
        "no interrupts were recorded: what ended a sleep cannot be told from a timer");
  }
  if (evidence.blocked_waits > evidence.blocked_waits_with_stack) {
    evidence.notes.push_back(fmt::format("{} of {} waits in D have no kernel stack",
                                         evidence.blocked_waits - evidence.blocked_waits_with_stack,
                                         evidence.blocked_waits));
  }
  return evidence;
}

}  // namespace culprit::analysis
