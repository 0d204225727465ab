// Counts that /proc keeps for tasks and for the machine, as differences from a beginning. Threads
// that end between two polls take what they did since the last one with them, except for times and
// faults, which their process keeps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "stat/event.h"

struct rusage;

namespace culprit::stat {

class ProcCounts {
 public:
  using Values =
      std::array<std::optional<std::uint64_t>, static_cast<std::size_t>(ProcCount::kCount)>;

  struct Thread {
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::string comm;
    bool alive = true;
    Values values;  // since the beginning, or since its birth
  };

  // Counts for these processes, and those that they make from now on; none: for the machine.
  // `with_migrations` costs a large file a thread.
  static ProcCounts Begin(std::string root, std::vector<std::int32_t> pids, bool with_migrations);

  void Poll();
  // Totals as of the last Poll.
  Values Total() const;
  // The same from what wait4(2) said of a command at its end, less what it had at the beginning.
  Values TotalOfCommand(std::int32_t pid, const Values& at_end) const;
  const std::map<std::int32_t, Thread>& threads() const { return threads_; }
  // Threads that ended: what they did since the poll before is not in Total, times and faults
  // apart.
  std::uint64_t ended_threads() const { return ended_threads_; }

 private:
  struct Raw {
    Values now;
    std::uint64_t start_ticks = 0;
  };
  struct Process {
    bool is_target = true;  // false: there before, and not asked for
    bool alive = true;
    std::uint64_t start_ticks = 0;
    Values base, now;
  };

  ProcCounts() = default;
  void PollProcess(std::int32_t pid, bool first);
  void PollMachine();
  std::string root_;
  std::vector<std::int32_t> pids_;
  bool with_migrations_ = false;
  bool first_ = true;
  std::uint64_t ended_threads_ = 0;
  std::map<std::int32_t, Process> processes_;
  std::map<std::int32_t, Thread> threads_;
  std::map<std::int32_t, Raw> bases_;  // by tid
  Values machine_base_, machine_now_;
};

// What wait4(2) says of a command and those that it waited for, itself.
ProcCounts::Values ValuesOf(const rusage& usage);

}  // namespace culprit::stat
