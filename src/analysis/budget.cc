#include "analysis/budget.h"

#include <map>
#include <string>
#include <string_view>

#include "base/check.h"

namespace culprit::analysis {
namespace {

// The order in which rows are shown; a name's part before ":" decides.
constexpr std::string_view kOrder[] = {"running",  "irq",       "softirq", "preempted",
                                       "runnable", "disk_wait", "blocked", "sleep",
                                       "stopped",  "not_alive", "unknown"};

std::size_t RankOf(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find(':'));
  for (std::size_t i = 0; i < std::size(kOrder); ++i) {
    if (kOrder[i] == kind) return i;
  }
  return std::size(kOrder);
}

std::string OfText(std::string_view kind, std::string_view text) {
  return text.empty() ? std::string(kind) : std::string(kind) + ":" + std::string(text);
}

}  // namespace

std::vector<BudgetRow> MakeBudget(const Timeline& timeline, const Attribution& own) {
  std::map<std::string, std::int64_t> sums;
  const Utid utid = own.nodes.front().thread;
  // Interrupts are on top of what ran: their time is taken out of the thread's.
  std::int64_t ready[2] = {};
  for (const Interval& time : own.times) {
    for (const State& state : timeline.StatesIn(utid, time)) {
      const Interval part = Intersect({state.ts, state.end}, time);
      if (state.activity == Activity::kRunning && state.cpu >= 0) {
        for (const IrqRun& irq : timeline.IrqsIn(static_cast<std::size_t>(state.cpu), part)) {
          const std::int64_t ns = Intersect({irq.ts, irq.end}, part).length();
          sums[irq.is_soft ? "softirq" : "irq"] += ns;
          sums["running"] -= ns;
        }
      } else if (IsReady(state.activity)) {
        ready[state.activity == Activity::kPreempted ? 0 : 1] += part.length();
      }
    }
  }
  sums["preempted"] += ready[0];
  sums["runnable"] += ready[1];
  for (const auto& [cause, amount] : own.nodes.front().causes) {
    const std::string_view detail = timeline.Text(cause.detail);
    switch (cause.kind) {
      case CauseKind::kRunning:
        sums["running"] += amount.ns;
        break;
      case CauseKind::kCpuTaken:
      case CauseKind::kCpuIrq:
      case CauseKind::kCpuIdle:
      case CauseKind::kThrottled:
      case CauseKind::kCpuUnseen:
        break;  // preempted and runnable, above
      case CauseKind::kDisk:
        sums[OfText("disk_wait", detail)] += amount.ns;
        break;
      case CauseKind::kTimer:
        sums["sleep:timer"] += amount.ns;
        break;
      case CauseKind::kNetwork:
        sums["sleep:network"] += amount.ns;
        break;
      case CauseKind::kInterrupt:
        sums["sleep:interrupt"] += amount.ns;
        break;
      case CauseKind::kBlocked:
        sums[OfText("blocked", detail)] += amount.ns;
        break;
      case CauseKind::kNotWoken:
        sums[cause.detail != 0 ? OfText("blocked", detail) : "sleep:not woken"] += amount.ns;
        break;
      case CauseKind::kStopped:
        sums["stopped"] += amount.ns;
        break;
      case CauseKind::kAbsent:
        sums["not_alive"] += amount.ns;
        break;
      case CauseKind::kUnknown:
        sums["unknown"] += amount.ns;
        break;
    }
  }
  // What other threads explain: the children of the victim itself.
  for (const ChainNode& node : own.nodes) {
    if (node.parent != 0) continue;
    sums[node.is_blocked_wait ? OfText("blocked", timeline.Text(node.wait_class))
                              : "sleep:thread"] += node.waited.ns;
  }
  std::vector<BudgetRow> rows;
  std::int64_t total = 0;
  for (std::size_t rank = 0; rank <= std::size(kOrder); ++rank) {
    for (const auto& [name, ns] : sums) {
      if (ns == 0 || RankOf(name) != rank) continue;
      rows.push_back({name, ns});
      total += ns;
    }
  }
  std::int64_t length = 0;
  for (const Interval& time : own.times) length += time.length();
  CULPRIT_CHECK(total == length);
  return rows;
}

}  // namespace culprit::analysis
