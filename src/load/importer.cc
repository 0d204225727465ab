#include "load/importer.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "load/track_args.h"
#include "tracefile/fields.h"

namespace culprit::load {
namespace {

// Numbers of the events in FtraceEvent, and of their fields where they are used.
enum EventField : std::uint32_t {
  kPrint = 3,
  kSchedSwitch = 4,
  kCpuFrequency = 11,
  kCpuIdle = 13,
  kClockEnable = 14,
  kClockDisable = 15,
  kClockSetRate = 16,
  kSchedWakeup = 17,
  kSchedBlockedReason = 18,
  kSchedWaking = 20,
  kSoftirqEntry = 24,
  kSoftirqExit = 25,
  kIrqHandlerEntry = 36,
  kIrqHandlerExit = 37,
  kBlockRqIssue = 45,
  kWorkqueueExecuteEnd = 57,
  kWorkqueueExecuteStart = 58,
  kSchedWakeupNew = 114,
  kBlockBioBackmerge = 115,
  kBlockBioFrontmerge = 118,
  kBlockRqComplete = 125,
  kBlockRqInsert = 126,
  kBlockRqRequeue = 129,
  kTaskNewtask = 235,
  kTaskRename = 236,
  kSchedProcessExec = 237,
  kSchedProcessFork = 239,
  kSchedProcessFree = 240,
  kMarkVictim = 334,
  kSchedMigrateTask = 491,
  kKprobeEvent = 542,
  kBlockIoStart = 546,
  kBlockIoDone = 547,
};

constexpr std::uint64_t kCloneThread = 0x00010000;  // CLONE_THREAD of the kernel's sched.h
constexpr std::size_t kCommBytes = 15;              // TASK_COMM_LEN without its zero
// TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ of common_flags.
constexpr std::uint32_t kInIrqFlags = 0x08 | 0x10;

// By vector, include/linux/interrupt.h.
constexpr std::string_view kSoftirqNames[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                              "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

constexpr std::size_t kCachedStates = 8192;

}  // namespace

SchedState ParseState(std::string_view text) {
  if (text.empty()) return kNoState;
  if (text.front() == 'R') {
    if (text == "R") return tables::kStateRunnable;
    return text == "R+" ? tables::kStatePreempted : kNoState;
  }
  SchedState state = 0;
  for (const char letter : text) {
    if (letter == '|') continue;  // the kernel parts flags by bars
    if (letter == '+') {
      state |= tables::kStatePreempted;
      continue;
    }
    const auto flag = tables::SchedStateFlag(letter);
    if (!flag.has_value()) return kNoState;
    state |= *flag;
  }
  return state;
}

void Importer::NameBlockDevice(std::string_view note) {
  const std::size_t blank = note.find(' ');
  const std::size_t colon = note.find(':');
  if (blank == std::string_view::npos || colon > blank) return;
  const auto major = ParseInteger<std::uint32_t>(note.substr(0, colon));
  const auto minor = ParseInteger<std::uint32_t>(note.substr(colon + 1, blank - colon - 1));
  if (!major || !minor) return;
  blocks_.NameDevice(makedev(*major, *minor), strings_.Intern(note.substr(blank + 1)));
}

Importer::Importer(StringPool& strings, const RowSinks& sinks)
    : strings_(strings),
      threads_(strings_),
      stacks_(strings_),
      sched_rows_(sinks.sched),
      state_rows_(sinks.thread_state),
      spurious_rows_(sinks.spurious_wakeup),
      slice_rows_(sinks.slice),
      counter_rows_(sinks.counter),
      block_rows_(sinks.block_io),
      stack_rows_(sinks.blocked_stack),
      perf_rows_(sinks.perf_sample),
      sched_(threads_, {sched_rows_, state_rows_, spurious_rows_}, stats_),
      args_(strings_, sinks.args),
      slices_(slice_rows_, stats_),
      flows_(slices_, stats_),
      async_tracks_(tracks_, slices_),
      markers_(strings_, threads_, tracks_, slices_, counter_rows_, stats_),
      memory_(strings_, threads_, tracks_, counter_rows_, stats_),
      syscalls_(strings_, slices_, args_, stats_),
      blocks_(block_rows_, stats_),
      task_states_(tracefile::TaskStates::FromRelease("")),
      states_(kCachedStates, kNone) {}

SchedState Importer::StateOf(std::int64_t prev_state) {
  const auto index = static_cast<std::uint64_t>(prev_state);
  if (index < states_.size() && states_[index] != kNone) {
    return static_cast<SchedState>(states_[index]);
  }
  const SchedState state = ParseState(task_states_.Text(prev_state));
  if (index < states_.size()) states_[index] = state;
  return state;
}

void Importer::CompactSwitch(std::uint32_t cpu, std::int64_t ts, std::int64_t prev_state,
                             std::int64_t next_tid, StringId next_comm, std::int32_t next_prio) {
  sched_.SwitchCompact(cpu, ts, StateOf(prev_state), next_tid, next_comm, next_prio,
                       IsBeforeAllCpus(ts));
}

Utid Importer::CompactWaking(const Wakeup& event) {
  return sched_.WakingCompact(event, IsBeforeAllCpus(event.ts));
}

void Importer::Switch(const SchedSwitch& event) {
  if (!IsBeforeAllCpus(event.ts)) sched_.Switch(event);
}

Irq Importer::IrqOf(const EventContext& context) const {
  if (!context.has_common_flags) return Irq::kUnknown;
  return IrqOfFlags(context.common_flags);
}

Irq Importer::IrqOfFlags(std::uint32_t common_flags) {
  return (common_flags & kInIrqFlags) != 0 ? Irq::kYes : Irq::kNo;
}

void Importer::TypedEvent(const EventContext& context, std::uint32_t field, std::string_view body,
                          EventFields& fields) {
  if (field == tracefile::FtraceEvent::kGeneric) {
    sched_.Seen(context.cpu, context.ts);
    Generic(context, body);
    return;
  }
  fields.Parse(body);
  Typed(context, field, fields);
}

// Of the generic events only the kernel stacks of our own recorder mean something here.
void Importer::Generic(const EventContext& context, std::string_view body) {
  namespace Event = tracefile::GenericFtraceEvent;
  tracefile::ProtoReader field(body);
  bool is_stack = false;
  while (field.Next()) {
    if (field.id() == Event::kEventName) is_stack = field.bytes() == "kernel_stack";
    if (!is_stack || field.id() != Event::kField) continue;
    tracefile::ProtoReader part(field.bytes());
    bool is_iid = false;
    while (part.Next()) {
      if (part.id() == Event::Field::kName) is_iid = part.bytes() == "callstack_iid";
      if (is_iid && !part.is_bytes()) KernelStack(context, part.u64());
    }
  }
}

Wakeup Importer::WakeupOf(const EventContext& context, const EventFields& fields) {
  return {.cpu = context.cpu,
          .ts = context.ts,
          .wakee_tid = fields.i32(2),
          .comm = strings_.Intern(fields.text(1)),
          .target_cpu = fields.u32(5),
          .irq_context = IrqOf(context)};
}

StringId Importer::KernelSymbol(const EventContext& context, std::uint64_t iid) {
  if (context.interned == nullptr) return kNoString;
  const auto found = context.interned->kernel_symbols.find(iid);
  if (found == context.interned->kernel_symbols.end()) return kNoString;
  return strings_.Intern(found->second);
}

StringId Importer::SymbolOrNumber(const EventContext& context, std::uint64_t iid) {
  const StringId name = KernelSymbol(context, iid);
  return name == kNoString ? strings_.Intern(std::to_string(iid)) : name;
}

void Importer::Counter(std::int64_t ts, TrackId track, double value) {
  Widen(ts);
  counter_rows_.Append({.id = 0, .track_id = track, .ts = ts, .value = value});
}

void Importer::CpuCounter(std::int64_t ts, std::uint32_t cpu, StringId type, StringId name,
                          double value) {
  Counter(ts, tracks_.Get(TrackScope::kCpu, cpu, type, name, true), value);
}

void Importer::IrqSlice(const EventContext& context, bool is_soft, bool is_begin, StringId name) {
  const StringId category = strings_.Intern("irq");
  const std::string track_name =
      (is_soft ? "SoftIrq Cpu " : "Irq Cpu ") + std::to_string(context.cpu);
  const TrackId track = tracks_.Get(TrackScope::kCpu, context.cpu,
                                    strings_.Intern(is_soft ? "cpu_softirq" : "cpu_irq"),
                                    strings_.Intern(track_name));
  if (is_begin) {
    slices_.Begin(context.ts, track, category, name);
  } else {
    slices_.End(context.ts, track, category);
  }
}

void Importer::ThreadSlice(const EventContext& context, bool is_begin, StringId category,
                           StringId name) {
  const Utid utid = threads_.GetThread(context.tid);
  const TrackId track = markers_.ThreadTrack(utid);
  markers_.SeenOn(utid, context.cpu);
  if (is_begin) {
    slices_.Begin(context.ts, track, category, name);
  } else {
    slices_.End(context.ts, track, category);
  }
}

void Importer::Typed(const EventContext& context, std::uint32_t field, const EventFields& fields) {
  sched_.Seen(context.cpu, context.ts);
  if (IsBeforeAllCpus(context.ts)) return;
  switch (field) {
    case kSchedSwitch:
      sched_.Switch({.cpu = context.cpu,
                     .ts = context.ts,
                     .prev_tid = fields.i32(2),
                     .prev_comm = strings_.Intern(fields.text(1)),
                     .prev_state = StateOf(fields.i64(4)),
                     .next_tid = fields.i32(6),
                     .next_comm = strings_.Intern(fields.text(5)),
                     .next_prio = fields.i32(7)});
      return;
    case kSchedWaking:
      sched_.Waking(WakeupOf(context, fields), threads_.GetThread(context.tid));
      return;
    case kSchedWakeup:
    case kSchedWakeupNew:
      sched_.Woken(WakeupOf(context, fields), threads_.GetThread(context.tid));
      return;
    case kSchedMigrateTask:
      sched_.Migrated(threads_.GetThread(fields.i32(2)), fields.u32(5));
      return;
    case kSchedBlockedReason:
      // Text has the symbol itself.
      sched_.BlockedReason(threads_.GetThread(fields.i32(1)), fields.u32(3) != 0 ? 1 : 0,
                           fields.text(2).empty() ? KernelSymbol(context, fields.u64(2))
                                                  : strings_.Intern(fields.text(2).substr(
                                                        0, fields.text(2).find('+'))));
      return;
    case kPrint:
      syscalls_.Marker(context.ts, markers_.ThreadTrack(threads_.GetThread(context.tid)));
      markers_.Write(context.ts, context.cpu, context.tid, fields.text(2));
      return;
    case kCpuFrequency:
      CpuCounter(context.ts, fields.u32(2), strings_.Intern("cpu_frequency"),
                 strings_.Intern("cpufreq"), fields.u32(1));
      return;
    case kCpuIdle:
      CpuCounter(context.ts, fields.u32(2), strings_.Intern("cpu_idle"), strings_.Intern("cpuidle"),
                 fields.u32(1));
      return;
    case kClockSetRate:
    case kClockEnable:
    case kClockDisable: {
      const bool is_rate = field == kClockSetRate;
      const std::string name = std::string(fields.text(1)) + (is_rate ? " Frequency" : " State");
      const TrackId track = tracks_.Get(
          TrackScope::kGlobal, kNone, strings_.Intern(is_rate ? "clock_frequency" : "clock_state"),
          strings_.Intern(name), true);
      Counter(context.ts, track, static_cast<double>(fields.u64(2)));
      return;
    }
    case kIrqHandlerEntry:
      IrqSlice(context, false, true, strings_.Intern("IRQ (" + std::string(fields.text(2)) + ")"));
      return;
    case kIrqHandlerExit:
      IrqSlice(context, false, false, kNoString);
      return;
    case kSoftirqEntry:
      if (fields.u32(1) < std::size(kSoftirqNames)) {
        IrqSlice(context, true, true, strings_.Intern(kSoftirqNames[fields.u32(1)]));
      }
      return;
    case kSoftirqExit:
      IrqSlice(context, true, false, kNoString);
      return;
    case kMarkVictim: {
      const Utid victim = threads_.GetThread(fields.i32(1));
      slices_.Instant(context.ts, markers_.ThreadTrack(victim), kNoString,
                      strings_.Intern("mem.oom_kill"));
      return;
    }
    case kKprobeEvent: {
      constexpr std::uint32_t kBegin = 1;
      constexpr std::uint32_t kEnd = 2;
      const StringId name = strings_.Intern(fields.text(1));
      if (fields.u32(2) == kBegin || fields.u32(2) == kEnd) {
        ThreadSlice(context, fields.u32(2) == kBegin, kNoString, name);
      } else {
        slices_.Instant(context.ts, markers_.ThreadTrack(threads_.GetThread(context.tid)),
                        kNoString, name);
      }
      return;
    }
    case kWorkqueueExecuteStart: {
      ThreadSlice(context, true, strings_.Intern("workqueue"),
                  SymbolOrNumber(context, fields.u64(2)));
      return;
    }
    case kWorkqueueExecuteEnd:
      ThreadSlice(context, false, strings_.Intern("workqueue"), kNoString);
      return;
    case kTaskNewtask:
    case kTaskRename:
    case kSchedProcessExec:
    case kSchedProcessFork:
    case kSchedProcessFree:
      Process(context, field, fields);
      return;
    case kBlockRqIssue:
    case kBlockRqInsert:
    case kBlockRqComplete:
    case kBlockRqRequeue:
    case kBlockBioBackmerge:
    case kBlockBioFrontmerge:
    case kBlockIoStart:
    case kBlockIoDone:
      Block(context, field, fields);
      return;
    default:
      Kernel(context, field, fields);
  }
}

void Importer::Process(const EventContext& context, std::uint32_t field,
                       const EventFields& fields) {
  switch (field) {
    case kTaskNewtask: {
      const std::int64_t tid = fields.i32(1);
      if (tid == 0) return;  // idle threads made while the kernel boots
      has_newtask_ = true;
      const Utid creator = threads_.GetThread(context.tid);
      const StringId name = strings_.Intern(fields.text(2));
      Utid created;
      if ((fields.u64(3) & kCloneThread) != 0) {
        created = threads_.CloneThread(context.ts, creator, tid, name);
      } else {
        threads_.ForkProcess(context.ts, creator, tid, name);
        created = threads_.GetThread(tid);
      }
      sched_.NewTask(context.ts, created, creator);
      return;
    }
    case kSchedProcessFork: {
      // task_newtask comes first and says more; this one does not tell threads from processes.
      const std::int64_t tid = fields.i32(4);
      if (tid == 0 || has_newtask_) return;
      // In text its fields have other names; the parent is the thread that it happens in.
      const Utid creator = threads_.GetThread(fields.Has(2) ? fields.i32(2) : context.tid);
      threads_.ForkProcess(context.ts, creator, tid, strings_.Intern(fields.text(3)), true);
      sched_.NewTask(context.ts, threads_.GetThread(tid), creator);
      return;
    }
    case kTaskRename:
      threads_.RenameThread(threads_.GetThread(fields.i32(1)), strings_.Intern(fields.text(3)));
      return;
    case kSchedProcessExec: {
      const std::int64_t tid = fields.i32(2);
      const std::int64_t old_tid = fields.i32(3);
      if (old_tid != tid && fields.Has(3)) sched_.TidChanged(context.cpu, old_tid, tid);
      std::string_view name = fields.text(1);
      name = name.substr(name.rfind('/') + 1).substr(0, kCommBytes);
      if (!name.empty()) threads_.RenameThread(threads_.GetThread(tid), strings_.Intern(name));
      return;
    }
    case kSchedProcessFree:
      threads_.EndThread(context.ts, fields.i32(2));
      return;
    default:
      return;
  }
}

void Importer::Block(const EventContext& context, std::uint32_t field, const EventFields& fields) {
  Widen(context.ts);
  BlockEvent event{.ts = context.ts,
                   .dev = fields.u64(1),
                   .sector = fields.u64(2),
                   .sectors = fields.u32(3),
                   .bytes = 0,
                   .cpu = context.cpu,
                   .op = kNoString,
                   .utid = threads_.GetThread(context.tid),
                   .error = 0};
  switch (field) {
    case kBlockRqIssue:
    case kBlockRqInsert:
      event.bytes = fields.u32(4);
      event.op = strings_.Intern(fields.text(5));
      field == kBlockRqIssue ? blocks_.Issue(event) : blocks_.Insert(event);
      return;
    case kBlockRqComplete:
      event.error = fields.Has(7) ? fields.i32(7) : fields.i32(4);
      slices_.EndFree(event.ts, blocks_.Complete(event));
      return;
    case kBlockRqRequeue:
      blocks_.Requeue(event);
      return;
    case kBlockBioBackmerge:
      blocks_.BackMerge(event);
      return;
    case kBlockBioFrontmerge:
      blocks_.FrontMerge(event);
      return;
    case kBlockIoStart:
      event.bytes = fields.u32(4);
      event.op = strings_.Intern(fields.text(6));
      blocks_.Start(event, slices_.BeginFree(event.ts,
                                             tracks_.Get(TrackScope::kGlobal,
                                                         static_cast<std::uint32_t>(event.dev),
                                                         strings_.Intern("block_io"), kNoString),
                                             kNoString, strings_.Intern("block_io")));
      return;
    case kBlockIoDone:
      slices_.EndFree(event.ts, blocks_.Done(event));
      return;
    default:
      return;
  }
}

void Importer::KernelStack(const EventContext& context, std::uint64_t callstack) {
  if (context.interned == nullptr || IsBeforeAllCpus(context.ts)) return;
  const StackTable::Stack stack = stacks_.Resolve(*context.interned, callstack);
  if (stack.callsite == kNoCallsite) {
    stats_.Add("interned_stack_missing");
    return;
  }
  Blocked(context, stack);
}

void Importer::KernelStackOf(const EventContext& context,
                             std::span<const std::string_view> functions) {
  sched_.Seen(context.cpu, context.ts);
  if (!functions.empty()) Blocked(context, stacks_.Of(functions));
}

void Importer::Blocked(const EventContext& context, const StackTable::Stack& stack) {
  const Utid utid = threads_.GetThread(context.tid);
  const RowId blocked = sched_.LastBlocked(utid);
  sched_.BlockedReason(utid, -1, stack.blocked_function);
  stack_rows_.Append({.id = 0,
                      .utid = utid,
                      .ts = context.ts,
                      .thread_state_id = blocked,
                      .callsite_id = stack.callsite});
}

void Importer::ToldState(std::int64_t ts, std::int64_t dur, Utid utid, SchedState state,
                         std::optional<std::uint32_t> cpu, StringId blocked_function, int io_wait,
                         ToldRun run) {
  const bool is_running = state == tables::kStateRunning && cpu.has_value();
  state_rows_.Append({.id = 0,
                      .utid = utid,
                      .ts = ts,
                      .dur = dur,
                      .cpu = is_running ? *cpu : kNone,
                      .blocked_function = blocked_function,
                      .waker_utid = kNone,
                      .waker_id = kNone,
                      .target_cpu = kNone,
                      .state = state,
                      .irq_context = Irq::kUnknown,
                      .io_wait = static_cast<std::int8_t>(io_wait)});
  if (!is_running || !run.has_sched_row) return;
  sched_.Seen(*cpu, ts);
  sched_rows_.Append({.id = 0,
                      .cpu = *cpu,
                      .ts = ts,
                      .dur = dur,
                      .utid = utid,
                      .upid = kNone,
                      .priority = 0,
                      .end_state = run.end_state});
}

void Importer::EventsLost(std::uint32_t cpu, std::int64_t ts, std::optional<std::int64_t> count) {
  stats_.Set("ftrace_cpu_has_data_loss", 1, cpu);
  stats_.Add("lost_gaps", 1, cpu);
  if (count.has_value()) stats_.Add("lost_events", *count, cpu);
  lost_gaps_.push_back({.cpu = cpu, .begin = sched_.LastSeen(cpu), .end = ts, .events = count});
  markers_.EventsLost(cpu, sched_);
  for (const bool is_soft : {false, true}) {
    const std::string name = (is_soft ? "SoftIrq Cpu " : "Irq Cpu ") + std::to_string(cpu);
    slices_.Cut(tracks_.Get(TrackScope::kCpu, cpu,
                            strings_.Intern(is_soft ? "cpu_softirq" : "cpu_irq"),
                            strings_.Intern(name)));
  }
  sched_.EventsLost(cpu);
}

void Importer::Finish() {
  threads_.Settle();
  memory_.Settle();
  first_track_arg_set_ = AddTrackArgs(tracks_, strings_, args_);
  sched_rows_.Finish();
  state_rows_.Finish();
  spurious_rows_.Finish();
  slice_rows_.Finish();
  counter_rows_.Finish();
  block_rows_.Finish();
  stack_rows_.Finish();
  perf_rows_.Finish();
  args_.Finish();
}

}  // namespace culprit::load
