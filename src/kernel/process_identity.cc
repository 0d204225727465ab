#include "kernel/process_identity.h"

#include <unistd.h>

#include "base/file.h"
#include "kernel/proc_task.h"

namespace culprit::kernel {

std::optional<ProcessIdentity> FindProcess(std::int32_t pid, const std::string& root) {
  const auto text = ReadFile(JoinPath(root, "proc/" + std::to_string(pid) + "/stat"));
  if (!text) return std::nullopt;
  const auto stat = ParseTaskStat(*text);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  return ProcessIdentity{pid, stat->start_ticks};
}

Result<ProcessIdentity> OwnIdentity(const std::string& root) {
  if (const auto self = FindProcess(getpid(), root); self) return *self;
  return Error{"read " + JoinPath(root, "proc/self/stat") + ": not what it should be",
               "mount the /proc of this PID namespace"};
}

}  // namespace culprit::kernel
