#include "analysis/chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/finding_text.h"

namespace culprit::analysis {
namespace {

constexpr double kLeastPart = 0.02;
constexpr std::size_t kMostChildren = 4;

std::string_view KindName(CauseKind kind) {
  constexpr std::string_view kNames[] = {
      "running", "cpu_taken", "cpu_irq", "cpu_idle",  "throttled", "cpu_unseen", "disk",   "timer",
      "network", "interrupt", "blocked", "not_woken", "stopped",   "not_alive",  "unknown"};
  return kNames[static_cast<int>(kind)];
}

std::string CauseText(const Timeline& timeline, const Cause& cause) {
  const std::string detail(timeline.Text(cause.detail));
  switch (cause.kind) {
    case CauseKind::kRunning:
      return "ran";
    case CauseKind::kCpuTaken:
      return "ready, its CPU taken by " + NameWithId(NameTask(timeline, cause.other), false);
    case CauseKind::kCpuIrq:
      return "ready, its CPU served interrupt " + detail;
    case CauseKind::kCpuIdle:
      return "ready, its CPU idle";
    case CauseKind::kThrottled:
      return "ready, its cgroup throttled";
    case CauseKind::kCpuUnseen:
      return "ready, who had its CPU is not known";
    case CauseKind::kDisk:
      return "waited for disk " + detail;
    case CauseKind::kTimer:
      return "slept on its own timer";
    case CauseKind::kNetwork:
      return "waited for packets";
    case CauseKind::kInterrupt:
      return detail.empty() ? "waited for an interrupt" : "waited for interrupt " + detail;
    case CauseKind::kBlocked:
      return detail.empty() ? "uninterruptible sleep" : "uninterruptible sleep: " + detail;
    case CauseKind::kNotWoken:
      return detail.empty() ? "slept to the end of the recording"
                            : "uninterruptible to the end of the recording: " + detail;
    case CauseKind::kStopped:
      return "stopped by a signal or debugger";
    case CauseKind::kAbsent:
      return "did not exist";
    case CauseKind::kUnknown:
      return "unknown: events were lost, or the wakeup was not recorded";
  }
  return "";
}

}  // namespace

ChainTree MakeTree(const Timeline& timeline, const Attribution& walk) {
  std::vector<std::vector<std::uint32_t>> children(walk.nodes.size());
  for (std::uint32_t i = 1; i < walk.nodes.size(); ++i) children[walk.nodes[i].parent].push_back(i);
  const auto least =
      static_cast<std::int64_t>(kLeastPart * static_cast<double>(walk.nodes[0].waited.ns));
  std::vector<ChainTree> trees(walk.nodes.size());
  // A child stands behind its parent, so its tree is whole before the parent's is made.
  for (std::size_t i = walk.nodes.size(); i-- > 0;) {
    const ChainNode& node = walk.nodes[i];
    ChainTree& tree = trees[i];
    tree.thread = NameTask(timeline, node.thread);
    tree.waited = node.waited;
    tree.is_blocked = node.is_blocked_wait;
    for (const auto& [cause, amount] : node.causes) {
      if (amount.ns < least || amount.ns == 0) continue;
      tree.causes.push_back(
          {std::string(KindName(cause.kind)), CauseText(timeline, cause), amount});
    }
    std::ranges::stable_sort(tree.causes, [](const ChainCause& a, const ChainCause& b) {
      return a.amount.ns > b.amount.ns;
    });
    std::ranges::stable_sort(children[i], [&](std::uint32_t a, std::uint32_t b) {
      return walk.nodes[a].waited.ns > walk.nodes[b].waited.ns;
    });
    for (const std::uint32_t child : children[i]) {
      if (walk.nodes[child].waited.ns < least || tree.children.size() == kMostChildren) break;
      tree.children.push_back(std::move(trees[child]));
    }
  }
  return std::move(trees[0]);
}

std::vector<Interval> LongestWaits(const Timeline& timeline, const Attribution& walk,
                                   std::size_t most) {
  std::vector<Interval> waits;
  const auto is_longer = [](const Interval& a, const Interval& b) {
    return a.length() != b.length() ? a.length() > b.length() : a.begin < b.begin;
  };
  const Utid utid = walk.nodes[0].thread;
  for (const Interval& time : walk.times) {
    Interval wait{time.begin, time.begin};
    bool is_own = false;  // a timer, or an end that was not seen
    const auto finish = [&] {
      if (wait.length() > 0 && !is_own) {
        waits.push_back(wait);
        std::ranges::push_heap(waits, is_longer);  // the shortest on top
        if (waits.size() > most) {
          std::ranges::pop_heap(waits, is_longer);
          waits.pop_back();
        }
      }
    };
    for (const State& state : timeline.StatesIn(utid, time)) {
      const Interval part = Intersect({state.ts, state.end}, time);
      if (state.activity == Activity::kRunning || state.activity == Activity::kDead) {
        finish();
        wait = {part.end, part.end};
        is_own = false;
        continue;
      }
      if (state.activity == Activity::kSleeping) {
        const State* next = timeline.Next(state);
        is_own = is_own || next == nullptr || next->waker == kNone || next->woken_in_irq ||
                 next->waker == kIdleThread;
      }
      wait.end = part.end;
    }
    finish();
  }
  std::ranges::sort(waits, is_longer);
  return waits;
}

}  // namespace culprit::analysis
