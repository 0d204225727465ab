// The cgroups of a node with the numbers of the checks: CPU throttling, memory events, task limits,
// from v2 and v1 hierarchies alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::health {

struct CgroupRow {
  std::string path;        // "/train/rank0" below its hierarchy
  std::string controller;  // "unified", or the v1 hierarchy that it is of: "cpu", "memory", "pids"
  std::optional<std::uint64_t> usage_us;
  std::optional<std::uint64_t> periods, throttled_periods, throttled_us;
  std::optional<std::uint64_t> quota_us, period_us;
  std::optional<std::uint64_t> memory_bytes, memory_limit_bytes;
  std::optional<std::uint64_t> oom_kills, oom_events, high_events, max_events;
  std::optional<std::uint64_t> tasks, task_limit;
};

// At most this many are read; the rest is counted only.
inline constexpr std::size_t kMostCgroups = 4000;

// Every cgroup below root/sys/fs/cgroup, by hierarchy and path.
std::vector<CgroupRow> ReadCgroups(const std::string& root);

// How much the tasks of a cgroup wait: "some" of CPU and memory, "full" of IO, the share of the
// last ten seconds, of cgroups v2 (v1 has none).
struct CgroupPressure {
  std::string path;
  double avg10_pct = 0;
};
// Of every v2 cgroup in `rows` but the root, by RESOURCE.pressure ("cpu", "memory", "io"), the one
// that names the place best first: the highest share, and of nearly equal ones the deepest, since a
// parent's pressure contains its children's. At most three.
std::vector<CgroupPressure> PressureOfCgroups(const std::string& root,
                                              const std::vector<CgroupRow>& rows,
                                              std::string_view resource);

// The row of that path and hierarchy among those of ReadCgroups, or nullptr.
const CgroupRow* FindCgroup(const std::vector<CgroupRow>& rows, const CgroupRow& like);

}  // namespace culprit::health
