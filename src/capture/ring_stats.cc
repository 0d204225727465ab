#include "capture/ring_stats.h"

#include "base/text.h"

namespace culprit::capture {
namespace {

struct CountLine {
  std::string_view name;
  std::uint64_t RingStats::*number;
};
constexpr CountLine kCounts[] = {
    {"entries", &RingStats::entries},
    {"overrun", &RingStats::overrun},
    {"commit overrun", &RingStats::commit_overrun},
    {"dropped events", &RingStats::dropped_events},
    {"bytes", &RingStats::bytes},
    {"read events", &RingStats::read_events},
};

struct SecondsLine {
  std::string_view name;
  double RingStats::*number;
};
constexpr SecondsLine kSeconds[] = {
    {"oldest event ts", &RingStats::oldest_event_ts_s},
    {"now ts", &RingStats::now_ts_s},
};

}  // namespace

RingStats ParseRingStats(std::string_view text) {
  RingStats stats;
  for (const std::string_view line : SplitLines(text)) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const auto name = line.substr(0, colon);
    const auto value = TrimBlanks(line.substr(colon + 1));
    for (const CountLine& known : kCounts) {
      if (known.name == name) stats.*known.number = ParseInteger<std::uint64_t>(value).value_or(0);
    }
    for (const SecondsLine& known : kSeconds) {
      if (known.name == name) stats.*known.number = ParseNumber(value).value_or(0);
    }
  }
  return stats;
}

}  // namespace culprit::capture
