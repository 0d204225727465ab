// FrameFilter: what --filter, --remove and --collapse make of each stack of a profile. Each
// expression is tried once on each distinct frame, not on each sample.
#pragma once

#include <vector>

#include "profile/profile.h"
#include "profile/selection.h"

namespace culprit::profile {

class FrameFilter {
 public:
  FrameFilter(const Profile& profile, const Selection& selection);

  // Whether the stack has a frame for every --filter.
  bool Keeps(StackId stack) const { return kept_.empty() || kept_[stack] == wanted_; }
  // The stack without removed and collapsed frames: itself or one of its callers.
  StackId Mapped(StackId stack) const { return mapped_.empty() ? stack : mapped_[stack]; }

 private:
  std::vector<StackId> mapped_;      // empty: as they are
  std::vector<std::uint64_t> kept_;  // bits of the --filter expressions found; empty: none given
  std::uint64_t wanted_ = 0;
};

}  // namespace culprit::profile
