// The caretaker: a process that undoes what a scenario made outside its processes (files, cgroups,
// swap, compressed memory devices) once the lab is gone, however it ended, kill -9 included.
//
//   lab ──(pipe: one line a thing, before it is made)──> caretaker: end of file = undo, last first
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace culprit::lab {

// In a folder of ours: the file that is used as swap, by whose name a later run finds it.
inline constexpr std::string_view kSwapFile = "swap";

enum class Thing {
  kTree,    // a folder of ours with all in it
  kCgroup,  // its processes are killed, then it is removed
  kSwap,    // a file or device in use as swap
  kZram,    // the number of a device
};

class Caretaker {
 public:
  // Before any thread and any other process: those must not hold the pipe's end (see Disown).
  static Result<Caretaker> Start();
  Caretaker(Caretaker&& other) noexcept;
  Caretaker& operator=(Caretaker&&) = delete;
  ~Caretaker();

  // Call before making the thing.
  Status Promise(Thing thing, const std::string& name);
  // In a child: it shall not keep the caretaker waiting.
  void Disown() { pipe_.Reset(); }
  // Undoes everything now and waits for it.
  Status Finish();
  pid_t pid() const { return pid_; }

 private:
  Caretaker(pid_t pid, UniqueFd pipe) : owner_(getpid_()), pid_(pid), pipe_(std::move(pipe)) {}
  static pid_t getpid_();

  pid_t owner_;  // a child that was forked with a copy of this cleans up nothing
  pid_t pid_;
  UniqueFd pipe_;
  std::vector<std::string> promises_;
};

// What lab processes of an earlier run left because even their caretaker was killed: folders and
// cgroups below `parents` whose maker is gone. Names come from PrivateName().
void SweepLeftovers(const std::vector<std::string>& parents);
// "culprit-lab.PID.START": tells its maker for good.
Result<std::string> PrivateName();

}  // namespace culprit::lab
