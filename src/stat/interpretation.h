// What the ratios say in plain words, by thresholds that stand in one table with their source, and
// which of them decided. Counts nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stat/metrics.h"

namespace culprit::stat {

// A number above or below which a ratio means something.
struct Threshold {
  std::string_view name;  // "ipc_compute"
  double value;
  std::string_view unit;
  std::string_view meaning;
  std::string_view source;  // who says so
};
std::span<const Threshold> Thresholds();

struct Verdict {
  std::string_view id;    // "memory_bound", "lock_bound", "compute_bound", "unclear" ...
  std::string_view text;  // "memory bound"
  std::string because;    // "IPC 0.52 < 0.70 and LLC misses 23.0 % > 15 %"
  std::vector<std::string_view> thresholds;  // names of those that decided
  std::string_view next;                     // what to look at then; may be ""
};

// The first is the plainest; several may hold. Never empty: "unclear" and "not_known" say why.
std::vector<Verdict> Interpret(const Metrics& metrics);

}  // namespace culprit::stat
