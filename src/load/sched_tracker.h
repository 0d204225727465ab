// SchedTracker: who ran where, and what every thread did meanwhile, from switches and wakings.
// Fills sched, thread_state and spurious_sched_wakeup; knows no file format.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "load/row_stream.h"
#include "load/rows.h"
#include "load/stats.h"
#include "load/string_pool.h"
#include "load/thread_tracker.h"

namespace culprit::load {

struct SchedStreams {
  RowStream<SchedRow>& slices;
  RowStream<ThreadStateRow>& states;
  RowStream<SpuriousWakeupRow>& spurious;
};

struct SchedSwitch {
  std::uint32_t cpu = 0;
  std::int64_t ts = 0;
  std::int64_t prev_tid = 0;
  StringId prev_comm = kNoString;
  SchedState prev_state = kNoState;  // kNoState: not a state of this kernel
  std::int64_t next_tid = 0;
  StringId next_comm = kNoString;
  std::int32_t next_prio = 0;
};

struct Wakeup {
  std::uint32_t cpu = 0;  // where the waker ran
  std::int64_t ts = 0;
  std::int64_t wakee_tid = 0;
  StringId comm = kNoString;
  std::uint32_t target_cpu = 0;
  Irq irq_context = Irq::kUnknown;
};

// A CPU has one open slice, a thread one open state:
//
//   switch p -> n on a CPU   slice of p ends, slice of n begins
//                            p: Running ends, prev_state begins;  n: R (or S, D) ends, Running
//                            begins
//   waking of a thread       in S, D, T ...: that ends, R begins, by the waker
//                            in Running, R, R+: nothing; spurious_sched_wakeup
//   events lost on a CPU     its slice and that thread's Running end at the last event before, with
//                            end_state NULL; nothing is known until the next switch
//
// The idle thread (utid 0) has slices and no states.
class SchedTracker {
 public:
  SchedTracker(ThreadTracker& threads, SchedStreams streams, TraceStats& stats)
      : threads_(threads), streams_(streams), stats_(stats) {}

  void Switch(const SchedSwitch& event);
  // Without the previous thread, which is the one that the CPU switched to last.
  void SwitchCompact(std::uint32_t cpu, std::int64_t ts, SchedState prev_state,
                     std::int64_t next_tid, StringId next_comm, std::int32_t next_prio,
                     bool only_raw);
  // The waker is the thread `waker`.
  void Waking(const Wakeup& event, Utid waker);
  // The waker is the thread that the CPU switched to last. Returns it; kNone: not known.
  Utid WakingCompact(const Wakeup& event, bool only_raw);
  // sched_wakeup and sched_wakeup_new: count only where no waking was seen.
  void Woken(const Wakeup& event, Utid waker);
  void NewTask(std::int64_t ts, Utid utid, Utid creator);
  void Migrated(Utid utid, std::uint32_t target_cpu);
  // A thread took over the tid of another one (exec of a thread that is not the main one).
  void TidChanged(std::uint32_t cpu, std::int64_t old_tid, std::int64_t new_tid);

  // Why the thread blocked, of its last blocked state, even when that is over. kNone and -1: not
  // known.
  void BlockedReason(Utid utid, int io_wait, StringId function);
  // The last blocked state of a thread that has not run since; kNone: there is none.
  RowId LastBlocked(Utid utid) const;

  // An event of any kind happened on the CPU.
  void Seen(std::uint32_t cpu, std::int64_t ts) {
    CpuOf(cpu).last_ts = ts;
    CpuOf(cpu).is_seen = true;
  }
  std::optional<std::int64_t> LastSeen(std::uint32_t cpu) const {
    if (cpu >= cpus_.size() || !cpus_[cpu].is_seen) return std::nullopt;
    return cpus_[cpu].last_ts;
  }
  // Events of the CPU are missing between the last one seen and now.
  void EventsLost(std::uint32_t cpu);

  std::uint32_t cpu_count() const { return static_cast<std::uint32_t>(cpus_.size()); }
  // The thread that runs on the CPU as far as known.
  Utid RunningOn(std::uint32_t cpu) const {
    return cpu < cpus_.size() ? cpus_[cpu].last_utid : kNone;
  }
  // "swapper/3": idle threads are one thread of as many names as CPUs. kNoString: never idle.
  StringId IdleName(std::uint32_t cpu) const {
    return cpu < cpus_.size() ? cpus_[cpu].idle_name : kNoString;
  }
  // Where the thread ran last; kNone: not known.
  std::uint32_t LastCpu(Utid utid) const {
    return utid < states_.size() ? states_[utid].last_cpu : kNone;
  }
  // The previous thread of the last switch of a CPU, for the raw event; kNone at the first one.
  Utid previous_utid() const { return previous_utid_; }
  std::int64_t previous_tid() const { return previous_tid_; }
  std::int32_t previous_prio() const { return previous_prio_; }

 private:
  struct Cpu {
    RowId slice = kNone;  // open
    std::int64_t slice_ts = 0;
    std::int64_t last_tid = -1;  // of the last switch; meaningless while last_utid is kNone
    Utid last_utid = kNone;
    std::int32_t last_prio = 0;
    std::int64_t last_ts = 0;
    StringId idle_name = kNoString;
    bool is_seen = false;
    bool after_gap = false;
  };
  struct State {
    RowId row = kNone;      // the state the thread is in
    RowId blocked = kNone;  // its last blocked state, kept open until it runs
    std::uint32_t last_cpu = kNone;
    SchedState state = kNoState;
    bool is_first_seen = false;  // by a waking: before it nothing was known of the thread
  };

  Cpu& CpuOf(std::uint32_t cpu) {
    if (cpu >= cpus_.size()) cpus_.resize(cpu + 1);
    return cpus_[cpu];
  }
  State& StateOf(Utid utid) {
    if (utid >= states_.size()) states_.resize(threads_.threads().size());
    return states_[utid];
  }
  static bool IsBlocked(SchedState state) {
    return state != tables::kStateRunning && state != tables::kStateRunnable &&
           state != tables::kStatePreempted;
  }

  void EndSlice(Cpu& cpu, std::int64_t ts, SchedState end_state);
  void BeginSlice(std::uint32_t cpu_number, Cpu& cpu, std::int64_t ts, Utid utid,
                  std::int32_t prio);
  void CutSlice(Cpu& cpu);
  void EndState(State& state, std::int64_t ts);
  // The state that begins: what a row of thread_state has beside its times.
  struct Begin {
    SchedState state = kNoState;
    std::uint32_t cpu = kNone;
    Utid waker = kNone;
    std::uint32_t target_cpu = kNone;
    Irq irq_context = Irq::kUnknown;
  };
  void BeginState(Utid utid, std::int64_t ts, const Begin& begin);
  void ChangeStates(std::uint32_t cpu, std::int64_t ts, Utid prev, SchedState prev_state,
                    Utid next);
  void RanAllAlong(std::uint32_t cpu, std::int64_t ts, Utid utid);
  bool WakeState(const Wakeup& event, Utid wakee, Utid waker, bool is_spurious_noted);

  ThreadTracker& threads_;
  SchedStreams streams_;
  TraceStats& stats_;
  std::vector<Cpu> cpus_;
  std::vector<State> states_;
  Utid previous_utid_ = kNone;
  std::int64_t previous_tid_ = 0;
  std::int32_t previous_prio_ = 0;
};

}  // namespace culprit::load
