#include "load/told_states.h"

#include <algorithm>
#include <string>

#include "tracefile/fields.h"
#include "tracefile/own_threads_fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tracefile::ProtoReader;
namespace Data = tracefile::CulpritData;

void Threads(const TraceIndex& index, Importer& importer) {
  for (const std::string_view body : index.told.threads) {
    std::int64_t tid = 0, pid = 0;
    std::string_view name;
    ProtoReader field(body);
    while (field.Next()) {
      if (field.id() == Data::ToldThread::kTid) tid = field.i32();
      if (field.id() == Data::ToldThread::kPid) pid = field.i32();
      if (field.id() == Data::ToldThread::kName) name = field.bytes();
    }
    if (tid <= 0) continue;
    // One that was born and has died between the scans of all processes has no other name.
    const Utid utid =
        pid > 0 ? importer.threads().ThreadOfProcess(tid, pid) : importer.threads().GetThread(tid);
    if (importer.threads().thread(utid).name == kNoString && !name.empty()) {
      importer.threads().RenameThread(utid, importer.strings().Intern(name));
    }
  }
}

SchedState StateOf(std::string_view text) {
  return text == "Running" ? tables::kStateRunning : ParseState(text);
}

void State(std::string_view body, Importer& importer) {
  constexpr std::uint32_t kMostCpus = 1 << 15;
  std::int64_t ts = 0, dur = 0, tid = 0;
  std::optional<std::uint32_t> cpu;
  std::string_view state, end_state, function;
  bool is_sampled = false;
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case Data::ToldState::kTs:
        ts = field.i64();
        break;
      case Data::ToldState::kDur:
        dur = field.i64();
        break;
      case Data::ToldState::kTid:
        tid = field.i32();
        break;
      case Data::ToldState::kState:
        state = field.bytes();
        break;
      case Data::ToldState::kCpu:
        cpu = field.u32();
        break;
      case Data::ToldState::kEndState:
        end_state = field.bytes();
        break;
      case Data::ToldState::kBlockedFunction:
        function = field.bytes();
        break;
      case Data::ToldState::kIsSampled:
        is_sampled = field.boolean();
        break;
      default:
        break;
    }
  }
  const bool is_whole = tid > 0 && ts >= 0 && (dur == kOpenDur || dur > 0) &&
                        (dur == kOpenDur || ts <= INT64_MAX - dur) && cpu.value_or(0) < kMostCpus;
  if (!is_whole) {
    importer.stats().Add("packet_parse_errors");
    return;
  }
  importer.Widen(ts);
  if (dur > 0) importer.Widen(ts + dur);
  importer.ToldState(ts, dur, importer.threads().GetThread(tid), StateOf(state), cpu,
                     function.empty() ? kNoString : importer.strings().Intern(function), -1,
                     {.end_state = StateOf(end_state), .has_sched_row = !is_sampled});
}

}  // namespace

void ImportToldStates(const TraceIndex& index, Importer& importer,
                      std::vector<MetadataRow>& metadata) {
  Threads(index, importer);
  for (const std::string_view body : index.told.states) State(body, importer);
  if (!index.told.coverage) return;
  struct Stat {
    std::uint32_t field;
    const char* name;
  };
  constexpr Stat kStats[] = {
      {Data::OwnThreads::kThreads, "own_threads"},
      {Data::OwnThreads::kRounds, "own_threads_looks"},
      {Data::OwnThreads::kWaits, "own_threads_waits"},
      {Data::OwnThreads::kWaitsWithoutKind, "own_threads_waits_without_kind"},
      {Data::OwnThreads::kWaitsShared, "own_threads_waits_shared"},
      {Data::OwnThreads::kWaitsUnsplit, "own_threads_waits_unsplit"},
      {Data::OwnThreads::kLost, "own_threads_lost"},
      {Data::OwnThreads::kUnknown, "own_threads_unknown"},
  };
  bool has_switches = false;
  ProtoReader field(*index.told.coverage);
  while (field.Next()) {
    if (field.id() == Data::OwnThreads::kHasSwitches) has_switches = field.boolean();
    const auto* stat = std::ranges::find(kStats, field.id(), &Stat::field);
    if (stat != std::end(kStats)) importer.stats().Set(stat->name, field.i64());
  }
  metadata.push_back({"sched_coverage", std::string("threads of the recorded processes only")});
  metadata.push_back({"sched_source", std::string(has_switches ? "switches" : "samples")});
}

}  // namespace culprit::load
