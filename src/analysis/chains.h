// Chains: walks as trees that people read: in total for a victim, and for its longest waits.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/attribution.h"
#include "analysis/explanation.h"

namespace culprit::analysis {

// The walk as a tree, children with most of the wait first; what is below a fiftieth is left out.
ChainTree MakeTree(const Timeline& timeline, const Attribution& walk);

// The waits of `walk`'s victim that took longest, from leaving a CPU until it ran again, longest
// first. Sleeps that it ended itself by a timer, and those that nobody ended, are none.
std::vector<Interval> LongestWaits(const Timeline& timeline, const Attribution& walk,
                                   std::size_t most);

}  // namespace culprit::analysis
