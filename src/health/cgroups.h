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

// Every cgroup below root/sys/fs/cgroup.
std::vector<CgroupRow> ReadCgroups(const std::string& root);

// The row of that path and hierarchy, or nullptr.
const CgroupRow* FindCgroup(const std::vector<CgroupRow>& rows, const CgroupRow& like);

}  // namespace culprit::health
