// Tasks in D by what their kernel stacks wait for (base/stack_class.h has the table), those with
// one stack as one group.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/stack_class.h"
#include "health/tasks.h"

namespace culprit::health {

// ClassifyFrames of its stack. Without a stack, the wchan is the only frame.
const StackClass& ClassifyStack(const TaskRow& row);

const StackClass* OnBehalfOf(const TaskRow& row);

// Tasks with one and the same stack: 500 of them are one finding.
struct StackGroup {
  const StackClass* kind;
  const StackClass* behalf;  // OnBehalfOf
  std::vector<const TaskRow*> rows;
  double oldest_s = 0;
  std::string Describe() const;  // "nfsd, python x 12 in rpc_wait_bit_killable (NFS)"
  std::string Frames() const;    // "a < b < c", deepest first
};
// Largest first; at most `most` groups (0: all).
std::vector<StackGroup> GroupByStack(const std::vector<TaskRow>& rows, std::size_t most = 0);

}  // namespace culprit::health
