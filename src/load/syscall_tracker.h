// SyscallTracker: system calls of threads as slices "sys_read", from raw_syscalls/sys_enter and
// sys_exit. Numbers are those of the traced machine; a 32-bit program on a 64-bit kernel has other
// ones, and nothing in an event tells them apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "load/arg_sets.h"
#include "load/slice_tracker.h"
#include "load/stats.h"
#include "load/string_pool.h"

namespace culprit::load {

class SyscallTracker {
 public:
  SyscallTracker(StringPool& strings, SliceTracker& slices, ArgSets& args, TraceStats& stats)
      : strings_(strings), slices_(slices), args_(args), stats_(stats) {}

  // As `uname -m` says it. Without, calls are named by their numbers.
  void SetMachine(std::string_view machine);

  // `track`: that of the thread's slices.
  void Enter(std::int64_t ts, TrackId track, std::int64_t number,
             std::span<const std::uint64_t> arguments);
  void Exit(std::int64_t ts, TrackId track, std::int64_t number, std::optional<std::int64_t> ret);
  // A marker was written: the write(2) that carries it ends there, since slices that the marker
  // begins or ends go on beyond it.
  void Marker(std::int64_t ts, TrackId track);

 private:
  StringId NameOf(std::int64_t number);

  StringPool& strings_;
  SliceTracker& slices_;
  ArgSets& args_;
  TraceStats& stats_;
  std::vector<std::string_view> names_;
  std::vector<StringId> ids_;  // by number, as needed
  std::vector<bool> writing_;  // by track: the thread is in write(2)
};

}  // namespace culprit::load
