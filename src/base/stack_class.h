// What a task in D waits for, from its kernel stack: a class by the deepest frame that a table
// knows. Reads no stacks; live checks and recordings share the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace culprit {

struct StackClass {
  std::string_view name;  // "NFS"; "unknown" when no frame is known
  // Parts of function names, "|" between; "^" wants it at the start, "=" wants all of it, and that
  // nothing is deeper.
  std::string_view patterns;
  std::string_view points_to;
  std::string_view helps;
};

std::span<const StackClass> StackClasses();

// The class of the deepest frame that any pattern matches (frames: deepest first); the last of the
// table, "unknown", otherwise.
const StackClass& ClassifyFrames(std::span<const std::string> frames);

// What a task that waits for a lock, the page cache or a disk does it for: the deepest file system
// or driver above that in its stack ("FUSE" of a writeback); nullptr when there is none, or when
// ClassifyFrames has said it.
const StackClass* OnBehalfOfFrames(std::span<const std::string> frames);

// Both in one name, as recordings say it: a disk that is waited for in reclaim is "memory reclaim",
// a page of a file on NFS is "NFS", a lock of a driver is "lock for GPU driver". "" for unknown.
std::string WaitClass(std::span<const std::string> frames);

}  // namespace culprit
