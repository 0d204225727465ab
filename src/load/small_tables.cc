// The tables that are written once, when the whole trace is read.
#include <algorithm>
#include <map>
#include <set>

#include "load/table_writers.h"
#include "load/track_args.h"
#include "tracefile/fields.h"

namespace culprit::load {
namespace {

std::optional<std::int64_t> Number(std::uint32_t value) {
  if (value == kNone) return std::nullopt;
  return value;
}

std::optional<std::int64_t> Flag(std::optional<bool> value) {
  if (!value.has_value()) return std::nullopt;
  return *value ? 1 : 0;
}

std::optional<std::string_view> ClockName(std::uint32_t clock_id) {
  namespace Clock = tracefile::BuiltinClock;
  switch (clock_id) {
    case Clock::kRealtime:
      return "REALTIME";
    case Clock::kRealtimeCoarse:
      return "REALTIME_COARSE";
    case Clock::kMonotonic:
      return "MONOTONIC";
    case Clock::kMonotonicCoarse:
      return "MONOTONIC_COARSE";
    case Clock::kMonotonicRaw:
      return "MONOTONIC_RAW";
    case Clock::kBoottime:
      return "BOOTTIME";
    default:
      return std::nullopt;
  }
}

constexpr std::int64_t kMachine = 0;  // one machine a trace

Status WriteThreads(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "thread",
                                           {"id", "utid", "tid", "name", "start_ts", "end_ts",
                                            "upid", "is_main_thread", "is_idle", "machine_id"}));
  std::int64_t utid = 0;
  for (const Thread& thread : importer.threads().threads()) {
    out.Int(utid).Int(utid).Int(thread.tid).Text(importer.strings(), thread.name);
    out.Int(thread.start_ts).Int(thread.end_ts).Int(Number(thread.upid));
    out.Int(Flag(thread.is_main_thread)).Int(thread.is_idle ? 1 : 0).Int(kMachine);
    CULPRIT_TRY(out.EndRow());
    ++utid;
  }
  return out.Close();
}

Status WriteProcesses(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "process",
                                           {"id", "upid", "pid", "name", "start_ts", "end_ts",
                                            "parent_upid", "uid", "cmdline", "machine_id"}));
  const std::vector<Process>& processes = importer.threads().processes();
  for (std::size_t upid = 0; upid < processes.size(); ++upid) {
    const Process& process = processes[upid];
    if (process.is_void) continue;
    const auto number = static_cast<std::int64_t>(upid);
    out.Int(number).Int(number).Int(process.pid).Text(importer.strings(), process.name);
    out.Int(process.start_ts).Int(process.end_ts).Int(Number(process.parent_upid));
    out.Int(process.uid).Text(importer.strings(), process.cmdline).Int(kMachine);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteTracks(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out,
                 RowWriter::Open(database, "__intrinsic_track",
                                 {"id", "name", "type", "event_type", "machine_id", "utid", "upid",
                                  "cpu", "counter_unit", "parent_id", "dimension_arg_set_id"}));
  std::int64_t id = 0;
  for (const Track& track : importer.tracks().tracks()) {
    const auto owner_of = [&](TrackScope scope) {
      return track.scope == scope ? Number(track.owner) : std::nullopt;
    };
    out.Int(id++).Text(importer.strings(), track.name).Text(importer.strings(), track.type);
    out.Text(track.is_counter ? "counter" : "slice").Int(kMachine);
    out.Int(owner_of(TrackScope::kThread)).Int(owner_of(TrackScope::kProcess));
    out.Int(owner_of(TrackScope::kCpu)).Text(importer.strings(), track.unit);
    out.Int(Number(track.parent));
    out.Int(HasTrackArgs(track, importer.strings())
                ? std::optional(importer.first_track_arg_set() + id - 1)
                : std::nullopt);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteStacks(const tables::Database& database, Importer& importer) {
  const StackTable& stacks = importer.stacks();
  const StringPool& strings = importer.strings();
  {
    CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "stack_profile_mapping",
                                             {"id", "build_id", "exact_offset", "start_offset",
                                              "start", "end", "load_bias", "name"}));
    std::int64_t id = 0;
    const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    for (const StackMapping& mapping : stacks.mappings()) {
      out.Int(id++).Text(mapping.build_id == kNoString ? "" : strings.Text(mapping.build_id));
      out.Int(number(mapping.exact_offset)).Int(number(mapping.start_offset));
      out.Int(number(mapping.start)).Int(number(mapping.end)).Int(number(mapping.load_bias));
      out.Text(strings, mapping.name);
      CULPRIT_TRY(out.EndRow());
    }
    CULPRIT_TRY(out.Close());
  }
  {
    CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "stack_profile_frame",
                                             {"id", "name", "mapping", "rel_pc", "symbol_set_id"}));
    std::int64_t id = 0;
    for (const StackFrame& frame : stacks.frames()) {
      out.Int(id++).Text(strings, frame.name).Int(frame.mapping);
      out.Int(static_cast<std::int64_t>(frame.rel_pc)).Int(Number(frame.symbol_set));
      CULPRIT_TRY(out.EndRow());
    }
    CULPRIT_TRY(out.Close());
  }
  {
    CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "stack_profile_symbol",
                                             {"id", "symbol_set_id", "name", "source_file",
                                              "line_number", "inlined"}));
    std::int64_t id = 0;
    for (const StackSymbol& symbol : stacks.symbols()) {
      out.Int(id++).Int(symbol.symbol_set).Text(strings, symbol.name);
      out.Text(strings, symbol.source_file);
      out.Int(symbol.line == 0 ? std::nullopt : std::optional<std::int64_t>(symbol.line));
      out.Int(Flag(symbol.knows_inlining ? std::optional(symbol.is_inlined) : std::nullopt));
      CULPRIT_TRY(out.EndRow());
    }
    CULPRIT_TRY(out.Close());
  }
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "stack_profile_callsite",
                                           {"id", "depth", "parent_id", "frame_id"}));
  std::int64_t id = 0;
  for (const StackCallsite& callsite : stacks.callsites()) {
    out.Int(id++).Int(callsite.depth).Int(Number(callsite.parent)).Int(callsite.frame);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteSessions(const tables::Database& database, Importer& importer,
                     const PacketImporter& packets) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "perf_session",
                                           {"id", "perf_session_id", "event", "unit",
                                            "frequency_hz", "period"}));
  std::int64_t id = 0;
  const auto given = [](std::uint64_t value) {
    return value == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(value));
  };
  for (const PerfSession& session : packets.perf_samples().sessions()) {
    out.Int(id).Int(id).Text(importer.strings(), session.event);
    out.Text(importer.strings(), session.unit);
    out.Int(given(session.frequency_hz)).Int(given(session.period));
    CULPRIT_TRY(out.EndRow());
    ++id;
  }
  return out.Close();
}

Status WriteCpus(const tables::Database& database, Importer& importer, const TraceIndex& index,
                 const PacketImporter& packets) {
  // Those that the recorder listed, and those that have events.
  std::map<std::uint32_t, CpuRow> cpus;
  for (const CpuRow& cpu : packets.cpus()) cpus[cpu.cpu] = cpu;
  for (const CpuIndex& cpu : index.cpus) cpus[cpu.cpu].cpu = cpu.cpu;
  for (std::uint32_t cpu = 0; cpu < importer.sched().cpu_count(); ++cpu) {
    if (importer.sched().LastSeen(cpu).has_value()) cpus[cpu].cpu = cpu;
  }
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "cpu",
                                           {"id", "ucpu", "cpu", "processor", "machine_id",
                                            "capacity", "idle_name"}));
  for (const auto& [number, cpu] : cpus) {
    out.Int(number).Int(number).Int(number);
    out.Text(cpu.processor.empty() ? std::optional<std::string_view>() : cpu.processor);
    out.Int(kMachine);
    out.Int(cpu.capacity < 0 ? std::nullopt : std::optional<std::int64_t>(cpu.capacity));
    out.Text(importer.strings(), importer.sched().IdleName(number));
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteMetadata(const tables::Database& database, const TraceIndex& index,
                     const PacketImporter& packets) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "metadata",
                                           {"id", "name", "key_type", "int_value", "str_value",
                                            "machine_id", "trace_id"}));
  std::map<std::string, int> seen;
  for (const MetadataRow& row : packets.metadata()) ++seen[row.name];
  std::int64_t id = 0;
  for (const MetadataRow& row : packets.metadata()) {
    out.Int(id++).Text(row.name).Text(seen[row.name] > 1 ? "multi" : "single");
    if (const auto* number = std::get_if<std::int64_t>(&row.value)) {
      out.Int(*number).Text(std::nullopt);
    } else {
      out.Int(std::nullopt).Text(std::get<std::string>(row.value));
    }
    out.Int(row.is_of_machine ? std::optional(kMachine) : std::nullopt);
    out.Int(row.is_of_machine ? std::nullopt : std::optional<std::int64_t>(0));
    CULPRIT_TRY(out.EndRow());
  }
  for (const ProcessNote& note : index.process_notes) {
    out.Int(id++).Text(note.kind).Text("multi").Int(note.pid).Text(note.text);
    out.Int(kMachine).Int(std::nullopt);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteMachine(const tables::Database& database, const PacketImporter& packets) {
  const auto find = [&](std::string_view name) -> const MetadataRow* {
    for (const MetadataRow& row : packets.metadata()) {
      if (row.name == name) return &row;
    }
    return nullptr;
  };
  const auto text = [&](std::string_view name) -> std::optional<std::string_view> {
    const MetadataRow* row = find(name);
    if (row == nullptr || !std::holds_alternative<std::string>(row->value)) return std::nullopt;
    return std::get<std::string>(row->value);
  };
  const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
    const MetadataRow* row = find(name);
    if (row == nullptr || !std::holds_alternative<std::int64_t>(row->value)) return std::nullopt;
    return std::get<std::int64_t>(row->value);
  };
  CULPRIT_ASSIGN(auto out,
                 RowWriter::Open(database, "machine",
                                 {"id", "raw_id", "name", "sysname", "release", "version", "arch",
                                  "num_cpus", "system_ram_bytes", "system_ram_gb"}));
  const auto ram = number("system_ram_bytes");
  constexpr std::int64_t kGb = 1'000'000'000;
  out.Int(kMachine).Int(0).Text(text("machine_name")).Text(text("system_name"));
  out.Text(text("system_release")).Text(text("system_version")).Text(text("system_machine"));
  out.Int(number("num_cpus")).Int(ram);
  out.Int(ram.has_value() ? std::optional<std::int64_t>((*ram + kGb / 2) / kGb) : std::nullopt);
  CULPRIT_TRY(out.EndRow());
  return out.Close();
}

Status WriteClocks(const tables::Database& database, const TraceIndex& index) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "clock_snapshot",
                                           {"id", "ts", "clock_id", "clock_name", "clock_value",
                                            "snapshot_id", "machine_id"}));
  std::int64_t id = 0;
  for (const ClockSnapshotRow& row : index.clock_snapshots) {
    out.Int(id++).Int(row.ts).Int(row.clock_id).Text(ClockName(row.clock_id));
    out.Int(row.value).Int(row.snapshot).Int(kMachine);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteStats(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "stats",
                                           {"id", "name", "key", "idx", "severity", "source",
                                            "value", "description", "machine_id", "trace_id"}));
  std::int64_t id = 0;
  std::int64_t key = -1;
  std::string last_name;
  for (const auto& [place, value] : importer.stats().values()) {
    const auto& [name, idx] = place;
    if (name != last_name) ++key;
    last_name = name;
    const StatKind& kind = FindStatKind(name);
    constexpr std::string_view kSeverities[] = {"info", "data_loss", "error"};
    out.Int(id++).Text(name).Int(key);
    out.Int(idx == TraceStats::kNoIndex ? std::nullopt : std::optional<std::int64_t>(idx));
    out.Text(kSeverities[static_cast<std::size_t>(kind.severity)]);
    out.Text(kind.is_from_trace ? "trace" : "analysis").Int(value).Text(kind.description);
    out.Int(kMachine).Int(0);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteFlows(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out,
                 RowWriter::Open(database, "flow", {"id", "slice_out", "slice_in", "trace_id"}));
  std::int64_t id = 0;
  for (const FlowRow& flow : importer.flows().rows()) {
    out.Int(id++).Int(flow.slice_out).Int(flow.slice_in);
    out.Int(static_cast<std::int64_t>(flow.trace_id));
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteFormats(const tables::Database& database, const TraceIndex& index) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "event_format", {"name", "format"}));
  for (const EventFormatText& event : index.event_formats) {
    out.Text(event.name).Text(event.format);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteGaps(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out,
                 RowWriter::Open(database, "lost_gap", {"cpu", "begin_ts", "end_ts", "events"}));
  for (const LostGap& gap : importer.lost_gaps()) {
    out.Int(gap.cpu).Int(gap.begin).Int(gap.end).Int(gap.events);
    CULPRIT_TRY(out.EndRow());
  }
  return out.Close();
}

Status WriteBounds(const tables::Database& database, Importer& importer) {
  CULPRIT_ASSIGN(auto out, RowWriter::Open(database, "trace_bounds", {"start_ts", "end_ts"}));
  const bool is_empty = importer.first_ts() > importer.last_ts();
  // A trace of one moment is a nanosecond long, so that nobody divides by zero.
  const std::int64_t start = is_empty ? 0 : importer.first_ts();
  const std::int64_t end = is_empty ? 0 : importer.last_ts();
  out.Int(start).Int(!is_empty && end == start ? end + 1 : end);
  CULPRIT_TRY(out.EndRow());
  return out.Close();
}

}  // namespace

Status WriteSmallTables(const tables::Database& database, Importer& importer,
                        const TraceIndex& index, const PacketImporter& packets) {
  CULPRIT_TRY(WriteThreads(database, importer));
  CULPRIT_TRY(WriteProcesses(database, importer));
  CULPRIT_TRY(WriteTracks(database, importer));
  CULPRIT_TRY(WriteStacks(database, importer));
  CULPRIT_TRY(WriteSessions(database, importer, packets));
  CULPRIT_TRY(WriteCpus(database, importer, index, packets));
  CULPRIT_TRY(WriteMetadata(database, index, packets));
  CULPRIT_TRY(WriteMachine(database, packets));
  CULPRIT_TRY(WriteClocks(database, index));
  CULPRIT_TRY(WriteStats(database, importer));
  CULPRIT_TRY(WriteFlows(database, importer));
  CULPRIT_TRY(WriteFormats(database, index));
  CULPRIT_TRY(WriteGaps(database, importer));
  return WriteBounds(database, importer);
}

}  // namespace culprit::load
