// ChildProbe: work that may block for ever, done in a child process that is killed or abandoned at
// a deadline. What it had found until then is kept, and what it was stuck at is known. (A thread
// would not do: one that is stuck in the kernel keeps its whole process from ending.)
//
//   child:  Begin("/mnt/a") statfs ... Put("/mnt/a", text)  Begin("/mnt/b") statfs ... <stuck>
//   parent: "/mnt/a" is in texts(), stuck_at() == "/mnt/b"
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/units.h"
#include "health/texts.h"

namespace culprit::health {

// How the child hands over what it finds: memory shared with the parent, so that a child that never
// comes back has lost nothing.
class ProbeOutput {
 public:
  // Notes what is about to be done, in case it never ends.
  void Begin(std::string_view what);
  void Put(std::string_view key, std::string_view text, int error_number = 0);

 private:
  friend class ChildProbe;
  struct Shared;
  explicit ProbeOutput(Shared* shared) : shared_(shared) {}
  Shared* shared_;
};

class ChildProbe {
 public:
  using Work = std::function<void(ProbeOutput&)>;

  // Forks and lets the child do `work`. `name` becomes the child's comm (15 bytes are kept).
  static Result<ChildProbe> Start(std::string_view name, const Work& work);
  ChildProbe(ChildProbe&& other) noexcept;
  ChildProbe& operator=(ChildProbe&& other) noexcept;
  ~ChildProbe();  // kills a child that still runs, and reaps it when it goes at once

  // Waits for the end of the child, at most until `deadline` (CLOCK_BOOTTIME). True when it has
  // done all its work. False: it is still at stuck_at(), or it died there (died()).
  bool Wait(TimeNs deadline);
  // Kills the child; true when it is gone and reaped, false when the kernel holds it.
  bool Kill();

  bool died() const { return died_; }
  std::string stuck_at() const;
  pid_t pid() const { return pid_; }
  // Adds what the child has found so far.
  void Collect(Texts& texts) const;

 private:
  ChildProbe(pid_t pid, UniqueFd end, ProbeOutput::Shared* shared)
      : pid_(pid), end_(std::move(end)), shared_(shared) {}

  pid_t pid_ = -1;  // -1: reaped
  UniqueFd end_;    // readable at the end of the child
  ProbeOutput::Shared* shared_ = nullptr;
  bool died_ = false;
  bool done_ = false;
};

}  // namespace culprit::health
