// The processes around a recording: the one that goes on in the background, and the COMMAND that
// is run while recording.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace culprit::cli {

// Splits off a background process. In the parent, waits until the child says that it has begun (or
// ends), prints its pid and gives the exit status to return; in the child gives nothing.
class Background {
 public:
  static Result<Background> Fork();

  bool is_parent() const { return parent_status_.has_value(); }
  int parent_status() const { return parent_status_.value_or(0); }

  // In the child: the recording has begun. The terminal is let go.
  void Begun();

 private:
  Background() = default;
  std::optional<int> parent_status_;
  UniqueFd report_;
};

// COMMAND, run by the user who runs culprit (root under sudo, as with perf and strace).
class Command {
 public:
  // An Error when it cannot be started (no such program).
  static Result<Command> Start(const std::vector<std::string>& words);

  pid_t pid() const { return pid_; }
  // Its exit status once it has ended, 128 + signal when a signal did it; nothing while it runs.
  std::optional<int> Poll();
  int Wait();
  void Signal(int signal) const;

 private:
  explicit Command(pid_t pid) : pid_(pid) {}
  std::optional<int> Reap(int options);
  pid_t pid_;
  std::optional<int> status_;
};

}  // namespace culprit::cli
