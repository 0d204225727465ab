// The guardian: a small process that outlives the recorder by a moment and removes its trace
// instance, however the recorder ended, kill -9 and crash included. It knows no more than that.
//
//   recorder ──(life pipe: the recorder holds the write end)──> guardian: end of file = recorder
//   gone recorder <──(guard pipe: the guardian holds the write end)── end of file = guardian gone
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/top_level_markers.h"
#include "kernel/tracefs.h"

namespace culprit::capture {

class Guardian {
 public:
  // Starts the process. Safe in a program with threads: the child allocates nothing.
  // `restores` are written when the recorder ends without having removed the instance.
  static Result<Guardian> Start(const kernel::TraceDirectory& instance,
                                const std::vector<ControlWrite>& restores = {});

  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&& other) noexcept;
  // Dismisses the guardian, which removes the instance if it is still there, and waits for it.
  ~Guardian();

  pid_t pid() const { return pid_; }
  // Readable (end of file) once the guardian is gone: then start another one.
  int death_fd() const { return guard_pipe_.get(); }

 private:
  Guardian(pid_t pid, UniqueFd life_pipe, UniqueFd guard_pipe)
      : pid_(pid), life_pipe_(std::move(life_pipe)), guard_pipe_(std::move(guard_pipe)) {}
  void Dismiss();

  pid_t pid_ = 0;
  UniqueFd life_pipe_;
  UniqueFd guard_pipe_;
};

}  // namespace culprit::capture
