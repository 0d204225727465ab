#include "load/trace_index.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "tracefile/fields.h"
#include "tracefile/own_threads_fields.h"
#include "tracefile/packet_walker.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tracefile::PackedVarints;
using tracefile::ProtoReader;
namespace TracePacket = tracefile::TracePacket;
namespace Bundle = tracefile::FtraceEventBundle;
namespace BuiltinClock = tracefile::BuiltinClock;

constexpr std::uint32_t kFtraceLocalClock = 64;  // of the sequence that wrote the bundle
constexpr std::uint32_t kThreadDescriptor = 44;  // of TracePacket
constexpr std::uint32_t kMostCpus = 4096;
constexpr std::int64_t kNoTime = INT64_MIN;

bool IsSequenceClock(std::uint32_t clock_id) { return clock_id >= 64 && clock_id < 128; }

// What one sequence of packets has said so far.
struct Sequence {
  std::uint32_t interned = 0;
  bool needs_new_interned = true;
  std::uint32_t default_clock = 0;  // 0: times are on the trace clock
  std::uint64_t default_track = 0;  // of TrackEvents
  std::string_view perf_defaults;
  std::optional<std::uint32_t> perf_stream;
};

// The parts of a packet that come before its meaning.
struct PacketHead {
  std::optional<std::int64_t> timestamp;
  std::optional<std::uint32_t> clock_id;
  std::uint32_t sequence = 0;
  std::uint32_t machine = 0;
  bool is_cleared = false;
  std::string_view interned;
  std::string_view defaults;
  std::uint32_t data_field = 0;  // the payload
  std::string_view data;
};

class Indexer {
 public:
  Indexer(TraceIndex& index, TraceStats& stats) : index_(index), stats_(stats) {
    index_.interned.emplace_back();
  }

  void Packet(std::string_view packet);
  void Finish();

 private:
  struct RawTime {
    std::uint32_t clock_id;
    std::uint32_t sequence;
  };

  bool ReadHead(std::string_view packet, PacketHead& head);
  void Intern(Sequence& sequence, std::string_view data);
  void ClockSnapshot(std::string_view body, std::uint32_t sequence);
  void FtraceBundle(std::string_view body, const PacketHead& head, const Sequence& sequence);
  void TrackDescriptor(std::string_view body);
  void ThreadDescriptor(std::string_view body, std::uint32_t number, Sequence& sequence);
  void CulpritData(std::string_view body);
  void ServiceEvent(const PacketHead& head);
  void SystemInfo(std::string_view body);
  void Timed(const PacketHead& head, const Sequence& sequence);
  void ConvertBundles();
  void ConvertPackets();

  TraceIndex& index_;
  TraceStats& stats_;
  std::unordered_map<std::uint32_t, Sequence> sequences_;
  std::map<std::uint32_t, CpuIndex> cpus_;
  std::map<std::uint32_t, std::int64_t> valid_from_;  // by CPU, raw, of its first bundle
  std::map<std::uint32_t, RawTime> valid_from_clock_;
  std::vector<RawTime> packet_clocks_;  // beside index_.packets
  std::uint32_t snapshots_ = 0;
  std::int64_t last_ftrace_snapshot_ = kNoTime;
  std::map<std::uint32_t, std::uint64_t> unknown_packets_;
};

bool Indexer::ReadHead(std::string_view packet, PacketHead& head) {
  ProtoReader field(packet);
  while (field.Next()) {
    switch (field.id()) {
      case TracePacket::kTimestamp:
        head.timestamp = field.i64();
        break;
      case TracePacket::kTimestampClockId:
        head.clock_id = field.u32();
        break;
      case TracePacket::kTrustedPacketSequenceId:
        head.sequence = field.u32();
        break;
      case TracePacket::kSequenceFlags:
        head.is_cleared = head.is_cleared ||
                          (field.u32() & tracefile::SequenceFlags::kIncrementalStateCleared) != 0;
        break;
      case TracePacket::kIncrementalStateCleared:
        head.is_cleared = head.is_cleared || field.boolean();
        break;
      case TracePacket::kMachineId:
        head.machine = field.u32();
        break;
      case TracePacket::kInternedData:
        head.interned = field.bytes();
        break;
      case TracePacket::kTracePacketDefaults:
        head.defaults = field.bytes();
        break;
      case TracePacket::kPreviousPacketDropped:
      case TracePacket::kTrustedUid:
      case TracePacket::kTrustedPid:
      case TracePacket::kFirstPacketOnSequence:
        break;
      default:
        if (field.is_bytes()) {
          head.data_field = field.id();
          head.data = field.bytes();
        } else {
          stats_.Add("packet_fields_unknown");
        }
    }
  }
  return field.ok();
}

void Indexer::Packet(std::string_view packet) {
  ++index_.packet_count;
  PacketHead head;
  if (!ReadHead(packet, head)) stats_.Add("packet_parse_errors");
  if (head.machine != 0) {
    stats_.Add("packets_of_other_machines");
    return;
  }
  Sequence& sequence = sequences_[head.sequence];
  if (head.is_cleared) {
    sequence.needs_new_interned = true;
    sequence.interned = 0;
    sequence.default_clock = 0;
    sequence.default_track = 0;
    sequence.perf_defaults = {};
    sequence.perf_stream.reset();
  }
  if (!head.defaults.empty()) {
    ProtoReader field(head.defaults);
    while (field.Next()) {
      if (field.id() == tracefile::TracePacketDefaults::kTimestampClockId) {
        sequence.default_clock = field.u32();
      }
      if (field.id() == tracefile::TracePacketDefaults::kTrackEventDefaults) {
        ProtoReader part(field.bytes());
        while (part.Next()) {
          if (part.id() == 11) sequence.default_track = part.u64();  // track_uuid
        }
      }
      if (field.id() == tracefile::TracePacketDefaults::kPerfSampleDefaults) {
        sequence.perf_defaults = field.bytes();
        sequence.perf_stream.reset();
      }
    }
  }
  if (!head.interned.empty()) Intern(sequence, head.interned);

  switch (head.data_field) {
    case 0:
      break;
    case TracePacket::kFtraceEvents:
      FtraceBundle(head.data, head, sequence);
      break;
    case TracePacket::kClockSnapshot:
      ClockSnapshot(head.data, head.sequence);
      break;
    case TracePacket::kProcessTree:
    case TracePacket::kProcessStats:
    case TracePacket::kSysStats:
    case TracePacket::kTrackEvent:
      Timed(head, sequence);
      break;
    case kThreadDescriptor:
      ThreadDescriptor(head.data, head.sequence, sequence);
      break;
    case TracePacket::kTrackDescriptor:
      TrackDescriptor(head.data);
      break;
    case TracePacket::kSystemInfo:
      SystemInfo(head.data);
      index_.untimed.push_back(packet);
      break;
    case TracePacket::kTraceConfig:
    case TracePacket::kFtraceStats:
    case TracePacket::kTraceStats:
    case TracePacket::kCpuInfo:
    case TracePacket::kTraceUuid:
      index_.untimed.push_back(packet);
      break;
    case TracePacket::kServiceEvent:
      ServiceEvent(head);
      break;
    case TracePacket::kCulpritData:
      CulpritData(head.data);
      break;
    case TracePacket::kPerfSample:
      if (!sequence.perf_stream.has_value()) {
        sequence.perf_stream = static_cast<std::uint32_t>(index_.perf_streams.size());
        index_.perf_streams.push_back({head.sequence, sequence.perf_defaults});
      }
      Timed(head, sequence);
      break;
    case TracePacket::kModuleSymbols:
      index_.module_symbols.push_back(head.data);
      break;
    case TracePacket::kStreamingProfilePacket:
      stats_.Add("streaming_profiles_skipped");
      break;
    case TracePacket::kProfilePacket:
      stats_.Add("heap_profiles_skipped");
      break;
    case TracePacket::kSynchronizationMarker:
      break;
    default:
      ++unknown_packets_[head.data_field];
  }
}

void Indexer::Intern(Sequence& sequence, std::string_view data) {
  if (sequence.needs_new_interned) {
    sequence.needs_new_interned = false;
    sequence.interned = static_cast<std::uint32_t>(index_.interned.size());
    index_.interned.emplace_back();
  }
  AddInterned(data, index_.interned[sequence.interned]);
}

void Indexer::ClockSnapshot(std::string_view body, std::uint32_t sequence) {
  std::vector<ClockReading> readings;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == tracefile::ClockSnapshot::kPrimaryTraceClock && field.u32() != 0) {
      index_.clocks.SetTraceClock(field.u32());
    }
    if (field.id() != tracefile::ClockSnapshot::kClocks) continue;
    ClockReading reading;
    std::int64_t unit_ns = 1;
    ProtoReader part(field.bytes());
    while (part.Next()) {
      namespace Clock = tracefile::ClockSnapshot::Clock;
      if (part.id() == Clock::kClockId) reading.clock_id = part.u32();
      if (part.id() == Clock::kTimestamp) reading.ns = part.i64();
      if (part.id() == Clock::kUnitMultiplierNs && part.i64() > 0) unit_ns = part.i64();
    }
    if (IsSequenceClock(reading.clock_id)) reading.sequence = sequence;
    if (__builtin_mul_overflow(reading.ns, unit_ns, &reading.ns)) continue;
    readings.push_back(reading);
  }
  for (const ClockReading& reading : readings) {
    index_.clock_snapshots.push_back(
        {.ts = kNoTime, .clock_id = reading.clock_id, .value = reading.ns, .snapshot = snapshots_});
  }
  ++snapshots_;
  index_.clocks.AddSnapshot(readings);
}

// The first number of a packed column; nothing for an empty one.
std::optional<std::int64_t> FirstOf(std::string_view column) {
  std::uint64_t value;
  if (!PackedVarints(column).Next(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> TimestampOf(std::string_view event) {
  ProtoReader field(event);
  while (field.Next()) {
    if (field.id() == tracefile::FtraceEvent::kTimestamp) return field.i64();
  }
  return std::nullopt;
}

void Indexer::FtraceBundle(std::string_view body, const PacketHead& head,
                           const Sequence& sequence) {
  std::optional<std::uint32_t> cpu;
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> ftrace_ns;
  std::optional<std::int64_t> boot_ns;
  std::optional<std::int64_t> valid_from;
  std::uint32_t ftrace_clock = 0;
  bool has_lost = false;
  bool saw_event = false;
  const auto earlier = [&first](std::optional<std::int64_t> ts) {
    if (ts.has_value() && (!first.has_value() || *ts < *first)) first = ts;
  };
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case Bundle::kEvent:
        if (!saw_event) earlier(TimestampOf(field.bytes()));
        saw_event = true;
        break;
      case Bundle::kCompactSched: {
        ProtoReader column(field.bytes());
        while (column.Next()) {
          if (column.id() == Bundle::CompactSched::kSwitchTimestamp ||
              column.id() == Bundle::CompactSched::kWakingTimestamp) {
            earlier(FirstOf(column.bytes()));
          }
        }
        break;
      }
      case Bundle::kCpu:
        cpu = field.u32();
        break;
      case Bundle::kLostEvents:
        has_lost = field.boolean();
        break;
      case Bundle::kFtraceClock:
        ftrace_clock = field.u32();
        break;
      case Bundle::kFtraceTimestamp:
        ftrace_ns = field.i64();
        break;
      case Bundle::kBootTimestamp:
        boot_ns = field.i64();
        break;
      case Bundle::kLastReadEventTimestamp:
        if (!valid_from.has_value()) valid_from = field.i64();
        break;
      case Bundle::kPreviousBundleEndTimestamp:
        valid_from = field.i64();
        break;
      case Bundle::kGenericEventDescriptors: {
        std::uint32_t id = 0;
        std::string_view descriptor;
        ProtoReader part(field.bytes());
        while (part.Next()) {
          if (part.id() == Bundle::GenericEventDescriptor::kFieldId) id = part.u32();
          if (part.id() == Bundle::GenericEventDescriptor::kEventDescriptor) {
            descriptor = part.bytes();
          }
        }
        index_.generic_events.emplace(id, descriptor);
        break;
      }
      case Bundle::kError:
        stats_.Add("ftrace_parse_errors");
        break;
      default:
        break;
    }
  }
  if (!field.ok()) stats_.Add("ftrace_bundle_tokenizer_errors");
  if (!cpu.has_value() || *cpu >= kMostCpus) {
    stats_.Add("ftrace_bundle_tokenizer_errors");
    return;
  }
  RawTime clock{BuiltinClock::kBoottime, 0};
  if (ftrace_clock == tracefile::FtraceClock::kMonoRaw) {
    clock.clock_id = BuiltinClock::kMonotonicRaw;
  } else if (ftrace_clock == tracefile::FtraceClock::kGlobal ||
             ftrace_clock == tracefile::FtraceClock::kLocal) {
    clock = {kFtraceLocalClock, head.sequence};
  }
  if (ftrace_clock != 0 && ftrace_ns.has_value() && boot_ns.has_value() &&
      *ftrace_ns != last_ftrace_snapshot_) {
    last_ftrace_snapshot_ = *ftrace_ns;
    index_.clocks.AddSnapshot(
        {{clock.clock_id, clock.sequence, *ftrace_ns}, {BuiltinClock::kBoottime, 0, *boot_ns}});
  }
  if (has_lost) stats_.Set("ftrace_cpu_has_data_loss", 1, *cpu);
  if (valid_from_clock_.try_emplace(*cpu, clock).second && valid_from.has_value()) {
    valid_from_[*cpu] = *valid_from;
  }
  CpuIndex& of_cpu = cpus_[*cpu];
  of_cpu.cpu = *cpu;
  if (!first.has_value()) return;
  of_cpu.bundles.push_back({.body = body,
                            .first_ts = *first,
                            .interned = sequence.interned,
                            .clock_id = clock.clock_id,
                            .sequence = clock.sequence,
                            .has_lost_events = has_lost});
}

void Indexer::TrackDescriptor(std::string_view body) {
  std::uint64_t uuid = 0;
  TrackDescription track = ReadTrackDescriptor(body, uuid);
  // Later descriptions may leave out what was said before.
  TrackDescription& known = index_.tracks[uuid];
  if (!known.name.empty()) track.name = known.name;
  if (known.is_counter && !track.is_counter) return;
  known = track;
}

// Of old recorders: the thread of all events of a sequence that name no track.
void Indexer::ThreadDescriptor(std::string_view body, std::uint32_t number, Sequence& sequence) {
  constexpr std::uint64_t kOwnUuids = std::uint64_t{1} << 63;
  sequence.default_track = kOwnUuids | number;
  ReadThreadDescriptor(body, index_.tracks[sequence.default_track]);
}

void Indexer::CulpritData(std::string_view body) {
  namespace Data = tracefile::CulpritData;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == Data::kEventFormats) {
      std::string_view name;
      std::string_view format;
      ProtoReader part(field.bytes());
      while (part.Next()) {
        if (part.id() == Data::EventFormat::kName) name = part.bytes();
        if (part.id() == Data::EventFormat::kFormat) format = part.bytes();
      }
      if (name == "sched_switch") index_.sched_switch_format = format;
      index_.event_formats.push_back({name, format});
    } else if (field.id() == Data::kLostGaps) {
      LostGap gap;
      ProtoReader part(field.bytes());
      while (part.Next()) {
        if (part.id() == Data::LostGap::kCpu) gap.cpu = part.u32();
        if (part.id() == Data::LostGap::kBeginNs) gap.begin = part.i64();
        if (part.id() == Data::LostGap::kEndNs) gap.end = part.i64();
        if (part.id() == Data::LostGap::kEvents) gap.events = part.i64();
      }
      index_.lost_gaps.push_back(gap);
    } else if (field.id() == Data::kToldStates) {
      index_.told.states.push_back(field.bytes());
    } else if (field.id() == Data::kToldThreads) {
      index_.told.threads.push_back(field.bytes());
    } else if (field.id() == Data::kOwnThreads) {
      index_.told.coverage = field.bytes();
    } else if (field.id() == Data::kProcessNotes) {
      ProcessNote note;
      ProtoReader part(field.bytes());
      while (part.Next()) {
        if (part.id() == Data::ProcessNote::kKind) note.kind = part.bytes();
        if (part.id() == Data::ProcessNote::kPid) note.pid = part.i64();
        if (part.id() == Data::ProcessNote::kText) note.text = part.bytes();
      }
      if (!note.kind.empty()) index_.process_notes.push_back(note);
    }
  }
}

void Indexer::SystemInfo(std::string_view body) {
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() != tracefile::SystemInfo::kUtsname) continue;
    ProtoReader part(field.bytes());
    while (part.Next()) {
      if (part.id() == tracefile::Utsname::kRelease) index_.kernel_release = part.bytes();
    }
  }
}

void Indexer::ServiceEvent(const PacketHead& head) {
  constexpr std::pair<std::uint32_t, std::string_view> kMilestones[] = {
      {1, "all_data_source_started_ns"},
      {tracefile::TracingServiceEvent::kTracingStarted, "tracing_started_ns"},
      {3, "all_data_source_flushed_ns"},
      {5, "tracing_disabled_ns"}};
  if (!head.timestamp.has_value()) return;
  ProtoReader field(head.data);
  while (field.Next()) {
    if (!field.boolean()) continue;
    if (field.id() == tracefile::TracingServiceEvent::kTracingStarted) {
      index_.tracing_started = *head.timestamp;
    }
    for (const auto& [id, name] : kMilestones) {
      if (field.id() == id) index_.milestones.emplace_back(name, *head.timestamp);
    }
  }
}

void Indexer::Timed(const PacketHead& head, const Sequence& sequence) {
  if (head.data_field == TracePacket::kTrackEvent && !head.timestamp.has_value()) {
    // Old recorders wrote microseconds since the event before into the event.
    stats_.Add("track_events_skipped");
    return;
  }
  const std::uint32_t clock = head.clock_id.value_or(sequence.default_clock);
  index_.packets.push_back({.ts = head.timestamp.value_or(kNoTime),
                            .field = head.data_field,
                            .interned = sequence.interned,
                            .body = head.data,
                            .track_uuid = sequence.default_track,
                            .perf_stream = sequence.perf_stream.value_or(0)});
  packet_clocks_.push_back({clock, IsSequenceClock(clock) ? head.sequence : 0});
}

void Indexer::ConvertBundles() {
  for (auto& [cpu, of_cpu] : cpus_) {
    std::erase_if(of_cpu.bundles, [this](BundleRef& bundle) {
      const auto ts = index_.clocks.ToTraceTime(bundle.clock_id, bundle.sequence, bundle.first_ts);
      if (!ts.has_value()) {
        stats_.Add("clock_sync_failure");
        return true;
      }
      bundle.first_ts = *ts;
      return false;
    });
    std::stable_sort(
        of_cpu.bundles.begin(), of_cpu.bundles.end(),
        [](const BundleRef& a, const BundleRef& b) { return a.first_ts < b.first_ts; });
    index_.cpus.push_back(std::move(of_cpu));
  }
  for (const auto& [cpu, raw] : valid_from_) {
    const RawTime clock = valid_from_clock_[cpu];
    const auto ts = index_.clocks.ToTraceTime(clock.clock_id, clock.sequence, raw);
    if (ts.has_value()) index_.all_cpus_from = std::max(index_.all_cpus_from, *ts);
  }
}

void Indexer::ConvertPackets() {
  std::int64_t latest = kNoTime;
  std::vector<PacketRef> converted;
  converted.reserve(index_.packets.size());
  for (std::size_t i = 0; i < index_.packets.size(); ++i) {
    PacketRef packet = index_.packets[i];
    const RawTime clock = packet_clocks_[i];
    if (packet.ts == kNoTime) {
      packet.ts = latest == kNoTime ? 0 : latest;  // as late as what came before it
    } else if (clock.clock_id != 0) {
      const auto ts = index_.clocks.ToTraceTime(clock.clock_id, clock.sequence, packet.ts);
      if (!ts.has_value()) {
        stats_.Add("clock_sync_failure");
        continue;
      }
      packet.ts = *ts;
    }
    latest = std::max(latest, packet.ts);
    converted.push_back(packet);
  }
  std::stable_sort(converted.begin(), converted.end(),
                   [](const PacketRef& a, const PacketRef& b) { return a.ts < b.ts; });
  index_.packets = std::move(converted);
}

void Indexer::Finish() {
  index_.clocks.Prepare();
  ConvertBundles();
  ConvertPackets();
  // A snapshot is at one moment: that of any of its clocks.
  std::map<std::uint32_t, std::int64_t> moments;
  for (const ClockSnapshotRow& row : index_.clock_snapshots) {
    const auto ts = index_.clocks.ToTraceTime(row.clock_id, 0, row.value);
    if (row.clock_id == index_.clocks.trace_clock()) {
      moments[row.snapshot] = row.value;
    } else if (ts.has_value()) {
      moments.try_emplace(row.snapshot, *ts);
    }
  }
  for (ClockSnapshotRow& row : index_.clock_snapshots) {
    const auto moment = moments.find(row.snapshot);
    row.ts = moment == moments.end() ? row.value : moment->second;
  }
  for (const auto& [field, count] : unknown_packets_) {
    stats_.Add("packets_unknown", static_cast<std::int64_t>(count), field);
  }
}

}  // namespace

TraceIndex IndexTrace(const tracefile::TraceFile& file, TraceStats& stats) {
  TraceIndex index;
  Indexer indexer(index, stats);
  tracefile::PacketWalker walker(file.bytes());
  while (walker.Next()) indexer.Packet(walker.packet());
  indexer.Finish();
  index.is_truncated = walker.is_cut() || file.is_cut();
  if (index.is_truncated) stats.Set("trace_file_truncated", 1);
  if (walker.skipped_bytes() > 0) {
    stats.Set("trace_bytes_skipped", static_cast<std::int64_t>(walker.skipped_bytes()));
  }
  if (walker.unknown_fields() > 0) {
    stats.Add("packet_fields_unknown", static_cast<std::int64_t>(walker.unknown_fields()));
  }
  return index;
}

}  // namespace culprit::load
