#include "load/load.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "load/append_pool.h"
#include "load/args_writer.h"
#include "load/chrome_json/json_pass.h"
#include "load/ftrace_text/text_pass.h"
#include "load/importer.h"
#include "load/packet_importer.h"
#include "load/perfetto_pass.h"
#include "load/raw_writer.h"
#include "load/sinks.h"
#include "load/table_writers.h"
#include "load/told_states.h"
#include "load/trace_index.h"
#include "tables/database.h"
#include "tables/schema.h"
#include "tables/stored_scan.h"
#include "tracefile/task_state.h"
#include "tracefile/trace_file.h"

namespace culprit::load {
namespace {

constexpr unsigned kMostThreads = 8;

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

// How DuckDB works while tables are filled. It checkpoints at a commit once enough was written,
// also a database in memory, where that means compressing all tables anew: not now. And each append
// is a query of its scheduler, whose idle threads and waiting callers spin: with one thread the
// workers of the load do their own appending (measured: a quarter less CPU time, twice the rate).
class LoadSettings {
 public:
  static Result<LoadSettings> Start(const tables::Database& database) {
    CULPRIT_ASSIGN(auto connection, database.Connect());
    CULPRIT_ASSIGN(const std::int64_t threads,
                   connection.QueryInteger("SELECT current_setting('threads')"));
    CULPRIT_TRY(
        connection.Execute("SET GLOBAL checkpoint_threshold = '1TB'; SET GLOBAL threads = 1"));
    return LoadSettings(std::move(connection), threads);
  }
  Status End() {
    return connection_.Execute("RESET GLOBAL checkpoint_threshold; SET GLOBAL threads = " +
                               std::to_string(threads_));
  }

 private:
  LoadSettings(tables::Connection connection, std::int64_t threads)
      : connection_(std::move(connection)), threads_(threads) {}
  tables::Connection connection_;
  std::int64_t threads_;
};

// What every load has: the state machines, where their rows go, and the finish.
class Loading {
 public:
  Loading(const tracefile::TraceFile& file, tables::Database& database, const LoadOptions& options)
      : file_(file),
        database_(database),
        options_(options),
        is_core_((options.groups & kCore) != 0),
        pool_(database, ThreadsOf(options)),
        sinks_(pool_, &threads_, strings_),
        args_(pool_, "__intrinsic_args",
              [this](const auto& block, auto& out) { return WriteBlock(block, strings_, out); }),
        importer_(strings_, Refs()) {
    threads_ = &importer_.threads();
  }

  // Into memory, the tables are kept as arrays: DuckDB's own appending costs five times as much as
  // all the rest.
  Status Start() {
    if (!is_core_ || database_.is_file()) return {};
    CULPRIT_ASSIGN(auto connection, database_.Connect());
    return tables::MoveToStore(connection, tables::kBigTables);
  }

  Importer& importer() { return importer_; }
  bool wants_raw() const { return (options_.groups & kRaw) != 0; }

  // Makes the tables of raw events; names are those of the trace.
  Status StartRaw(const RawNames& names) {
    CULPRIT_ASSIGN(auto connection, database_.Connect());
    const std::vector<std::string> events = names.events();
    const std::vector<std::string> keys = names.keys();
    CULPRIT_TRY(tables::CreateRawTables(connection, events, keys));
    if (!database_.is_file()) {
      CULPRIT_TRY(tables::MoveToStore(connection, tables::kRawEventTables));
    }
    raw_.emplace(pool_, strings_, names);
    return {};
  }
  RawWriter* raw() { return raw_.has_value() ? &*raw_ : nullptr; }

  bool KeepGoing(std::uint64_t bytes_done, std::uint64_t events_done) {
    if (pool_.has_failed()) return false;
    was_stopped_ =
        options_.progress && !options_.progress({bytes_done, file_.bytes().size(), events_done});
    return !was_stopped_;
  }

  Status Finish(const TraceIndex& index, PacketImporter& packets) {
    if (was_stopped_) return Error{"loading was interrupted", ""};
    importer_.Finish();
    sinks_.Finish();
    args_.Finish();
    if (raw_.has_value()) raw_->Finish();
    CULPRIT_TRY(pool_.Finish());
    CULPRIT_ASSIGN(auto connection, database_.Connect());
    if (is_core_) {
      packets.metadata().push_back(
          {"trace_size_bytes", static_cast<std::int64_t>(file_.file_bytes())});
      for (const std::string_view symbols : index.module_symbols) {
        importer_.stacks().AddSymbols(symbols, importer_.stats());
      }
      CULPRIT_TRY(WriteSmallTables(database_, importer_, index, packets));
      const std::vector<std::int64_t> stale = sinks_.sched().StaleThreads();
      if (!stale.empty()) CULPRIT_TRY(tables::FillUpids(connection, stale));
      CULPRIT_TRY(tables::FillOffCpu(connection));
    }
    if (raw_.has_value()) CULPRIT_TRY(tables::SetRawTablesLoaded(connection));
    return {};
  }

  // Beside the merging thread, which takes longer than the decoding.
  static unsigned DecodersOf(const LoadOptions& options) {
    return std::min(ThreadsOf(options) - 1, 2U);
  }

 private:
  RowSinks Refs() {
    RowSinks refs = is_core_ ? sinks_.Refs() : no_sinks_.Refs();
    if (wants_raw()) refs.args = &args_;
    return refs;
  }
  static unsigned ThreadsOf(const LoadOptions& options) {
    if (options.threads != 0) return options.threads;
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  }

  const tracefile::TraceFile& file_;
  tables::Database& database_;
  const LoadOptions& options_;
  const bool is_core_;
  bool was_stopped_ = false;
  StringPool strings_;  // outlives the workers that read it
  AppendPool pool_;
  const ThreadTracker* threads_ = nullptr;
  TableSinks sinks_;
  NoSinks no_sinks_;
  TableSink<SliceArgRow> args_;
  Importer importer_;
  std::optional<RawWriter> raw_;
};

Result<LoadSummary> LoadText(const tracefile::TraceFile& file, tables::Database& database,
                             const LoadOptions& options) {
  Loading loading(file, database, options);
  CULPRIT_TRY(loading.Start());
  Importer& importer = loading.importer();
  ftrace_text::TextPass pass(file.bytes(), importer);
  if (loading.wants_raw()) {
    RawNames names;
    pass.AddNames(names);
    CULPRIT_TRY(loading.StartRaw(names));
  }
  pass.Run(loading.raw(), [&](std::uint64_t events) { return loading.KeepGoing(0, events); });
  TraceIndex index;
  index.is_truncated = file.is_cut();
  if (index.is_truncated) importer.stats().Set("trace_file_truncated", 1);
  PacketImporter packets(index, importer);
  packets.metadata().push_back({"trace_type", std::string("systrace")});
  CULPRIT_TRY(loading.Finish(index, packets));
  LoadSummary summary = Summarise(file, index, importer);
  summary.format = "ftrace text";
  summary.events = pass.events();
  summary.sched_events = pass.sched_events();
  return summary;
}

Result<LoadSummary> LoadJson(const tracefile::TraceFile& file, tables::Database& database,
                             const LoadOptions& options) {
  Loading loading(file, database, options);
  Importer& importer = loading.importer();
  if (loading.wants_raw()) CULPRIT_TRY(loading.StartRaw(RawNames()));
  chrome_json::JsonPass pass(file.bytes(), importer);
  pass.Run(
      [&](std::uint64_t bytes, std::uint64_t events) { return loading.KeepGoing(bytes, events); });
  if (!pass.has_events()) {
    return Error{"JSON without trace events",
                 "Chrome's format is an array of events, or an object with them under "
                 "\"traceEvents\""};
  }
  TraceIndex index;
  index.is_truncated = file.is_cut() || pass.is_cut();
  if (index.is_truncated) importer.stats().Set("trace_file_truncated", 1);
  PacketImporter packets(index, importer);
  packets.metadata().push_back({"trace_type", std::string("json")});
  CULPRIT_TRY(loading.Finish(index, packets));
  LoadSummary summary = Summarise(file, index, importer);
  summary.format = "Chrome JSON";
  summary.events = pass.events();
  return summary;
}

Result<LoadSummary> LoadPerfetto(const tracefile::TraceFile& file, tables::Database& database,
                                 const LoadOptions& options) {
  Loading loading(file, database, options);
  CULPRIT_TRY(loading.Start());
  Importer& importer = loading.importer();
  const TraceIndex index = IndexTrace(file, importer.stats());
  if (loading.wants_raw()) {
    RawNames names;
    names.AddBundles(index);
    CULPRIT_TRY(loading.StartRaw(names));
  }
  importer.threads().UseIdleThread();
  const auto states = tracefile::TaskStates::FromFormat(index.sched_switch_format);
  importer.SetTaskStates(states.value_or(tracefile::TaskStates::FromRelease(index.kernel_release)));
  importer.SetAllCpusFrom(index.all_cpus_from);
  for (const ProcessNote& note : index.process_notes) {
    if (note.kind == "culprit_block_device") importer.NameBlockDevice(note.text);
  }
  PacketImporter packets(index, importer);
  packets.Untimed();
  packets.metadata().push_back({"trace_type", std::string("proto")});
  if (index.all_cpus_from != INT64_MIN) {
    packets.metadata().push_back({"ftrace_latest_data_start_ns", index.all_cpus_from});
  }
  packets.metadata().push_back(
      {"trace_time_clock_id", static_cast<std::int64_t>(index.clocks.trace_clock())});
  for (const auto& [name, ts] : index.milestones) {
    packets.metadata().push_back({std::string(name), ts});
  }
  PerfettoPass pass(index, importer, packets, loading.raw(), Loading::DecodersOf(options));
  pass.Run(
      [&](std::uint64_t bytes, std::uint64_t events) { return loading.KeepGoing(bytes, events); });
  ImportToldStates(index, importer, packets.metadata());
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
  CULPRIT_ASSIGN(auto settings, LoadSettings::Start(database));
  const auto load = [&] {
    switch (file.format()) {
      case tracefile::TraceFormat::kFtraceText:
        return LoadText(file, database, options);
      case tracefile::TraceFormat::kChromeJson:
        return LoadJson(file, database, options);
      case tracefile::TraceFormat::kPerfetto:
        break;
    }
    return LoadPerfetto(file, database, options);
  };
  auto summary = load();
  // Half a load of raw events is none, and takes no memory.
  if (!summary.ok() && (options.groups & kRaw) != 0 && !database.is_file()) {
    CULPRIT_ASSIGN(auto connection, database.Connect());
    CULPRIT_TRY(tables::CreateRawTables(connection, {}, {}));
  }
  CULPRIT_TRY(settings.End());
  return summary;
}

}  // namespace culprit::load
