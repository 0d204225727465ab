// WakeGraph: which threads of a process wake each other, as at a lock: in turns, one at a time, and
// everybody everybody. Queues have a direction, barriers wake many at once: neither counts.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "analysis/timeline.h"

namespace culprit::analysis {

class WakeGraph {
 public:
  WakeGraph(const Timeline& timeline, Interval window);

  // Whether `waker` ends waits of `waiter` as the holder of a lock they both take would.
  bool IsLock(Utid waiter, Utid waker) const;

 private:
  static std::uint64_t Key(Utid a, Utid b) { return (std::uint64_t{a} << 32) | b; }
  std::int64_t Wakes(Utid a, Utid b) const {
    const auto found = wakes_.find(Key(a, b));
    return found == wakes_.end() ? 0 : found->second;
  }
  bool AreMutual(Utid a, Utid b) const;

  std::unordered_map<std::uint64_t, std::int64_t> wakes_;  // single wakes a -> b of one process
  std::unordered_map<Utid, std::unordered_set<Utid>> peers_;
  std::unordered_set<Utid> members_;  // of rings of mutual wakers
};

}  // namespace culprit::analysis
