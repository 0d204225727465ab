// Attribution: every nanosecond of a thread's time put down to what it was spent on, through the
// whole chain of wakers. Sums only; which of them is a fault is the findings' business.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/timeline.h"

namespace culprit::analysis {

enum class CauseKind : std::uint8_t {
  kRunning,    // `thread` ran
  kCpuTaken,   // `thread` was ready; `other` ran on its CPU
  kCpuIrq,     // `thread` was ready; its CPU served the interrupt `detail`
  kCpuIdle,    // `thread` was ready; its CPU was idle: late wakeup, or a cgroup without quota
  kThrottled,  // `thread` was ready; its cgroup had used up its CPU quota
  kCpuUnseen,  // `thread` was ready; who ran on its CPU is not known
  kDisk,       // `thread` waited until a request of the block device `detail` completed
  kTimer,      // `thread` slept until a time it chose
  kNetwork,    // `thread` was woken by the network's softirq
  kInterrupt,  // `thread` was woken by the interrupt `detail`; empty: which one was not recorded
  kBlocked,    // `thread` was in D, woken from no thread; `detail` is its wait class, or function
  kNotWoken,   // `thread` slept to the end of the recording
  kStopped,    // `thread` was stopped by a signal or a debugger
  kAbsent,     // `thread` did not exist yet, or no longer
  kUnknown,    // lost events, or a wakeup that was not recorded
};

struct Cause {
  CauseKind kind = CauseKind::kUnknown;
  Utid thread = kNone;
  Utid other = kNone;
  std::uint32_t detail = 0;  // Timeline::Text

  friend auto operator<=>(const Cause&, const Cause&) = default;
};

// A sum of stretches of time, and the longest of them.
struct Amount {
  std::int64_t ns = 0;
  std::int64_t count = 0;
  std::int64_t worst_ns = 0;
  std::int64_t worst_ts = 0;

  void Add(std::int64_t stretch_ns, std::int64_t ts) {
    ns += stretch_ns;
    ++count;
    if (stretch_ns > worst_ns) {
      worst_ns = stretch_ns;
      worst_ts = ts;
    }
  }
  void Add(const Amount& amount) {
    ns += amount.ns;
    count += amount.count;
    if (amount.worst_ns > worst_ns) {
      worst_ns = amount.worst_ns;
      worst_ts = amount.worst_ts;
    }
  }
};

// A thread that others waited for, under the one that waited. The root is the victim itself.
struct ChainNode {
  std::uint32_t parent = kNone;
  Utid thread = 0;
  std::uint32_t depth = 0;
  bool is_blocked_wait = false;  // the parent waited for it in D, not in S
  bool is_end = false;           // the parent waited until this thread ended, as join does
  std::uint32_t wait_class = 0;  // of such a wait: Timeline::Text of its class, or of its function
  Amount waited = {};            // how long the parent waited for it; of the root: the whole time
  std::map<Cause, Amount> causes =
      {};  // what this thread did meanwhile, without what children explain
};

// A wait for a disk, of the victim or of whom it waited for.
struct DiskWait {
  Interval time;
  Utid thread = 0;
  std::uint32_t request = 0;  // of Timeline::disk_requests: the one whose completion ended it
};

// The sum over all causes of all nodes is the length of the times, to the nanosecond.
struct Attribution {
  std::vector<Interval> times;   // within the recording
  std::vector<ChainNode> nodes;  // a parent before its children; [0] is the victim
  std::vector<DiskWait> disk_waits = {};

  std::int64_t Total() const;
  // Over all nodes.
  std::map<Cause, Amount> ByCause() const;
};

// Walks `utid` through `time`. What it waited for, its waker explains: the waker's own states in
// the time of that wait, and so on, until somebody ran, stood without a CPU, waited for a device or
// a timer, or nobody knows.
//
//   victim   |--run--|------------ asleep -----------|R|--run--|
//                                              waker ^
//   waker    |------- asleep --------|R|---- run ----|          run and R are the waker's causes;
//                              waker ^                          its sleep, cut to the victim's, is
//   its waker     ...|-- D: disk ----|                          its own waker's to explain
//
// Never deeper than kMaxDepth; what lies deeper is kUnknown. The same recording gives the same
// answer.
Attribution Attribute(const Timeline& timeline, Utid utid, std::span<const Interval> times);
inline Attribution Attribute(const Timeline& timeline, Utid utid, Interval time) {
  return Attribute(timeline, utid, std::span(&time, 1));
}
inline constexpr std::uint32_t kMaxDepth = 64;

}  // namespace culprit::analysis
