// Open files of each process against its limit: who is about to run out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace culprit::health {

struct DescriptorRow {
  std::int32_t pid = 0;
  std::string comm;
  std::uint64_t open = 0;
  std::uint64_t limit = 0;  // soft
};

struct Descriptors {
  std::vector<DescriptorRow> fullest;  // by share of the limit, at most 10, fullest first
  std::uint64_t seen = 0;
  std::uint64_t denied = 0;  // other users' processes
};

// `names`: pid -> comm of the processes to look at.
Descriptors ReadDescriptors(const std::string& root,
                            const std::map<std::int32_t, std::string>& names);

}  // namespace culprit::health
