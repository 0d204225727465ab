// Which waits for a CPU were a cgroup's used-up quota. The kernel counts throttled time and tells
// no moments; a wait is one when it fits into what was counted while it lasted.
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/timeline.h"

namespace culprit::analysis {

class ThrottledWaits {
 public:
  explicit ThrottledWaits(const Timeline& timeline) : timeline_(timeline) {}

  // `state` is a ready row of the timeline.
  bool Contains(const State& state);

 private:
  std::vector<const State*> Find(Utid utid) const;

  const Timeline& timeline_;
  std::unordered_map<Utid, std::vector<const State*>> found_;  // in order of address
};

}  // namespace culprit::analysis
