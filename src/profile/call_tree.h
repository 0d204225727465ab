// CallTree: the selected stacks of a profile as one tree with totals, which every output prints.
// Totals add up: a node's total is its own weight and those of its children.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "profile/selection.h"

namespace culprit::profile {

struct CallTree {
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;  // 0: the root
    FrameId frame = 0;        // of the root: none
    std::int64_t self = 0;
    std::int64_t total = 0;
  };
  // What one thread spent at one node.
  struct Leaf {
    std::uint32_t node = 0;
    ThreadId thread = 0;
    std::int64_t weight = 0;
    std::uint64_t samples = 0;
  };

  std::vector<Node> nodes;   // [0] is the root; a node's descendants follow it, siblings by name
  std::vector<Leaf> leaves;  // by node, then thread
  std::int64_t total = 0;
  std::uint64_t samples = 0;
  std::uint64_t samples_left_out = 0;  // of this metric, by the selection
  std::size_t threads = 0;             // that have samples
  std::uint16_t metric = 0;
  std::int64_t first_ts = 0;  // of the selected samples
  std::int64_t last_ts = 0;
};

// Adds frames for groups to the profile. An Error when nothing of it is selected.
Result<CallTree> BuildCallTree(Profile& profile, const Selection& selection);

}  // namespace culprit::profile
