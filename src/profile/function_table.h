// What each function cost by itself and with all it called, over all of a call tree.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/call_tree.h"

namespace culprit::profile {

struct FunctionRow {
  FrameId frame = 0;
  std::int64_t self = 0;
  std::int64_t total = 0;  // a recursive function is counted once a stack
};

// Most own time first, then by total and name. Groups are no functions.
std::vector<FunctionRow> FunctionTable(const Profile& profile, const CallTree& tree);

}  // namespace culprit::profile
