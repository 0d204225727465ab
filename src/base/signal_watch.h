// ^C and SIGTERM as something to ask for, in place of the end of the process: for work that must
// stop in order, and for an interactive shell. Not for verbs that may simply die.
#pragma once

#include <csignal>
#include <functional>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"

namespace culprit {

// Holds back SIGINT and SIGTERM as long as it lives. Make it before the first thread: threads
// inherit the mask, and one without it would take the signal and end the process.
class SignalWatch {
 public:
  static Result<SignalWatch> Open();
  SignalWatch(SignalWatch&&) noexcept;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();  // signals held back until then are delivered

  // Readable when a signal came (signalfd).
  int fd() const { return fd_.get(); }
  // The next signal that came, 0 for none; does not wait.
  int Take();

  // Runs `work` on this thread. Meanwhile another calls `on_signal` for each signal, and `on_tick`
  // (may be empty) ten times a second. Returns the last signal that came, 0 for none.
  int During(const std::function<void()>& work, const std::function<void()>& on_signal,
             const std::function<void(DurationNs elapsed)>& on_tick);

 private:
  SignalWatch(UniqueFd fd, sigset_t previous) : fd_(std::move(fd)), previous_(previous) {}
  UniqueFd fd_;
  sigset_t previous_;
};

}  // namespace culprit
