// TraceIndex: the first, quick pass over a trace in Perfetto's format: where the bundles of each
// CPU and the other timestamped packets lie, what was interned, which clocks there are. Keeps
// places and not events; memory is a few bytes for each packet.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "load/clock_map.h"
#include "load/interned.h"
#include "load/stats.h"
#include "load/track_description.h"
#include "tracefile/trace_file.h"

namespace culprit::load {

struct BundleRef {
  std::string_view body;   // an FtraceEventBundle
  std::int64_t first_ts;   // trace time of its first event
  std::uint32_t interned;  // index into TraceIndex::interned
  std::uint32_t clock_id;
  std::uint32_t sequence;  // of clock_id, when that is local to one
  bool has_lost_events;    // events are missing before it
};

struct CpuIndex {
  std::uint32_t cpu = 0;
  std::vector<BundleRef> bundles;  // in order of first_ts
};

// A packet that takes part in the order of time.
struct PacketRef {
  std::int64_t ts;
  std::uint32_t field;  // of TracePacket
  std::uint32_t interned;
  std::string_view body;
  std::uint64_t track_uuid = 0;   // of a TrackEvent that names no track
  std::uint32_t perf_stream = 0;  // of a PerfSample: index into TraceIndex::perf_streams
};

// The samples of one sequence, which are one session of perf, while its defaults do not change.
struct PerfStream {
  std::uint32_t sequence = 0;
  std::string_view defaults;  // a PerfSampleDefaults; empty: none
};

// A stretch without events of a CPU, as the recorder knew it.
struct LostGap {
  std::uint32_t cpu = 0;
  std::optional<std::int64_t> begin;
  std::int64_t end = 0;
  std::optional<std::int64_t> events;
};

// What the recorder noted of a process.
struct ProcessNote {
  std::string_view kind;
  std::int64_t pid = 0;
  std::string_view text;
};

// What a recording without root says of its threads, to be read in detail (told_states.h).
struct ToldData {
  std::vector<std::string_view> threads;  // CulpritData.ToldThread
  std::vector<std::string_view> states;   // CulpritData.ToldState
  std::optional<std::string_view> coverage;
};

struct ClockSnapshotRow {
  std::int64_t ts = 0;
  std::uint32_t clock_id = 0;
  std::int64_t value = 0;
  std::uint32_t snapshot = 0;
};

// The layout of an event as the traced kernel described it.
struct EventFormatText {
  std::string_view name;
  std::string_view format;
};

struct TraceIndex {
  std::vector<CpuIndex> cpus;      // in order of the CPU's number
  std::vector<PacketRef> packets;  // in order of ts
  std::vector<Interned> interned;  // [0] is empty
  ClockMap clocks;
  std::vector<ClockSnapshotRow> clock_snapshots;
  std::vector<LostGap> lost_gaps;
  std::vector<ProcessNote> process_notes;
  ToldData told;
  std::vector<PerfStream> perf_streams;
  std::vector<std::string_view> module_symbols;  // ModuleSymbols
  std::vector<std::string_view> untimed;         // whole packets: system info, config, stats, CPUs
  std::unordered_map<std::uint64_t, TrackDescription> tracks;  // by uuid
  std::vector<EventFormatText> event_formats;
  std::unordered_map<std::uint32_t, std::string_view> generic_events;  // field -> DescriptorProto
  std::string_view sched_switch_format;
  std::string_view kernel_release;
  // From here on every CPU has events; earlier ones are in ftrace_event alone.
  std::int64_t all_cpus_from = INT64_MIN;
  // Events before are left over from before the recording.
  std::int64_t tracing_started = INT64_MIN;
  // What the recording service told of itself, by Perfetto's names in metadata.
  std::vector<std::pair<std::string_view, std::int64_t>> milestones;
  std::uint64_t packet_count = 0;
  bool is_truncated = false;
};

// Never fails: what cannot be read is counted in `stats`.
TraceIndex IndexTrace(const tracefile::TraceFile& file, TraceStats& stats);

}  // namespace culprit::load
