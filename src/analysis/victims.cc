#include "analysis/victims.h"

#include <algorithm>
#include <functional>

#include "analysis/victim_names_table.h"
#include "base/text.h"

namespace culprit::analysis {
namespace {

// More threads than these are not walked: those with most work and waiting stand for the rest.
constexpr std::size_t kMostVictims = 64;
// What had less work in the window is idle: a thread that is woken once a second by its own timer.
constexpr double kLeastWork = 0.005;
// What is known by its name alone is the node's work only when it does some, and for a good part of
// the time: scripts come and go.
constexpr double kLeastNamedWork = 0.02;
constexpr double kLeastNamedAlive = 0.3;
// Of those found by their waiting: what waited less has nothing to complain of, and what has been
// there for less than half of the window is a step of something else.
constexpr double kLeastWait = 0.02;
constexpr double kLeastAlive = 0.5;
constexpr std::size_t kMostFound = 64;
// Of parents above a process that are looked at.
constexpr int kMostDepth = 32;

double Share(std::int64_t ns, Interval window) {
  return window.length() > 0 ? static_cast<double>(ns) / static_cast<double>(window.length()) : 0;
}

class Choice {
 public:
  Choice(const Timeline& timeline, const std::vector<ThreadTotals>& totals, Interval window)
      : timeline_(timeline), totals_(totals), window_(window) {}

  // From now on only what the recording was made of: a command and its children. False: it was
  // made of nothing in particular.
  bool OnlyTargets() {
    const auto processes = timeline_.processes();
    in_target_.assign(processes.size(), false);
    bool found = false;
    for (const Process& process : processes) {
      const Process* up = &process;
      for (int depth = 0; depth < kMostDepth && !up->is_target && up->parent != kNone; ++depth) {
        up = &processes[up->parent];
      }
      in_target_[process.upid] = up->is_target;
      found = found || up->is_target;
    }
    if (!found) in_target_.clear();
    return found;
  }
  void Anywhere() { in_target_.clear(); }

  // Threads for which `why` says something.
  std::vector<Victim> Where(const std::function<std::string(Utid)>& why) const {
    std::vector<Victim> found;
    for (Utid utid = 1; utid < timeline_.threads().size(); ++utid) {
      if (totals_[utid].alive_ns == 0 || !IsInside(utid)) continue;
      if (std::string text = why(utid); !text.empty()) {
        found.push_back({utid, VictimRole::kMain, std::move(text)});
      }
    }
    return found;
  }

  // Most work and waiting first; the idle ones go unless nothing else is there.
  void Trim(VictimChoice& made) const {
    std::vector<Victim>& victims = made.victims;
    std::ranges::stable_sort(
        victims, [&](const Victim& a, const Victim& b) { return Weight(a.utid) > Weight(b.utid); });
    const auto idle = std::ranges::find_if(victims, [&](const Victim& victim) {
      return Share(Weight(victim.utid), window_) < kLeastWork;
    });
    if (idle != victims.begin()) {
      made.idle.assign(idle, victims.end());
      victims.erase(idle, victims.end());
    }
    if (victims.size() > kMostVictims) victims.resize(kMostVictims);
  }

  // Threads of a process whose parent is a victim too, or that are not the first of their process,
  // feed the others.
  void GiveRoles(VictimChoice& made) const {
    std::vector<bool> chosen(timeline_.processes().size(), false);
    for (const auto* some : {&made.victims, &made.idle}) {
      for (const Victim& victim : *some) {
        const Process* process = timeline_.ProcessOf(victim.utid);
        if (process != nullptr) chosen[process->upid] = true;
      }
    }
    for (auto* some : {&made.victims, &made.idle}) GiveRoles(*some, chosen);
  }

  void GiveRoles(std::vector<Victim>& victims, const std::vector<bool>& chosen) const {
    for (Victim& victim : victims) {
      const Thread& thread = timeline_.thread(victim.utid);
      if (const VictimName* name = FindVictimName(thread.name);
          name != nullptr && name->role != VictimRole::kMain) {
        victim.role = name->role;
        continue;
      }
      const Process* process = timeline_.ProcessOf(victim.utid);
      if (process == nullptr) continue;
      const bool is_child = process->parent != kNone && chosen[process->parent];
      if (is_child) {
        victim.role = VictimRole::kWorker;
      } else if (!thread.is_main) {
        victim.role = VictimRole::kThread;
      }
    }
  }

  std::vector<Victim> Waiting() const {
    std::vector<Victim> found;
    for (Utid utid = 1; utid < timeline_.threads().size(); ++utid) {
      const ThreadTotals& sum = totals_[utid];
      if (timeline_.IsKernel(utid) || !IsInside(utid) || Share(sum.alive_ns, window_) < kLeastAlive)
        continue;
      const std::int64_t waited = Waited(sum);
      if (Share(waited, window_) < kLeastWait) continue;
      found.push_back(
          {utid, VictimRole::kThread, "waited " + FormatDuration({waited}) + " while it had work"});
    }
    std::ranges::stable_sort(found, [&](const Victim& a, const Victim& b) {
      return Waited(totals_[a.utid]) > Waited(totals_[b.utid]);
    });
    if (found.size() > kMostFound) found.resize(kMostFound);
    return found;
  }

  std::int64_t Work(const std::vector<Victim>& victims) const {
    std::int64_t sum = 0;
    for (const Victim& victim : victims) sum += totals_[victim.utid].work_ns();
    return sum;
  }
  bool IsThere(Utid utid) const {
    return Share(totals_[utid].alive_ns, window_) >= kLeastNamedAlive;
  }
  bool Works(const std::vector<Victim>& victims) const {
    return Share(Work(victims), window_) >= kLeastNamedWork;
  }

 private:
  bool IsInside(Utid utid) const {
    if (in_target_.empty()) return true;
    const Process* process = timeline_.ProcessOf(utid);
    return process != nullptr && in_target_[process->upid];
  }
  std::int64_t Weight(Utid utid) const {
    const ThreadTotals& sum = totals_[utid];
    return sum.work_ns() + sum.stopped_ns;
  }
  static std::int64_t Waited(const ThreadTotals& sum) {
    return sum.ready_ns + sum.blocked_ns + sum.stopped_ns + sum.handed_ns;
  }

  const Timeline& timeline_;
  const std::vector<ThreadTotals>& totals_;
  Interval window_;
  std::vector<bool> in_target_;  // by upid; empty: everything counts
};

std::string NameOf(const Timeline& timeline, Utid utid) {
  const Process* process = timeline.ProcessOf(utid);
  const std::string& thread = timeline.thread(utid).name;
  if (const VictimName* name = FindVictimName(thread)) {
    return "named " + thread + " (" + std::string(name->what) + ")";
  }
  if (process == nullptr || process->is_kernel) return "";
  if (const VictimName* name = FindVictimName(process->name)) {
    return "of a process named " + process->name + " (" + std::string(name->what) + ")";
  }
  return "";
}

// What the user asked for; an empty `by` when nothing.
VictimChoice Asked(const Timeline& timeline, const Choice& choice, const ExplainOptions& options,
                   const std::vector<Utid>& slice_threads) {
  VictimChoice made;
  made.by.clear();
  const auto of_process = [&](Utid utid, auto fits) {
    const Process* process = timeline.ProcessOf(utid);
    return process != nullptr && fits(*process);
  };
  if (options.tid) {
    made.by = "tid";
    made.selection = std::to_string(*options.tid);
    made.victims = choice.Where([&](Utid utid) -> std::string {
      return timeline.thread(utid).tid == *options.tid ? "chosen by --tid" : "";
    });
  } else if (options.pid) {
    made.by = "pid";
    made.selection = std::to_string(*options.pid);
    made.victims = choice.Where([&](Utid utid) -> std::string {
      return of_process(utid, [&](const Process& process) { return process.pid == *options.pid; })
                 ? "chosen by --pid"
                 : "";
    });
  } else if (!options.thread_glob.empty()) {
    made.by = "thread";
    made.selection = options.thread_glob;
    made.victims = choice.Where([&](Utid utid) -> std::string {
      return GlobMatches(options.thread_glob, timeline.thread(utid).name) ? "chosen by --thread"
                                                                          : "";
    });
  } else if (!options.process_glob.empty()) {
    made.by = "process";
    made.selection = options.process_glob;
    made.victims = choice.Where([&](Utid utid) -> std::string {
      return of_process(utid,
                        [&](const Process& process) {
                          const std::string_view name = process.name;
                          return GlobMatches(options.process_glob, name) ||
                                 GlobMatches(options.process_glob,
                                             name.substr(name.rfind('/') + 1));
                        })
                 ? "chosen by --process"
                 : "";
    });
  } else if (!options.slice_glob.empty()) {
    made.by = "slice";
    made.selection = options.slice_glob;
    made.victims = choice.Where([&](Utid utid) -> std::string {
      return std::ranges::find(slice_threads, utid) != slice_threads.end() ? "has slices of --slice"
                                                                           : "";
    });
  }
  if (!made.by.empty()) made.reason = "chosen by --" + made.by + " " + made.selection;
  return made;
}

// What matters when nobody says it. False when nothing is found.
bool Found(const Timeline& timeline, const Choice& choice, VictimChoice& made) {
  made.by = "auto";
  made.is_certain = true;
  made.victims = choice.Where([&](Utid utid) -> std::string {
    const Process* process = timeline.ProcessOf(utid);
    if (process == nullptr || process->gpu_devices.empty()) return "";
    return "its process held " + process->gpu_devices;
  });
  made.reason = "processes that held a GPU";
  if (made.victims.empty()) {
    made.victims = choice.Where(
        [&](Utid utid) { return choice.IsThere(utid) ? NameOf(timeline, utid) : std::string(); });
    made.reason = "known names of training and serving programs";
  }
  if (!choice.Works(made.victims)) {
    made.victims = choice.Waiting();
    made.reason = "the threads that waited most while they had work";
    made.is_certain = false;
    return !made.victims.empty();
  }
  choice.Trim(made);
  choice.GiveRoles(made);
  return true;
}

}  // namespace

std::vector<ThreadTotals> SumThreads(const Timeline& timeline, Interval window) {
  std::vector<ThreadTotals> totals(timeline.threads().size());
  for (Utid utid = 1; utid < totals.size(); ++utid) {
    ThreadTotals& sum = totals[utid];
    for (const State& state : timeline.StatesIn(utid, window)) {
      const std::int64_t ns = Intersect({state.ts, state.end}, window).length();
      if (state.activity != Activity::kDead) sum.alive_ns += ns;
      switch (state.activity) {
        case Activity::kRunning:
          sum.running_ns += ns;
          break;
        case Activity::kPreempted:
        case Activity::kRunnable:
          sum.ready_ns += ns;
          break;
        case Activity::kBlocked:
          sum.blocked_ns += ns;
          break;
        case Activity::kStopped:
          sum.stopped_ns += ns;
          break;
        case Activity::kSleeping: {
          const State* next = timeline.Next(state);
          if (next != nullptr && next->waker != kNone && next->waker != kIdleThread &&
              !next->woken_in_irq && next->waker != utid &&
              timeline.SameProcess(utid, next->waker)) {
            sum.handed_ns += ns;
          }
          break;
        }
        case Activity::kDead:
        case Activity::kUnknown:
          break;
      }
    }
  }
  return totals;
}

VictimChoice ChooseVictims(const Timeline& timeline, const std::vector<ThreadTotals>& totals,
                           const ExplainOptions& options, Interval window,
                           const std::vector<Utid>& slice_threads) {
  Choice choice(timeline, totals, window);
  VictimChoice made = Asked(timeline, choice, options, slice_threads);
  if (!made.by.empty()) {
    choice.Trim(made);
    choice.GiveRoles(made);
    return made;
  }
  if (choice.OnlyTargets() && Found(timeline, choice, made)) {
    made.reason += ", of the command or the processes that were recorded";
  } else {
    choice.Anywhere();
    Found(timeline, choice, made);
  }
  return made;
}

}  // namespace culprit::analysis
