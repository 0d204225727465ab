// The processes of a scenario: forked, named, pinned, started together, ended together. They die
// with the lab whatever kills it. What they do is the scenario's; what they measured is in Slots.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/signal_watch.h"
#include "base/units.h"
#include "lab/actor.h"
#include "lab/board.h"
#include "lab/caretaker.h"

namespace culprit::lab {

using Act = std::function<void(Actor&)>;

struct Role {
  std::string name;               // comm of the process or thread
  Act act = {};                   // calls Begin() when it is ready
  int cpu = -1;                   // pinned to it; -1: wherever this process may run
  int nice = 0;                   // below 0 needs root; refused silently, as the kernel refuses
  int fifo_priority = 0;          // SCHED_FIFO when above 0
  std::string cgroup_procs = {};  // entered before the start: paths of cgroup.procs, with blanks
};

class Crew {
 public:
  static Result<Crew> Make(Caretaker& caretaker, SignalWatch& signals);
  Crew(Crew&& other) noexcept;
  Crew& operator=(Crew&&) = delete;
  ~Crew();  // kills and reaps whoever is left

  // A process of one thread. Returns its role number, which its slot bears.
  Result<int> Start(const Role& role);
  // A process called `name` whose threads are `roles`; its main thread only waits for them.
  Result<int> StartThreads(const std::string& name, const std::vector<Role>& roles);

  // Opens the window once all are ready, closes it after `duration` or at a signal, ends the
  // processes. Errors of actors come back as the Error. True when a signal ended it.
  Result<bool> Run(DurationNs duration);

  Board& board() { return *board_; }
  std::vector<const Slot*> Named(std::string_view name);
  TimeNs begin() const { return begin_; }
  TimeNs end() const { return end_; }

 private:
  struct Process {
    pid_t pid;
    bool gone = false;
  };
  Crew(Board* board, Caretaker& caretaker, SignalWatch& signals)
      : board_(board), caretaker_(&caretaker), signals_(&signals) {}
  Result<int> Fork(const std::string& name, const std::vector<Role>& roles, bool threads);
  bool Reap();  // true when all are gone
  Status WaitUntilReady();
  void KillAll();
  Status FirstError();

  Board* board_;
  Caretaker* caretaker_;
  SignalWatch* signals_;
  std::vector<Process> processes_;
  std::uint32_t actors_ = 0;
  TimeNs begin_, end_;
};

// The CPUs this process may use, in order; never empty.
std::vector<int> AllowedCpus();
// Threads that must run at once, spread over nothing: the sum of one figure over slots.
std::int64_t SumOf(const std::vector<const Slot*>& slots, std::int64_t Slot::*figure);
std::int64_t SumOf(const std::vector<const Slot*>& slots, Wait wait);

}  // namespace culprit::lab
