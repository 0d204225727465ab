// What a task in D waits for, from its kernel stack: a class by the deepest frame that a table
// knows, and what may and may not help.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "health/tasks.h"

namespace culprit::health {

struct StackClass {
  std::string_view name;  // "NFS"; "unknown" when no frame is known
  // Parts of function names, "|" between; "^" wants it at the start, "=" wants all of it, and that
  // nothing is deeper.
  std::string_view patterns;
  std::string_view points_to;
  std::string_view helps;
};

std::span<const StackClass> StackClasses();

// The class of the deepest frame that any pattern matches; the last of the table, "unknown",
// otherwise. Without a stack, the wchan is the only frame.
const StackClass& ClassifyStack(const TaskRow& row);

// What a task that waits for a lock, the page cache or a disk does it for: the deepest file system
// or driver above that in its stack ("FUSE" of a writeback); nullptr when there is none, or when
// ClassifyStack has said it.
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
