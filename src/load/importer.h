// Importer: the meaning of each event and packet, in order of time, whatever format they came in:
// passes them to the state machines. Reads no files and writes no tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "load/arg_sets.h"
#include "load/async_tracks.h"
#include "load/block_tracker.h"
#include "load/event_fields.h"
#include "load/flow_tracker.h"
#include "load/marker_tracker.h"
#include "load/memory_tracker.h"
#include "load/row_stream.h"
#include "load/rows.h"
#include "load/sched_tracker.h"
#include "load/slice_tracker.h"
#include "load/stack_table.h"
#include "load/stats.h"
#include "load/string_pool.h"
#include "load/syscall_tracker.h"
#include "load/thread_tracker.h"
#include "load/trace_index.h"
#include "load/track_table.h"
#include "tracefile/task_state.h"

namespace culprit::load {

// Where the rows of each big table go.
struct RowSinks {
  BlockSink<SchedRow>* sched;
  BlockSink<ThreadStateRow>* thread_state;
  BlockSink<SpuriousWakeupRow>* spurious_wakeup;
  BlockSink<SliceRow>* slice;
  BlockSink<CounterRow>* counter;
  BlockSink<BlockIoRow>* block_io;
  BlockSink<BlockedStackRow>* blocked_stack;
  BlockSink<PerfSampleRow>* perf_sample;
  BlockSink<SliceArgRow>* args = nullptr;  // null: nobody asked for arguments
};

// One event of ftrace as the importer sees it.
struct EventContext {
  std::int64_t ts = 0;
  std::uint32_t cpu = 0;
  std::int64_t tid = 0;  // the thread it happened in
  std::uint32_t common_flags = 0;
  bool has_common_flags = false;
  const Interned* interned = nullptr;  // null: none (text)
};

// "S", "R+", "DK" as the kernel prints them; kNoState for anything else.
SchedState ParseState(std::string_view text);

class Importer {
 public:
  // The strings outlive the importer: rows on their way out refer to them.
  Importer(StringPool& strings, const RowSinks& sinks);

  // How prev_state reads on the traced kernel.
  void SetTaskStates(const tracefile::TaskStates& states) { task_states_ = states; }
  void SetMachine(std::string_view machine) { syscalls_.SetMachine(machine); }
  // Earlier events are in ftrace_event alone.
  void SetAllCpusFrom(std::int64_t ts) { all_cpus_from_ = ts; }
  // A note of the recorder's: "254:0 vda". Others are passed over.
  void NameBlockDevice(std::string_view note);

  StringPool& strings() { return strings_; }
  ThreadTracker& threads() { return threads_; }
  TrackTable& tracks() { return tracks_; }
  SchedTracker& sched() { return sched_; }
  SliceTracker& slices() { return slices_; }
  ArgSets& args() { return args_; }
  FlowTracker& flows() { return flows_; }
  AsyncTracks& async_tracks() { return async_tracks_; }
  MemoryTracker& process_counters() { return memory_; }
  TrackId ThreadTrack(Utid utid) { return markers_.ThreadTrack(utid); }
  StackTable& stacks() { return stacks_; }
  RowStream<PerfSampleRow>& perf_samples() { return perf_rows_; }
  TraceStats& stats() { return stats_; }
  const std::vector<LostGap>& lost_gaps() const { return lost_gaps_; }

  // kNoState: not a state of this kernel.
  SchedState StateOf(std::int64_t prev_state);
  bool IsBeforeAllCpus(std::int64_t ts) const { return ts < all_cpus_from_; }

  void CompactSwitch(std::uint32_t cpu, std::int64_t ts, std::int64_t prev_state,
                     std::int64_t next_tid, StringId next_comm, std::int32_t next_prio);
  // Returns the waker; kNone: not known.
  Utid CompactWaking(const Wakeup& event);
  // An event that the trace format types, by its number there. The thread it happened in exists.
  void Typed(const EventContext& context, std::uint32_t field, const EventFields& fields);
  // The same from its payload; also generic ones. `fields` is room to parse into.
  void TypedEvent(const EventContext& context, std::uint32_t field, std::string_view body,
                  EventFields& fields);
  static Irq IrqOfFlags(std::uint32_t common_flags);
  // sched_switch whose state is text already.
  void Switch(const SchedSwitch& event);
  // A kernel stack that the CPU's current thread recorded while it went to sleep.
  void KernelStack(const EventContext& context, std::uint64_t callstack);
  // The same, by the names of its functions from the root to the leaf.
  void KernelStackOf(const EventContext& context, std::span<const std::string_view> functions);
  // Events of the CPU are missing before `ts`.
  void EventsLost(std::uint32_t cpu, std::int64_t ts, std::optional<std::int64_t> count);
  void Counter(std::int64_t ts, TrackId track, double value);
  // A state that the trace tells as it is, and where it was running.
  struct ToldRun {
    SchedState end_state = kNoState;
    bool has_sched_row = true;
  };
  void ToldState(std::int64_t ts, std::int64_t dur, Utid utid, SchedState state,
                 std::optional<std::uint32_t> cpu, StringId blocked_function, int io_wait,
                 ToldRun run);
  void ToldState(std::int64_t ts, std::int64_t dur, Utid utid, SchedState state,
                 std::optional<std::uint32_t> cpu, StringId blocked_function, int io_wait) {
    ToldState(ts, dur, utid, state, cpu, blocked_function, io_wait, ToldRun());
  }
  // Everything leaves for the sinks.
  void Finish();

  // The set of arguments of track 0; those of the others follow. Valid once finished.
  std::uint32_t first_track_arg_set() const { return first_track_arg_set_; }

  // First and last time of anything that has a row.
  void Widen(std::int64_t ts) {
    if (ts < first_ts_) first_ts_ = ts;
    if (ts > last_ts_) last_ts_ = ts;
  }
  std::int64_t first_ts() const { return first_ts_; }
  std::int64_t last_ts() const { return last_ts_; }

 private:
  void Blocked(const EventContext& context, const StackTable::Stack& stack);
  void Generic(const EventContext& context, std::string_view body);
  void Process(const EventContext& context, std::uint32_t field, const EventFields& fields);
  // What is left: importer_kernel.cc.
  void Kernel(const EventContext& context, std::uint32_t field, const EventFields& fields);
  bool Stretch(const EventContext& context, std::uint32_t field, const EventFields& fields);
  void NetCounter(const EventContext& context, bool is_received, const EventFields& fields);
  void Block(const EventContext& context, std::uint32_t field, const EventFields& fields);
  void CpuCounter(std::int64_t ts, std::uint32_t cpu, StringId type, StringId name, double value);
  void IrqSlice(const EventContext& context, bool is_soft, bool is_begin, StringId name);
  void ThreadSlice(const EventContext& context, bool is_begin, StringId category, StringId name);
  StringId KernelSymbol(const EventContext& context, std::uint64_t iid);
  StringId SymbolOrNumber(const EventContext& context, std::uint64_t iid);
  Irq IrqOf(const EventContext& context) const;
  Wakeup WakeupOf(const EventContext& context, const EventFields& fields);

  StringPool& strings_;
  TraceStats stats_;
  ThreadTracker threads_;
  TrackTable tracks_;
  StackTable stacks_;
  RowStream<SchedRow> sched_rows_;
  RowStream<ThreadStateRow> state_rows_;
  RowStream<SpuriousWakeupRow> spurious_rows_;
  RowStream<SliceRow> slice_rows_;
  RowStream<CounterRow> counter_rows_;
  RowStream<BlockIoRow> block_rows_;
  RowStream<BlockedStackRow> stack_rows_;
  RowStream<PerfSampleRow> perf_rows_;
  SchedTracker sched_;
  ArgSets args_;
  SliceTracker slices_;
  FlowTracker flows_;
  AsyncTracks async_tracks_;
  MarkerTracker markers_;
  MemoryTracker memory_;
  SyscallTracker syscalls_;
  BlockTracker blocks_;
  tracefile::TaskStates task_states_;
  std::vector<std::uint32_t> states_;  // by prev_state, of the small ones; kNone: not yet asked
  std::vector<LostGap> lost_gaps_;
  std::unordered_map<TrackId, std::uint64_t> net_bytes_;
  bool has_newtask_ = false;
  std::int64_t all_cpus_from_ = INT64_MIN;
  std::uint32_t first_track_arg_set_ = 0;
  std::int64_t first_ts_ = INT64_MAX;
  std::int64_t last_ts_ = INT64_MIN;
};

}  // namespace culprit::load
