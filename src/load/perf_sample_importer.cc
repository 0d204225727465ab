#include "load/perf_sample_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tracefile::PackedVarints;
using tracefile::ProtoReader;

// PerfEvents.Counter: what perf calls each, and what it counts.
struct KnownCounter {
  std::uint32_t number;
  std::string_view name;
  std::string_view unit;
};
constexpr KnownCounter kCounters[] = {
    {1, "cpu-clock", "ns"},
    {2, "page-faults", "count"},
    {3, "task-clock", "ns"},
    {4, "context-switches", "count"},
    {5, "cpu-migrations", "count"},
    {6, "minor-faults", "count"},
    {7, "major-faults", "count"},
    {8, "alignment-faults", "count"},
    {9, "emulation-faults", "count"},
    {10, "cpu-cycles", "cycles"},
    {11, "instructions", "instructions"},
    {12, "cache-references", "count"},
    {13, "cache-misses", "count"},
    {14, "branch-instructions", "count"},
    {15, "branch-misses", "count"},
    {16, "bus-cycles", "cycles"},
    {17, "stalled-cycles-frontend", "count"},
    {18, "stalled-cycles-backend", "count"},
    {19, "ref-cycles", "cycles"},
    {20, "dummy", "count"},
};

constexpr std::string_view kCpuModes[] = {"unknown",    "kernel",       "user",
                                          "hypervisor", "guest_kernel", "guest_user"};
// Profiling.StackUnwindError.
constexpr std::string_view kUnwindErrors[] = {
    "unknown",     "none",        "memory_invalid",      "unwind_info",
    "unsupported", "invalid_map", "max_frames_exceeded", "repeated_frame",
    "invalid_elf", "system_call", "thread_timeout",      "thread_does_not_exist",
    "bad_arch",    "maps_parse",  "invalid_parameter",   "ptrace_call"};

template <std::size_t kCount>
std::string_view NameOf(const std::string_view (&names)[kCount], std::uint64_t value) {
  return value < kCount ? names[value] : names[0];
}

// Where a description of an event has its parts: a timebase and a follower number them differently.
struct EventFieldNumbers {
  std::uint32_t counter, tracepoint, raw, name, modifiers;
};
constexpr EventFieldNumbers kTimebase = {
    tracefile::PerfTimebase::kCounter, tracefile::PerfTimebase::kTracepoint,
    tracefile::PerfTimebase::kRawEvent, tracefile::PerfTimebase::kName,
    tracefile::PerfTimebase::kModifiers};
constexpr EventFieldNumbers kFollower = {
    tracefile::PerfFollower::kCounter, tracefile::PerfFollower::kTracepoint,
    tracefile::PerfFollower::kRawEvent, tracefile::PerfFollower::kName,
    tracefile::PerfFollower::kModifiers};

struct EventName {
  std::string name;
  std::string_view unit;  // empty: not known
};

EventName NameOfEvent(std::string_view body, const EventFieldNumbers& numbers) {
  EventName out;
  std::string given;
  std::string modifiers;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == numbers.name) given = field.bytes();
    if (field.id() == numbers.counter) {
      const auto known = std::ranges::find(kCounters, field.u32(), &KnownCounter::number);
      const bool is_known = known != std::end(kCounters);
      out.name = is_known ? known->name : "unknown";
      out.unit = is_known ? known->unit : "count";
    }
    if (field.id() == numbers.tracepoint) {
      out.unit = "count";
      ProtoReader part(field.bytes());
      while (part.Next()) {
        if (part.id() == tracefile::PerfTracepoint::kName) out.name = part.bytes();
      }
    }
    if (field.id() == numbers.raw) {
      std::uint64_t values[5] = {};
      ProtoReader part(field.bytes());
      while (part.Next()) {
        if (part.id() < std::size(values)) values[part.id()] = part.u64();
      }
      out.name =
          fmt::format("raw.{:#x}.{:#x}.{:#x}.{:#x}", values[1], values[2], values[3], values[4]);
    }
    if (field.id() == numbers.modifiers && !field.is_bytes() && field.u32() <= 3) {
      modifiers += std::string_view("?ukh")[field.u32()];
    }
  }
  if (!given.empty()) out.name = given;
  if (out.name.empty()) out.name = "unknown";
  if (!modifiers.empty()) out.name += ":" + modifiers;
  return out;
}

}  // namespace

std::uint32_t PerfSampleImporter::SessionOf(const PerfStream& stream) {
  const auto [found, is_new] =
      session_of_.try_emplace(stream.sequence, static_cast<std::uint32_t>(sessions_.size()));
  if (!is_new) return found->second;
  PerfSession session;
  EventName event{"cpu-clock", "ns"};  // what recorders without defaults sampled
  if (!stream.defaults.empty()) event = {"unknown", ""};
  ProtoReader field(stream.defaults);
  while (field.Next()) {
    if (field.id() != tracefile::PerfSampleDefaults::kTimebase) continue;
    event = NameOfEvent(field.bytes(), kTimebase);
    ProtoReader part(field.bytes());
    while (part.Next()) {
      if (part.id() == tracefile::PerfTimebase::kFrequency) session.frequency_hz = part.u64();
      if (part.id() == tracefile::PerfTimebase::kPeriod) session.period = part.u64();
    }
  }
  session.event = importer_.strings().Intern(event.name);
  if (!event.unit.empty()) session.unit = importer_.strings().Intern(event.unit);
  sessions_.push_back(session);
  return found->second;
}

TrackId PerfSampleImporter::CounterTrack(std::uint32_t session, std::uint32_t cpu, StringId name) {
  TrackTable& tracks = importer_.tracks();
  const TrackId track =
      tracks.Add(TrackScope::kCpu, cpu, importer_.strings().Intern("perf_cpu_counter"), name);
  tracks.MakeCounter(track, kNoString);
  tracks.SetPerfSession(track, session);
  return track;
}

PerfSampleImporter::CpuState& PerfSampleImporter::CpuOf(std::uint32_t session, std::uint32_t cpu,
                                                        std::string_view defaults) {
  const auto [found, is_new] = cpus_.try_emplace({session, cpu});
  CpuState& state = found->second;
  if (!is_new) return state;
  state.timebase = CounterTrack(session, cpu, sessions_[session].event);
  ProtoReader field(defaults);
  while (field.Next()) {
    if (field.id() != tracefile::PerfSampleDefaults::kFollowers) continue;
    const EventName follower = NameOfEvent(field.bytes(), kFollower);
    state.followers.push_back(
        CounterTrack(session, cpu, importer_.strings().Intern(follower.name)));
  }
  return state;
}

// How many events a sample stands for: those that the timebase counted since the sample before on
// its CPU, else what was asked for. `count` is null when the sample has none.
std::int64_t PerfSampleImporter::PeriodOf(std::uint32_t session, CpuState& cpu,
                                          const std::uint64_t* count) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // so that sums cannot overflow
  const PerfSession& of = sessions_[session];
  if (count != nullptr) {
    const std::uint64_t grown = *count >= cpu.count ? *count - cpu.count : *count;
    cpu.count = *count;
    return static_cast<std::int64_t>(std::min(grown, kMost));
  }
  if (of.period != 0) return static_cast<std::int64_t>(std::min(of.period, kMost));
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  if (of.frequency_hz != 0 && of.unit != kNoString && importer_.strings().Text(of.unit) == "ns") {
    return static_cast<std::int64_t>(kSecondNs / of.frequency_hz);
  }
  return -1;
}

void PerfSampleImporter::Take(const PacketRef& packet) {
  namespace Sample = tracefile::PerfSample;
  const PerfStream& stream = index_.perf_streams[packet.perf_stream];
  const std::uint32_t session = SessionOf(stream);
  std::optional<std::uint32_t> cpu;
  std::optional<std::uint64_t> callstack;
  std::optional<std::uint64_t> count;
  std::optional<std::uint32_t> unwind_error;
  std::optional<std::uint32_t> skipped;
  std::optional<std::string_view> producer_event;
  std::vector<std::uint64_t> followers;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint64_t mode = 0;
  std::uint64_t lost = 0;
  ProtoReader field(packet.body);
  while (field.Next()) {
    switch (field.id()) {
      case Sample::kCpu:
        cpu = field.u32();
        break;
      case Sample::kPid:
        pid = field.u32();
        break;
      case Sample::kTid:
        tid = field.u32();
        break;
      case Sample::kCallstackIid:
        callstack = field.u64();
        break;
      case Sample::kCpuMode:
        mode = field.u64();
        break;
      case Sample::kTimebaseCount:
        count = field.u64();
        break;
      case Sample::kFollowerCounts:
        if (field.is_bytes()) {
          PackedVarints packed(field.bytes());
          for (std::uint64_t value; packed.Next(value);) followers.push_back(value);
        } else {
          followers.push_back(field.u64());
        }
        break;
      case Sample::kUnwindError:
        unwind_error = field.u32();
        break;
      case Sample::kKernelRecordsLost:
        lost = field.u64();
        break;
      case Sample::kSampleSkippedReason:
        skipped = field.u32();
        break;
      case Sample::kProducerEvent:
        producer_event = field.bytes();
        break;
      default:
        break;
    }
  }
  TraceStats& stats = importer_.stats();
  if (!field.ok()) stats.Add("packet_parse_errors");
  if (lost > 0) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
    stats.Add("perf_cpu_lost_records", static_cast<std::int64_t>(std::min(lost, kMost)),
              cpu.value_or(0));
    return;
  }
  if (producer_event.has_value()) {
    ProtoReader part(*producer_event);
    while (part.Next()) {
      if (part.id() == Sample::ProducerEvent::kSourceStopReason &&
          part.u32() == Sample::ProducerEvent::kStoppedByGuardrail) {
        stats.Set("perf_guardrail_stop_ts", packet.ts, session);
      }
    }
    return;
  }
  if (skipped == Sample::SkipReason::kReadStage || skipped == Sample::SkipReason::kUnwindStage) {
    stats.Add("perf_samples_skipped");
  } else if (skipped == Sample::SkipReason::kUnwindEnqueue) {
    stats.Add("perf_samples_skipped_dataloss");
  }

  importer_.Widen(packet.ts);
  CpuState& state = CpuOf(session, cpu.value_or(0), stream.defaults);
  if (count.has_value()) importer_.Counter(packet.ts, state.timebase, static_cast<double>(*count));
  for (std::size_t i = 0; i < followers.size() && i < state.followers.size(); ++i) {
    importer_.Counter(packet.ts, state.followers[i], static_cast<double>(followers[i]));
  }
  StackTable::Stack stack;
  if (callstack.has_value()) {
    stack = importer_.stacks().Resolve(index_.interned[packet.interned], *callstack);
    if (stack.callsite == kNoCallsite) stats.Add("perf_samples_of_unknown_stacks");
  }
  StringPool& strings = importer_.strings();
  const bool has_cpu = cpu.has_value() && *cpu <= INT16_MAX;
  importer_.perf_samples().Append(
      {.id = 0,
       .utid = importer_.threads().ThreadOfProcess(tid, pid),
       .ts = packet.ts,
       .period = PeriodOf(session, state, count.has_value() ? &*count : nullptr),
       .cpu = has_cpu ? *cpu : kNone,
       .callsite = stack.callsite,
       .session = session,
       .cpu_mode = mode == 0 ? kNoString : strings.Intern(NameOf(kCpuModes, mode)),
       .unwind_error = unwind_error.has_value()
                           ? strings.Intern(NameOf(kUnwindErrors, *unwind_error))
                           : kNoString});
}

}  // namespace culprit::load
