#include "sampling/sample_packets.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/bytes.h"
#include "base/text.h"
#include "profile/perf_data/header.h"
#include "profile/perf_data/reader.h"
#include "profile/perf_data/record_stream.h"
#include "profile/perf_data/record_types.h"
#include "profile/profile.h"
#include "tracefile/fields.h"
#include "tracefile/wire.h"
#include "tracefile/writer.h"

namespace culprit::sampling {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::Profile;
using profile::StackId;
using profile::StringId;
using tracefile::WireBuffer;
namespace InternedData = tracefile::InternedData;
namespace PerfSample = tracefile::PerfSample;
namespace TracePacket = tracefile::TracePacket;

struct Losses {
  std::map<std::uint32_t, std::uint64_t> of_cpu;
  std::uint64_t lost = 0;
  std::uint64_t throttled = 0;
};

// LOST and THROTTLE with the CPUs that their trailers name.
Losses CountLosses(std::span<const std::byte> file) {
  constexpr std::size_t kCpuFromEnd = 16;  // CPU and padding, then IDENTIFIER
  Losses losses;
  const auto header = profile::perf_data::ReadHeader(file);
  if (!header) return losses;
  profile::perf_data::RecordStream stream(
      file.subspan(header->data_begin, header->data_end - header->data_begin));
  while (const auto record = stream.Next()) {
    using namespace profile::perf_data;
    std::uint64_t lost = 0;
    if (record->type == kRecordThrottle) ++losses.throttled;
    if (record->type == kRecordLost) {
      lost = static_cast<std::uint64_t>(ReadIntegerAt(record->body, 8, 8, false));
    } else if (record->type == kRecordLostSamples) {
      lost = static_cast<std::uint64_t>(ReadIntegerAt(record->body, 0, 8, false));
    }
    if (lost == 0 || record->body.size() < kCpuFromEnd) continue;
    losses.lost += lost;
    losses.of_cpu[static_cast<std::uint32_t>(
        ReadIntegerAt(record->body, record->body.size() - kCpuFromEnd, 4, false))] += lost;
  }
  return losses;
}

// The packets of one event. iids are the profile's own numbers and one.
class Sequence {
 public:
  Sequence(const Profile& profile, const SampleConfig& config, const SampledEvent& event,
           std::uint32_t id, const std::function<void(std::string_view)>& append)
      : profile_(profile), config_(config), event_(event), id_(id), append_(append) {}

  void Add(const profile::Sample& sample) {
    InternStack(sample.stack);
    const profile::Thread& thread = profile_.threads[sample.thread];
    message_.Clear();
    if (sample.cpu >= 0)
      message_.VarintField(PerfSample::kCpu, static_cast<std::uint64_t>(sample.cpu));
    message_.VarintField(PerfSample::kPid, static_cast<std::uint32_t>(thread.pid));
    message_.VarintField(PerfSample::kTid, static_cast<std::uint32_t>(thread.tid));
    if (sample.stack != 0) {
      message_.VarintField(PerfSample::kCallstackIid, sample.stack);
      const bool is_kernel =
          profile_.frames[profile_.stacks[sample.stack].frame].kind == FrameKind::kKernel;
      message_.VarintField(PerfSample::kCpuMode, is_kernel ? 1 : 2);
    }
    counts_[sample.cpu] += static_cast<std::uint64_t>(sample.weight);
    message_.VarintField(PerfSample::kTimebaseCount, counts_[sample.cpu]);
    Packet(sample.ts);
  }

  void AddLoss(std::uint32_t cpu, std::uint64_t lost, std::int64_t ts) {
    message_.Clear();
    message_.VarintField(PerfSample::kCpu, cpu);
    message_.VarintField(PerfSample::kKernelRecordsLost, lost);
    Packet(ts);
  }

 private:
  // What the message and `interned_` hold.
  void Packet(std::int64_t ts) {
    packet_.Clear();
    packet_.VarintField(TracePacket::kTimestamp, static_cast<std::uint64_t>(ts));
    packet_.VarintField(TracePacket::kTimestampClockId, config_.trace_clock);
    packet_.VarintField(TracePacket::kTrustedPacketSequenceId, id_);
    namespace Flags = tracefile::SequenceFlags;
    packet_.VarintField(TracePacket::kSequenceFlags,
                        has_begun_
                            ? Flags::kNeedsIncrementalState
                            : Flags::kNeedsIncrementalState | Flags::kIncrementalStateCleared);
    if (!has_begun_) {
      packet_.BytesField(TracePacket::kTracePacketDefaults, Defaults());
      has_begun_ = true;
    }
    if (!interned_.empty()) packet_.BytesField(TracePacket::kInternedData, interned_.view());
    interned_.Clear();
    packet_.BytesField(TracePacket::kPerfSample, message_.view());
    append_(packet_.view());
  }

  std::string Defaults() const {
    namespace Timebase = tracefile::PerfTimebase;
    WireBuffer timebase;
    if (event_.is_tracepoint) {
      WireBuffer tracepoint;
      tracepoint.BytesField(tracefile::PerfTracepoint::kName, event_.name);
      timebase.VarintField(Timebase::kPeriod, 1);
      timebase.BytesField(Timebase::kTracepoint, tracepoint.view());
    } else {
      timebase.VarintField(Timebase::kFrequency, config_.frequency_hz);
      if (event_.trace_counter != 0) timebase.VarintField(Timebase::kCounter, event_.trace_counter);
    }
    timebase.BytesField(Timebase::kName, event_.name);
    WireBuffer sample;
    sample.BytesField(tracefile::PerfSampleDefaults::kTimebase, timebase.view());
    WireBuffer defaults;
    defaults.VarintField(tracefile::TracePacketDefaults::kTimestampClockId, config_.trace_clock);
    defaults.BytesField(tracefile::TracePacketDefaults::kPerfSampleDefaults, sample.view());
    return std::string(defaults.view());
  }

  void InternText(std::uint32_t field, StringId text) {
    WireBuffer entry;
    entry.VarintField(tracefile::InternedString::kIid, text + 1U);
    entry.BytesField(tracefile::InternedString::kStr, profile_.strings.Get(text));
    interned_.BytesField(field, entry.view());
  }

  void InternModule(StringId module) {
    if (!modules_.emplace(module, true).second) return;
    InternText(InternedData::kMappingPaths, module);
    WireBuffer mapping;
    mapping.VarintField(tracefile::Mapping::kIid, module + 1U);
    mapping.VarintField(tracefile::Mapping::kPathStringIds, module + 1U);
    interned_.BytesField(InternedData::kMappings, mapping.view());
  }

  void InternFrame(FrameId id) {
    if (!frames_.emplace(id, true).second) return;
    const profile::Frame& frame = profile_.frames[id];
    InternModule(frame.module);
    if (names_.emplace(frame.name, true).second)
      InternText(InternedData::kFunctionNames, frame.name);
    WireBuffer entry;
    entry.VarintField(tracefile::Frame::kIid, id + 1U);
    entry.VarintField(tracefile::Frame::kFunctionNameId, frame.name + 1U);
    entry.VarintField(tracefile::Frame::kMappingId, frame.module + 1U);
    // Code is told apart by its name here; a place of its own keeps two of one name apart.
    entry.VarintField(tracefile::Frame::kRelPc, id);
    interned_.BytesField(InternedData::kFrames, entry.view());
  }

  void InternStack(StackId id) {
    if (id == 0 || !stacks_.emplace(id, true).second) return;
    chain_.clear();
    for (StackId at = id; at != 0; at = profile_.stacks[at].parent) {
      chain_.push_back(profile_.stacks[at].frame);
    }
    WireBuffer entry;
    entry.VarintField(tracefile::Callstack::kIid, id);
    for (std::size_t i = chain_.size(); i-- > 0;) {
      InternFrame(chain_[i]);
      entry.VarintField(tracefile::Callstack::kFrameIds, chain_[i] + 1U);
    }
    interned_.BytesField(InternedData::kCallstacks, entry.view());
  }

  const Profile& profile_;
  const SampleConfig& config_;
  const SampledEvent& event_;
  std::uint32_t id_;
  const std::function<void(std::string_view)>& append_;
  bool has_begun_ = false;
  WireBuffer packet_;
  WireBuffer message_;
  WireBuffer interned_;
  std::unordered_map<StackId, bool> stacks_;
  std::unordered_map<FrameId, bool> frames_;
  std::unordered_map<StringId, bool> names_;
  std::unordered_map<StringId, bool> modules_;
  std::unordered_map<std::int32_t, std::uint64_t> counts_;  // of each CPU
  std::vector<FrameId> chain_;
};

Result<SampleSummary> Write(const SampleSpool& spool,
                            const std::function<void(std::string_view)>& append) {
  CULPRIT_ASSIGN(const MappedFile mapped,
                 MappedFile::OfFd(spool.file.get(), "the spool of samples"));
  SampleSummary summary;
  const Losses losses = CountLosses(mapped.bytes());
  summary.lost = losses.lost;
  summary.throttled = losses.throttled;
  for (const SampledEvent& event : spool.events) summary.events.push_back({event.name, 0});
  if (!spool.problem.empty()) summary.notes.push_back("samples end early: " + spool.problem);
  auto read = profile::ReadPerfData(mapped.text());
  if (!read) {
    summary.notes.push_back(read.error().ToString());
    return summary;
  }
  const Profile profile = std::move(read).value();
  for (const profile::Note& note : profile.notes) summary.notes.push_back(note.text);
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < spool.events.size(); ++i) {
    sequences.emplace_back(profile, spool.config, spool.events[i],
                           kFirstSequence + static_cast<std::uint32_t>(i), append);
  }
  std::int64_t last = 0;
  for (const profile::Sample& sample : profile.samples) {
    // The dummy is the file's first event.
    const std::size_t event = sample.metric;
    if (event == 0 || event > sequences.size()) continue;
    sequences[event - 1].Add(sample);
    ++summary.events[event - 1].samples;
    last = std::max(last, sample.ts);
  }
  for (const auto& [cpu, lost] : losses.of_cpu) {
    if (!sequences.empty()) sequences.front().AddLoss(cpu, lost, last);
  }
  return summary;
}

}  // namespace

Result<SampleSummary> WriteSamples(const SampleSpool& spool,
                                   const std::function<void(std::string_view)>& append) {
  std::optional<Result<SampleSummary>> result;
  std::thread worker([&] {
    static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19));
    result.emplace(Write(spool, append));
  });
  worker.join();
  return std::move(*result);
}

}  // namespace culprit::sampling
