// Markers: the texts that programs write to trace_marker ("B|TGID|NAME", "E", "C|TGID|NAME|VALUE"
// ...), parsed. What they do to slices and counters is marker_tracker.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace culprit::load {

// phase    text                        meaning
//   B E    B|tgid|name   E|tgid        slice of the writing thread begins, the newest one ends
//   S F    S|tgid|name|cookie          slice of the process begins and ends, by name and cookie
//   C      C|tgid|name|value           counter of the process
//   I      I|tgid|name                 instant of the writing thread
//   N      N|tgid|track|name           instant on a named track of the process
//   G H    G|tgid|track|name|cookie    slice on a named track; H|tgid|track|[name|]cookie
struct Marker {
  char phase = 0;
  std::int64_t tgid = 0;  // 0: not given
  std::string_view name;
  std::string_view track;
  std::int64_t value = 0;  // or the cookie
};

// Nothing for a text that is no marker.
std::optional<Marker> ParseMarker(std::string_view text);

}  // namespace culprit::load
