// What the bits of sched_switch's prev_state mean on the traced kernel: S, D, R+, DK ... Read from
// the kernel's own format text where the trace has it, else known from the kernel's release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::tracefile {

class TaskStates {
 public:
  // From events/sched/sched_switch/format, whole or its "print fmt" alone. Nothing when the text
  // does not list the flags in a form that is understood.
  static std::optional<TaskStates> FromFormat(std::string_view format);

  // From uname's release ("5.10.0-28-amd64"). Without one, the layout of 4.4, as Perfetto does.
  static TaskStates FromRelease(std::string_view release);

  // "R", "R+" (preempted), "S", "D", "T", "t", "X", "Z", "P", "I"; before 4.14 also "x", "K", "W",
  // "N"; several join: "DK". "?" for bits that this kernel does not have.
  std::string Text(std::int64_t prev_state) const;

 private:
  struct Flag {
    std::int64_t bit;
    std::string name;
  };
  TaskStates(std::vector<Flag> flags, std::int64_t preempted_bit);

  std::vector<Flag> flags_;  // in the order in which they are joined
  std::int64_t preempted_bit_;
};

}  // namespace culprit::tracefile
