#include "kernel/process_identity.h"

#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

namespace culprit::kernel {

std::optional<ProcessIdentity> FindProcess(std::int32_t pid, const std::string& root) {
  const auto text = ReadFile(JoinPath(root, "proc/" + std::to_string(pid) + "/stat"));
  if (!text) return std::nullopt;
  // "PID (COMM) STATE PPID ...": COMM may hold blanks and parentheses, so count from its last one.
  const auto comm_end = text->rfind(')');
  if (comm_end == text->npos) return std::nullopt;
  const auto fields = SplitWords(std::string_view(*text).substr(comm_end + 1));
  constexpr std::size_t kState = 0;
  constexpr std::size_t kStartTime = 19;
  if (fields.size() <= kStartTime) return std::nullopt;
  if (fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  const auto start = ParseInteger<std::uint64_t>(fields[kStartTime]);
  if (!start) return std::nullopt;
  return ProcessIdentity{pid, *start};
}

Result<ProcessIdentity> OwnIdentity(const std::string& root) {
  if (const auto self = FindProcess(getpid(), root); self) return *self;
  return Error{"read " + JoinPath(root, "proc/self/stat") + ": not what it should be",
               "mount /proc of this PID namespace"};
}

}  // namespace culprit::kernel
