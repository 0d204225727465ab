// per_cpu/cpuN/stats of a trace instance as numbers. Nothing is opened here.
#pragma once

#include <cstdint>
#include <string_view>

#include "capture/spool.h"

namespace culprit::capture {

// Lines that this kernel lacks leave their numbers 0.
RingStats ParseRingStats(std::string_view text);

// Events that are gone for good, of whatever cause.
inline std::uint64_t LostEvents(const RingStats& stats) {
  return stats.overrun + stats.commit_overrun + stats.dropped_events;
}
inline std::uint64_t LostBetween(const RingStats& start, const RingStats& end) {
  return LostEvents(end) - LostEvents(start);
}

}  // namespace culprit::capture
