// Which process is meant, beyond the reuse of pids: pid and start time, as /proc/PID/stat gives
// them. Says whether that process lives; signals nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace culprit::kernel {

struct ProcessIdentity {
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;  // field 22 of /proc/PID/stat: clock ticks since boot
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

// Of a process that lives and is no zombie; nothing otherwise.
std::optional<ProcessIdentity> FindProcess(std::int32_t pid, const std::string& root = "/");

[[nodiscard]] Result<ProcessIdentity> OwnIdentity(const std::string& root = "/");

inline bool IsAlive(const ProcessIdentity& process, const std::string& root = "/") {
  return FindProcess(process.pid, root) == process;
}

}  // namespace culprit::kernel
