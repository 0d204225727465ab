// One pass over every thread of the node: how many are in which state, and who they are where that
// matters (R, D, Z, orphans). Only files that take no lock of the task are read here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace culprit::health {

struct TaskRow {
  std::int32_t tid = 0;
  std::int32_t pid = 0;
  std::string comm;
  char state = '?';
  std::int32_t parent_pid = 0;
  std::int32_t session = 0;
  std::uint64_t start_ticks = 0;  // tid and start name a task for good
  std::uint64_t cpu_ticks = 0;
  bool kernel_thread = false;
  // Since it last ran, from /proc/TID/sched; absent where the kernel does not say.
  std::optional<double> waited_s;
  std::optional<std::uint64_t> switches;  // context switches: unchanged is one and the same wait
  std::string wchan;
  std::vector<std::string> stack;  // functions, deepest first
  std::string stack_error;         // why there is none
  std::string cgroup;              // of orphans that lead a session of their own
};

struct TaskScan {
  bool whole = false;  // the process list could be read
  std::string error;
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::uint64_t vanished = 0;  // between listing and reading: normal
  std::uint64_t denied = 0;
  std::array<std::uint64_t, 128> by_state{};     // threads by state letter
  std::vector<TaskRow> waiting;                  // D
  std::vector<TaskRow> zombies;                  // Z, processes
  std::vector<TaskRow> orphans;                  // parent 1: daemons, and who lost a launcher
  std::map<std::string, std::uint64_t> running;  // comm -> threads in R
  std::map<std::int32_t, std::string> names;     // pid -> comm, of every process

  std::uint64_t CountOf(char state) const {
    return by_state[static_cast<unsigned char>(state) & 127];
  }
};

// Reads /proc/PID/task/TID/stat of everything below `root`.
TaskScan ScanTasks(const std::string& root);

// Fills waited_s, switches and wchan of the tasks in `rows`; `now_exec_ms` comes from the reader's
// own sched file (0: unknown). None of these files takes a lock of the task.
void ReadWaits(const std::string& root, std::vector<TaskRow>& rows);

// Fills the cgroup of those that lead their own session: it is what they have in common, then.
void ReadOrphanCgroups(const std::string& root, std::vector<TaskRow>& orphans);

// Reads "PID/task/TID/stack" into the row. May block on a task that is stuck in exec: for a child.
void ReadStack(const std::string& root, TaskRow& row);

// The rows of `before` that are in the same state in `after`: same tid and start, no CPU time spent
// and, where known, no context switch since.
std::vector<TaskRow> StillWaiting(const std::vector<TaskRow>& before,
                                  const std::vector<TaskRow>& after);

}  // namespace culprit::health
