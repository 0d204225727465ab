// OOM kills as the kernel log tells them: who was killed, when, and whether the node or a cgroup
// was out of memory. Judges nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "health/kmsg.h"

namespace culprit::health {

struct OomKill {
  double time_s = 0;  // since boot
  std::int32_t pid = 0;
  std::string comm;
  bool in_cgroup = false;  // a cgroup's limit, not the node's memory
  std::string cgroup;      // whose limit it was (since 5.0); "" where the log does not say
  std::string sizes;       // "total-vm:1kB, anon-rss:..." as the kernel wrote it
};

// One for each "Killed process" line. Kernels since 5.0 write a line of "oom-kill:constraint=..."
// before it, older ones "Memory cgroup out of memory: Kill process ..." of the same victim.
std::vector<OomKill> FindOomKills(const std::vector<KmsgRecord>& records);

}  // namespace culprit::health
