#include "analysis/wake_graph.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace culprit::analysis {
namespace {

// Wakes by one thread that are closer than this are one broadcast.
constexpr std::int64_t kBroadcastNs = 50'000;
// Fewer wakes than this between two threads say nothing.
constexpr std::int64_t kLeastWakes = 4;

struct Wake {
  std::int64_t ts;
  Utid waker;
  Utid wakee;
};

}  // namespace

WakeGraph::WakeGraph(const Timeline& timeline, Interval window) {
  std::vector<Wake> wakes;
  for (Utid utid = 1; utid < timeline.threads().size(); ++utid) {
    const State* last = nullptr;
    for (const State& state : timeline.StatesIn(utid, window)) {
      const bool was_asleep = last != nullptr && last->activity == Activity::kSleeping;
      last = &state;
      if (!was_asleep || !IsReady(state.activity) || state.waker == kNone || state.woken_in_irq ||
          state.waker == utid || !timeline.SameProcess(utid, state.waker)) {
        continue;
      }
      wakes.push_back({state.ts, state.waker, utid});
    }
  }
  std::ranges::sort(wakes, [](const Wake& a, const Wake& b) {
    return std::tie(a.waker, a.ts, a.wakee) < std::tie(b.waker, b.ts, b.wakee);
  });
  const auto near = [&](const Wake& a, const Wake& b) {
    return a.waker == b.waker && a.wakee != b.wakee && b.ts - a.ts < kBroadcastNs;
  };
  for (std::size_t i = 0; i < wakes.size(); ++i) {
    if (i > 0 && near(wakes[i - 1], wakes[i])) continue;
    if (i + 1 < wakes.size() && near(wakes[i], wakes[i + 1])) continue;
    ++wakes_[Key(wakes[i].waker, wakes[i].wakee)];
  }
  for (const auto& [key, count] : wakes_) {
    const auto a = static_cast<Utid>(key >> 32), b = static_cast<Utid>(key);
    if (a < b && AreMutual(a, b)) {
      peers_[a].insert(b);
      peers_[b].insert(a);
    }
  }
  // Threads with one peer hang on the others like the stages of a pipeline, or like workers on whom
  // they work for: what is left is rings, in which everybody both waits for and wakes others.
  std::vector<Utid> leaves;
  for (const auto& [utid, peers] : peers_) {
    if (peers.size() < 2) leaves.push_back(utid);
  }
  while (!leaves.empty()) {
    const Utid leaf = leaves.back();
    leaves.pop_back();
    for (const Utid peer : peers_[leaf]) {
      auto& of_peer = peers_[peer];
      of_peer.erase(leaf);
      if (of_peer.size() == 1) leaves.push_back(peer);
    }
    peers_[leaf].clear();
  }
  for (const auto& [utid, peers] : peers_) {
    if (!peers.empty()) members_.insert(utid);
  }
}

bool WakeGraph::AreMutual(Utid a, Utid b) const {
  return Wakes(a, b) >= kLeastWakes && Wakes(b, a) >= kLeastWakes;
}

bool WakeGraph::IsLock(Utid waiter, Utid waker) const {
  if (!members_.contains(waiter)) return false;
  if (members_.contains(waker)) return true;
  // A holder that nobody else ever kept waiting: it wakes several of them.
  int woken = 0;
  for (const Utid member : members_) woken += Wakes(waker, member) >= kLeastWakes ? 1 : 0;
  return woken >= 2;
}

}  // namespace culprit::analysis
