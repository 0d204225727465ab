#include "load/load.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "load/append_pool.h"
#include "load/event_merger.h"
#include "load/ftrace_text/text_pass.h"
#include "load/importer.h"
#include "load/packet_importer.h"
#include "load/table_writers.h"
#include "load/trace_index.h"
#include "tables/database.h"
#include "tracefile/fields.h"
#include "tracefile/trace_file.h"

namespace culprit::load {
namespace {

constexpr unsigned kMostThreads = 8;
constexpr std::uint64_t kEventsBetweenReports = 1 << 18;

// Fills in what is known only now: the process of each row's thread. Rows that leave before it is
// known are put right at the end.
class SchedSink final : public BlockSink<SchedRow> {
 public:
  SchedSink(AppendPool& pool, const ThreadTracker* const* threads)
      : out_(pool, "__intrinsic_sched_slice",
             [](const auto& block, auto& appender) { return WriteBlock(block, appender); }),
        threads_(threads) {}

  void Take(std::unique_ptr<RowBlock<SchedRow>> block) override {
    for (std::size_t i = 0; i < block->count; ++i) {
      SchedRow& row = block->rows[i];
      row.upid = (*threads_)->upid_of(row.utid);
      if (row.upid == kNone) Remember(row.utid);
    }
    out_.Take(std::move(block));
  }
  void Finish() { out_.Finish(); }
  // Whether a row left without the process that its thread is known to have by now.
  bool HasStaleRows() const {
    for (Utid utid = 0; utid < left_without_.size(); ++utid) {
      if (left_without_[utid] && (*threads_)->upid_of(utid) != kNone) return true;
    }
    return false;
  }

 private:
  void Remember(Utid utid) {
    if (utid >= left_without_.size()) left_without_.resize(utid + 1);
    left_without_[utid] = true;
  }
  TableSink<SchedRow> out_;
  const ThreadTracker* const* threads_;
  std::vector<bool> left_without_;
};

// The sinks of a load into tables.
class Sinks {
 public:
  Sinks(AppendPool& pool, const ThreadTracker* const* threads, const StringPool& strings)
      : sched(pool, threads),
        thread_state(
            pool, "__intrinsic_thread_state",
            [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
        spurious(pool, "__intrinsic_spurious_sched_wakeup",
                 [](const auto& block, auto& out) { return WriteBlock(block, out); }),
        slice(pool, "__intrinsic_slice",
              [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
        counter(pool, "__intrinsic_counter",
                [](const auto& block, auto& out) { return WriteBlock(block, out); }),
        block_io(
            pool, "__intrinsic_block_io",
            [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
        blocked_stack(pool, "blocked_stack",
                      [](const auto& block, auto& out) { return WriteBlock(block, out); }) {}

  RowSinks Refs() {
    return {&sched, &thread_state, &spurious, &slice, &counter, &block_io, &blocked_stack};
  }
  void Finish() {
    sched.Finish();
    thread_state.Finish();
    spurious.Finish();
    slice.Finish();
    counter.Finish();
    block_io.Finish();
    blocked_stack.Finish();
  }

  SchedSink sched;
  TableSink<ThreadStateRow> thread_state;
  TableSink<SpuriousWakeupRow> spurious;
  TableSink<SliceRow> slice;
  TableSink<CounterRow> counter;
  TableSink<BlockIoRow> block_io;
  TableSink<BlockedStackRow> blocked_stack;
};

// One pass over the events of a trace in Perfetto's format.
class PerfettoPass {
 public:
  PerfettoPass(const TraceIndex& index, Importer& importer, PacketImporter& packets)
      : index_(index), importer_(importer), packets_(packets) {
    for (const LostGap& gap : index.lost_gaps) {
      if (gap.cpu >= gaps_.size()) gaps_.resize(gap.cpu + 1);
      gaps_[gap.cpu].push_back(gap);
    }
    for (auto& of_cpu : gaps_) {
      std::stable_sort(of_cpu.begin(), of_cpu.end(),
                       [](const LostGap& a, const LostGap& b) { return a.end > b.end; });
    }
  }

  Status Run(const LoadOptions& options, std::uint64_t bytes_total, const AppendPool& pool);

  std::uint64_t events() const { return events_; }
  std::uint64_t sched_events() const { return sched_events_; }

 private:
  void TakeEvent(std::uint32_t cpu, const Event& event);
  // Gaps that the recorder told of and that end at or before `ts`.
  bool TakeGaps(std::uint32_t cpu, std::int64_t ts);

  const TraceIndex& index_;
  Importer& importer_;
  PacketImporter& packets_;
  std::vector<std::vector<LostGap>> gaps_;  // by CPU, the next one last
  EventFields fields_;
  std::uint64_t events_ = 0;
  std::uint64_t sched_events_ = 0;
};

bool PerfettoPass::TakeGaps(std::uint32_t cpu, std::int64_t ts) {
  if (cpu >= gaps_.size()) return false;
  bool found = false;
  while (!gaps_[cpu].empty() && gaps_[cpu].back().end <= ts) {
    importer_.EventsLost(cpu, gaps_[cpu].back().end, gaps_[cpu].back().events);
    gaps_[cpu].pop_back();
    found = true;
  }
  return found;
}

void PerfettoPass::TakeEvent(std::uint32_t cpu, const Event& event) {
  if (event.ts < index_.tracing_started) {
    importer_.stats().Add("ftrace_packet_before_tracing_start");
    return;
  }
  if (!gaps_.empty()) TakeGaps(cpu, event.ts);
  ++events_;
  importer_.Widen(event.ts);
  switch (event.kind) {
    case EventKind::kSwitch:
      ++sched_events_;
      importer_.CompactSwitch(cpu, event.ts, event.prev_state, event.tid, event.comm, event.prio);
      return;
    case EventKind::kWaking:
      ++sched_events_;
      importer_.CompactWaking({.cpu = cpu,
                               .ts = event.ts,
                               .wakee_tid = event.tid,
                               .comm = event.comm,
                               .target_cpu = event.target_cpu,
                               .irq_context = Importer::IrqOfFlags(event.common_flags)});
      return;
    case EventKind::kTyped:
      break;
  }
  importer_.TypedEvent({.ts = event.ts,
                        .cpu = cpu,
                        .tid = event.tid,
                        .common_flags = event.common_flags,
                        .has_common_flags = event.common_flags != 0,
                        .interned = &index_.interned[event.interned]},
                       event.field, event.body(), fields_);
  if (event.field == tracefile::FtraceEvent::kSchedSwitch ||
      event.field == tracefile::FtraceEvent::kSchedWaking) {
    ++sched_events_;
  }
}

Status PerfettoPass::Run(const LoadOptions& options, std::uint64_t bytes_total,
                         const AppendPool& pool) {
  EventMerger merger(index_, importer_.strings(), importer_.stats());
  for (std::uint64_t step = 0;; ++step) {
    const Merged next = merger.Next();
    switch (next.kind) {
      case Merged::Kind::kEnd:
        return {};
      case Merged::Kind::kPacket:
        packets_.Timed(*next.packet);
        break;
      case Merged::Kind::kLost:
        if (!TakeGaps(next.cpu, next.event->ts)) {
          importer_.EventsLost(next.cpu, next.event->ts, std::nullopt);
        }
        break;
      case Merged::Kind::kEvent:
        TakeEvent(next.cpu, *next.event);
        break;
    }
    if (step % kEventsBetweenReports == 0) {
      if (pool.has_failed()) return {};  // its Error comes from Finish
      if (options.progress && !options.progress({merger.bytes_done(), bytes_total, events_})) {
        return Error{"loading was interrupted", ""};
      }
    }
  }
}

LoadSummary Summarise(const tracefile::TraceFile& file, const TraceIndex& index,
                      Importer& importer) {
  LoadSummary summary;
  summary.file_bytes = file.file_bytes();
  summary.packets = index.packet_count;
  summary.truncated = index.is_truncated;
  if (importer.first_ts() <= importer.last_ts()) {
    summary.start = {importer.first_ts()};
    summary.end = {importer.last_ts()};
  }
  std::int64_t overrun = 0;
  std::int64_t in_gaps = 0;
  for (const auto& [place, value] : importer.stats().values()) {
    const std::string& name = place.first;
    if (value == 0) continue;
    const StatKind& kind = FindStatKind(name);
    summary.stats.push_back({name, place.second, value, kind.severity != Severity::kInfo});
    if (name == "ftrace_cpu_overrun_delta" || name == "ftrace_cpu_dropped_events_delta") {
      overrun += value;
    }
    if (name == "lost_events") in_gaps += value;
  }
  summary.lost_events = static_cast<std::uint64_t>(std::max(overrun, in_gaps));
  return summary;
}

// What every load has: where rows go, the state machines, and the finish.
class Loading {
 public:
  Loading(tables::Database& database, const LoadOptions& options)
      : database_(database),
        pool_(database, ThreadsOf(options)),
        sinks_(pool_, &threads_, strings_),
        importer_(strings_, sinks_.Refs()) {
    threads_ = &importer_.threads();
  }

  Importer& importer() { return importer_; }
  const AppendPool& pool() const { return pool_; }

  Status Finish(const TraceIndex& index, const PacketImporter& packets) {
    importer_.Finish();
    sinks_.Finish();
    CULPRIT_TRY(pool_.Finish());
    CULPRIT_TRY(WriteSmallTables(database_, importer_, index, packets));
    if (!sinks_.sched.HasStaleRows()) return {};
    CULPRIT_ASSIGN(auto connection, database_.Connect());
    return connection.Execute(
        "UPDATE __intrinsic_sched_slice AS s SET upid = t.upid FROM thread AS t "
        "WHERE s.utid = t.utid AND s.upid IS NULL AND t.upid IS NOT NULL");
  }

 private:
  static unsigned ThreadsOf(const LoadOptions& options) {
    if (options.threads != 0) return options.threads;
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  }

  tables::Database& database_;
  StringPool strings_;  // outlives the workers that read it
  AppendPool pool_;
  const ThreadTracker* threads_ = nullptr;
  Sinks sinks_;
  Importer importer_;
};

Result<LoadSummary> LoadText(const tracefile::TraceFile& file, tables::Database& database,
                             const LoadOptions& options) {
  Loading loading(database, options);
  Importer& importer = loading.importer();
  ftrace_text::TextPass pass(file.bytes(), importer);
  bool was_stopped = false;
  pass.Run([&](std::uint64_t events) {
    if (loading.pool().has_failed()) return false;
    was_stopped = options.progress && !options.progress({0, file.bytes().size(), events});
    return !was_stopped;
  });
  if (was_stopped) return Error{"loading was interrupted", ""};
  TraceIndex index;
  index.is_truncated = file.is_cut();
  PacketImporter packets(index, importer);
  packets.metadata().push_back({"trace_type", std::string("systrace")});
  packets.metadata().push_back({"trace_size_bytes", static_cast<std::int64_t>(file.file_bytes())});
  CULPRIT_TRY(loading.Finish(index, packets));
  LoadSummary summary = Summarise(file, index, importer);
  summary.format = "ftrace text";
  summary.events = pass.events();
  summary.sched_events = pass.sched_events();
  return summary;
}

Result<LoadSummary> LoadPerfetto(const tracefile::TraceFile& file, tables::Database& database,
                                 const LoadOptions& options) {
  Loading loading(database, options);
  Importer& importer = loading.importer();
  const TraceIndex index = IndexTrace(file, importer.stats());
  importer.threads().UseIdleThread();
  const auto states = tracefile::TaskStates::FromFormat(index.sched_switch_format);
  importer.SetTaskStates(states.value_or(tracefile::TaskStates::FromRelease(index.kernel_release)));
  importer.SetAllCpusFrom(index.all_cpus_from);
  PacketImporter packets(index, importer);
  packets.Untimed();
  packets.metadata().push_back({"trace_type", std::string("proto")});
  packets.metadata().push_back({"trace_size_bytes", static_cast<std::int64_t>(file.file_bytes())});
  if (index.all_cpus_from != INT64_MIN) {
    packets.metadata().push_back({"ftrace_latest_data_start_ns", index.all_cpus_from});
  }
  if (index.tracing_started != INT64_MIN) {
    packets.metadata().push_back({"tracing_started_ns", index.tracing_started});
  }

  PerfettoPass pass(index, importer, packets);
  CULPRIT_TRY(pass.Run(options, file.bytes().size(), loading.pool()));
  CULPRIT_TRY(loading.Finish(index, packets));
  LoadSummary summary = Summarise(file, index, importer);
  summary.format = "perfetto";
  summary.events = pass.events();
  summary.sched_events = pass.sched_events();
  return summary;
}

}  // namespace

Result<LoadSummary> LoadTrace(const std::string& path, tables::Database& database,
                              const LoadOptions& options) {
  CULPRIT_ASSIGN(const auto file, tracefile::TraceFile::Open(path));
  if (file.format() == tracefile::TraceFormat::kFtraceText) {
    return LoadText(file, database, options);
  }
  return LoadPerfetto(file, database, options);
}

}  // namespace culprit::load
