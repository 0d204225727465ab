// PerfSampleImporter: the samples of perf in Perfetto's packets: rows of perf_sample, the counters
// that came with them, the sessions they belong to, and what the recorder lost. Stacks of switches
// become offcpu_sample at the end of a load (tables/offcpu.h).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "load/importer.h"
#include "load/trace_index.h"

namespace culprit::load {

// One sampled event of one recorder: the packets of a sequence.
struct PerfSession {
  StringId event = kNoString;
  StringId unit = kNoString;
  std::uint64_t frequency_hz = 0;  // 0: not known
  std::uint64_t period = 0;        // 0: not known
};

class PerfSampleImporter {
 public:
  PerfSampleImporter(const TraceIndex& index, Importer& importer)
      : index_(index), importer_(importer) {}

  void Take(const PacketRef& packet);
  const std::vector<PerfSession>& sessions() const { return sessions_; }

 private:
  struct CpuState {
    TrackId timebase = 0;
    std::vector<TrackId> followers;
    std::uint64_t count = 0;  // of the timebase, at the sample before
  };

  std::uint32_t SessionOf(const PerfStream& stream);
  CpuState& CpuOf(std::uint32_t session, std::uint32_t cpu, std::string_view defaults);
  TrackId CounterTrack(std::uint32_t session, std::uint32_t cpu, StringId name);
  std::int64_t PeriodOf(std::uint32_t session, CpuState& cpu, const std::uint64_t* count) const;

  const TraceIndex& index_;
  Importer& importer_;
  std::vector<PerfSession> sessions_;
  std::unordered_map<std::uint32_t, std::uint32_t> session_of_;       // of sequence
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuState> cpus_;  // of session and CPU
};

}  // namespace culprit::load
