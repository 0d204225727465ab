// Selection: which samples and which of their frames count, and under what they are grouped. What
// the command line says, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "profile/profile.h"
#include "profile/regex.h"

namespace culprit::profile {

enum class Grouping {
  kMerged,   // no root above the stacks
  kComm,     // name of the thread, whichever process it is in
  kProcess,  // "python3-1234"
  kThread,   // "DataLoader-1234/1240": comm, pid, tid
  kCpu,      // "CPU 3"
};

struct Selection {
  std::optional<std::uint16_t> metric;  // nothing: MainMetric
  std::vector<std::string> threads;     // names, with * and ?, or tids; empty: all
  std::vector<std::string> processes;   // names, with * and ?, or pids; empty: all
  std::vector<std::int32_t> cpus;       // empty: all
  std::optional<DurationNs> from;       // since the first sample
  std::optional<DurationNs> to;
  std::string states;           // of off-CPU time: "DS"; empty: all
  std::int64_t min_weight = 0;  // samples with less are left out
  std::vector<Regex> filter;    // only stacks with a frame that each of these matches
  std::vector<Regex> remove;    // frames that are taken out of their stacks
  std::vector<Regex> collapse;  // frames whose callees are counted as their own time
  Grouping grouping = Grouping::kComm;
  bool reverse = false;  // stacks begin with the innermost frame
};

// The metric that is shown when none is asked for: the first one in the file that has samples.
std::optional<std::uint16_t> MainMetric(const Profile& profile);

// "DataLoader-*" against a name; no brackets, no escapes.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace culprit::profile
