#include "load/sched_tracker.h"

namespace culprit::load {

void SchedTracker::BeginSlice(std::uint32_t cpu_number, Cpu& cpu, std::int64_t ts, Utid utid,
                              std::int32_t prio) {
  cpu.slice = streams_.slices.Open({.id = 0,
                                    .cpu = cpu_number,
                                    .ts = ts,
                                    .dur = kOpenDur,
                                    .utid = utid,
                                    .upid = kNone,
                                    .priority = static_cast<std::int16_t>(prio),
                                    .end_state = kNoState});
  cpu.slice_ts = ts;
}

void SchedTracker::EndSlice(Cpu& cpu, std::int64_t ts, SchedState end_state) {
  if (cpu.slice == kNone) return;
  if (SchedRow* row = streams_.slices.Find(cpu.slice); row != nullptr) {
    row->dur = ts - row->ts;
    row->end_state = end_state;
  }
  streams_.slices.Close(cpu.slice);
  cpu.slice = kNone;
}

// The slice is known to have gone on until the CPU's last event, and no longer.
void SchedTracker::CutSlice(Cpu& cpu) {
  if (cpu.slice != kNone) {
    stats_.Add("sched_slices_cut");
    EndSlice(cpu, cpu.last_ts < cpu.slice_ts ? cpu.slice_ts : cpu.last_ts, kNoState);
  }
  const Utid utid = cpu.last_utid;
  if (utid == kNone || utid == 0) return;
  State& state = StateOf(utid);
  if (state.row == kNone || state.state != tables::kStateRunning) return;
  const ThreadStateRow* row = streams_.states.Find(state.row);
  if (row == nullptr || &CpuOf(row->cpu) != &cpu) return;  // it runs elsewhere by now
  EndState(state, cpu.last_ts < row->ts ? row->ts : cpu.last_ts);
  state.row = kNone;
  state.state = kNoState;
}

void SchedTracker::EndState(State& state, std::int64_t ts) {
  if (state.row == kNone) return;
  if (ThreadStateRow* row = streams_.states.Find(state.row); row != nullptr) {
    row->dur = ts - row->ts;
  }
  if (state.row != state.blocked) streams_.states.Close(state.row);
}

void SchedTracker::BeginState(Utid utid, std::int64_t ts, const Begin& begin) {
  RowId waker_row = kNone;
  if (begin.waker != kNone && begin.waker != 0) {
    const State& of_waker = StateOf(begin.waker);
    if (of_waker.state == tables::kStateRunning) waker_row = of_waker.row;
  }
  State& state = StateOf(utid);
  state.row = streams_.states.Open({.id = 0,
                                    .utid = utid,
                                    .ts = ts,
                                    .dur = kOpenDur,
                                    .cpu = begin.cpu,
                                    .blocked_function = kNoString,
                                    .waker_utid = begin.waker,
                                    .waker_id = waker_row,
                                    .target_cpu = begin.target_cpu,
                                    .state = begin.state,
                                    .irq_context = begin.irq_context,
                                    .io_wait = -1});
  state.state = begin.state;
  state.is_first_seen = false;
  const bool is_blocked = IsBlocked(begin.state);
  if ((is_blocked || begin.state == tables::kStateRunning) && state.blocked != kNone) {
    streams_.states.Close(state.blocked);
    state.blocked = kNone;
  }
  if (is_blocked) state.blocked = state.row;
}

// The first event of a CPU shows a thread running there of which only a waking was seen: that
// waking came while it ran.
void SchedTracker::RanAllAlong(std::uint32_t cpu, std::int64_t ts, Utid utid) {
  if (utid == 0) return;
  State& state = StateOf(utid);
  if (!state.is_first_seen || state.state != tables::kStateRunnable) return;
  ThreadStateRow* row = streams_.states.Find(state.row);
  if (row == nullptr || row->ts > ts) return;
  row->state = tables::kStateRunning;
  row->cpu = cpu;
  row->waker_utid = kNone;
  row->waker_id = kNone;
  row->target_cpu = kNone;
  row->irq_context = Irq::kUnknown;
  state.state = tables::kStateRunning;
}

void SchedTracker::ChangeStates(std::uint32_t cpu, std::int64_t ts, Utid prev,
                                SchedState prev_state, Utid next) {
  if (prev != 0) {
    State& state = StateOf(prev);
    if (state.state == tables::kStateRunning || state.row == kNone) {
      EndState(state, ts);
    } else if (state.row != state.blocked) {
      // It was not seen to run: events are missing, and when that state ended is not known.
      streams_.states.Close(state.row);
    }
    BeginState(prev, ts, {.state = prev_state});
  }
  if (next != 0) {
    // One that runs elsewhere still (seen when a thread is moved by force) ends there and now.
    EndState(StateOf(next), ts);
    BeginState(next, ts, {.state = tables::kStateRunning, .cpu = cpu});
    StateOf(next).last_cpu = cpu;
  }
}

void SchedTracker::Switch(const SchedSwitch& event) {
  const Utid next = threads_.GetThread(event.next_tid);
  threads_.NameThread(next, event.next_comm, NameSource::kFtrace);
  Cpu& cpu = CpuOf(event.cpu);
  const bool is_first = cpu.last_utid == kNone && !cpu.after_gap;
  if (event.prev_state == kNoState) stats_.Add("task_state_invalid");
  if (cpu.slice != kNone) {
    if (event.prev_tid == cpu.last_tid) {
      EndSlice(cpu, event.ts, event.prev_state);
    } else {
      stats_.Add("mismatched_sched_switch_tids");
      CutSlice(cpu);
    }
  }
  const Utid prev = threads_.GetThread(event.prev_tid);
  threads_.NameThread(prev, event.prev_comm, NameSource::kFtrace);
  if (event.next_tid == 0) cpu.idle_name = event.next_comm;
  if (event.prev_tid == 0) cpu.idle_name = event.prev_comm;
  BeginSlice(event.cpu, cpu, event.ts, next, event.next_prio);
  cpu.last_tid = event.next_tid;
  cpu.last_utid = next;
  cpu.last_prio = event.next_prio;
  cpu.last_ts = event.ts;
  cpu.is_seen = true;
  cpu.after_gap = false;
  previous_utid_ = prev;
  if (is_first) RanAllAlong(event.cpu, event.ts, prev);
  ChangeStates(event.cpu, event.ts, prev, event.prev_state, next);
}

void SchedTracker::SwitchCompact(std::uint32_t cpu_number, std::int64_t ts, SchedState prev_state,
                                 std::int64_t next_tid, StringId next_comm, std::int32_t next_prio,
                                 bool only_raw) {
  const Utid next = threads_.GetThread(next_tid);
  threads_.NameThread(next, next_comm, NameSource::kFtrace);
  Cpu& cpu = CpuOf(cpu_number);
  if (next_tid == 0) cpu.idle_name = next_comm;
  const Utid prev = cpu.last_utid;
  previous_utid_ = prev;
  previous_tid_ = cpu.last_tid;
  previous_prio_ = cpu.last_prio;
  cpu.last_tid = next_tid;
  cpu.last_utid = next;
  cpu.last_prio = next_prio;
  cpu.last_ts = ts;
  cpu.is_seen = true;
  if (prev == kNone) {
    if (!cpu.after_gap) {
      stats_.Add("compact_sched_switch_skipped");
      return;
    }
    // After a gap the thread before is not known, the next one is.
    cpu.after_gap = false;
    BeginSlice(cpu_number, cpu, ts, next, next_prio);
    ChangeStates(cpu_number, ts, 0, kNoState, next);
    return;
  }
  if (prev_state == kNoState) stats_.Add("task_state_invalid");
  EndSlice(cpu, ts, prev_state);
  if (only_raw) return;
  BeginSlice(cpu_number, cpu, ts, next, next_prio);
  ChangeStates(cpu_number, ts, prev, prev_state, next);
}

// Whether the thread was blocked, or nothing was known of it, and is runnable now.
bool SchedTracker::WakeState(const Wakeup& event, Utid wakee, Utid waker, bool is_spurious_noted) {
  if (wakee == 0) return false;
  State& state = StateOf(wakee);
  if (state.row != kNone) {
    if (!IsBlocked(state.state)) {
      if (is_spurious_noted) {
        streams_.spurious.Append({.id = 0,
                                  .thread_state_id = state.row,
                                  .ts = event.ts,
                                  .utid = wakee,
                                  .waker_utid = waker,
                                  .target_cpu = event.target_cpu,
                                  .irq_context = event.irq_context});
      }
      return false;
    }
    EndState(state, event.ts);
  }
  const bool is_first_seen = state.row == kNone && state.last_cpu == kNone;
  BeginState(wakee, event.ts,
             {.state = tables::kStateRunnable,
              .waker = waker,
              .target_cpu = event.target_cpu,
              .irq_context = event.irq_context});
  StateOf(wakee).is_first_seen = is_first_seen;
  return true;
}

void SchedTracker::Waking(const Wakeup& event, Utid waker) {
  const Utid wakee = threads_.GetThread(event.wakee_tid);
  threads_.NameThread(wakee, event.comm, NameSource::kFtrace);
  WakeState(event, wakee, waker, true);
}

Utid SchedTracker::WakingCompact(const Wakeup& event, bool only_raw) {
  const Utid waker = RunningOn(event.cpu);
  if (waker == kNone && !CpuOf(event.cpu).after_gap) {
    stats_.Add("compact_sched_waking_skipped");
    return kNone;
  }
  if (only_raw) return waker;
  WakeState(event, threads_.GetThread(event.wakee_tid), waker, true);
  return waker;
}

void SchedTracker::Woken(const Wakeup& event, Utid waker) {
  const Utid wakee = threads_.GetThread(event.wakee_tid);
  threads_.NameThread(wakee, event.comm, NameSource::kFtrace);
  // Where a waking was seen before, this says which CPU the kernel has picked since.
  if (!WakeState(event, wakee, waker, false)) Migrated(wakee, event.target_cpu);
}

void SchedTracker::Migrated(Utid utid, std::uint32_t target_cpu) {
  const State& state = StateOf(utid);
  if (state.row == kNone || state.state != tables::kStateRunnable) return;
  ThreadStateRow* row = streams_.states.Find(state.row);
  if (row != nullptr && row->target_cpu != kNone) row->target_cpu = target_cpu;
}

void SchedTracker::NewTask(std::int64_t ts, Utid utid, Utid creator) {
  if (utid == 0) return;
  BeginState(utid, ts,
             {.state = tables::kStateRunnable, .waker = creator, .irq_context = Irq::kNo});
}

void SchedTracker::TidChanged(std::uint32_t cpu, std::int64_t old_tid, std::int64_t new_tid) {
  Cpu& own = CpuOf(cpu);
  if (own.last_utid == kNone || own.last_tid != old_tid) return;
  const Utid old_utid = own.last_utid;
  own.last_tid = new_tid;
  own.last_utid = threads_.GetThread(new_tid);
  if (old_utid == 0 || own.last_utid == 0) return;
  State moved = StateOf(old_utid);
  if (moved.state != tables::kStateRunning) return;
  StateOf(own.last_utid) = moved;
  StateOf(old_utid) = State{};
}

void SchedTracker::BlockedReason(Utid utid, int io_wait, StringId function) {
  const RowId blocked = LastBlocked(utid);
  if (blocked == kNone) return;
  ThreadStateRow* row = streams_.states.Find(blocked);
  if (row == nullptr) return;
  if (io_wait >= 0) row->io_wait = static_cast<std::int8_t>(io_wait != 0);
  if (function != kNoString) row->blocked_function = function;
}

RowId SchedTracker::LastBlocked(Utid utid) const {
  return utid < states_.size() ? states_[utid].blocked : kNone;
}

void SchedTracker::EventsLost(std::uint32_t cpu_number) {
  Cpu& cpu = CpuOf(cpu_number);
  CutSlice(cpu);
  cpu.after_gap = cpu.last_utid != kNone || cpu.after_gap;
  cpu.last_utid = kNone;
}

}  // namespace culprit::load
