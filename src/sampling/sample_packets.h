// From a finished recording of samples to packets of the trace: names are found, stacks unwound and
// written as PerfSample with its interned data, a sequence an event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sampling/sampler.h"

namespace culprit::sampling {

// trusted_packet_sequence_id of the first event; the others follow.
inline constexpr std::uint32_t kFirstSequence = 20;

struct SampleSummary {
  struct OfEvent {
    std::string name;
    std::uint64_t samples = 0;
  };
  std::vector<OfEvent> events;
  std::uint64_t lost = 0;       // records that the rings had no room for
  std::uint64_t throttled = 0;  // times the kernel held sampling back
  std::vector<std::string> notes;
};

// Runs at low priority on a thread of its own. `append` takes serialised TracePackets.
Result<SampleSummary> WriteSamples(const SampleSpool& spool,
                                   const std::function<void(std::string_view packet)>& append);

}  // namespace culprit::sampling
