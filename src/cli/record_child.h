// The processes around a recording: the one that goes on in the background, and the COMMAND that
// is run while recording.
#pragma once

#include <sys/resource.h>
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

// COMMAND, run by the user who runs culprit (root under sudo, as with perf and strace). Signals
// that we take through a descriptor are its own business.
class Command {
 public:
  // Made and waiting: whatever is to watch it from its first instruction on is put in place, then
  // Go. One that is never let go never runs.
  static Result<Command> Prepare(const std::vector<std::string>& words);
  // An Error when it cannot be run (no such program).
  Status Go();
  // Both at once.
  static Result<Command> Start(const std::vector<std::string>& words);

  Command(Command&& other) noexcept;
  Command& operator=(Command&&) = delete;
  ~Command();

  pid_t pid() const { return pid_; }
  // Its exit status once it has ended, 128 + signal when a signal did it; nothing while it runs.
  std::optional<int> Poll();
  int Wait();
  void Signal(int signal) const;
  // After its end: what wait4(2) says of it and of those that it waited for.
  const rusage& usage() const { return usage_; }

 private:
  Command(pid_t pid, std::string name) : pid_(pid), name_(std::move(name)) {}
  std::optional<int> Reap(int options);

  pid_t pid_;
  std::string name_;
  UniqueFd gate_;     // a byte lets it go, the end of the pipe ends it
  UniqueFd failure_;  // gives the errno of a failed execve(2), and ends with a good one
  bool is_gone_ = false;
  std::optional<int> status_;
  rusage usage_{};
};

}  // namespace culprit::cli
