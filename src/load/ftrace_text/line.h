// One line of ftrace text: what the kernel's trace and trace_pipe, trace-cmd report and perf script
// print for an event. Splits the line; what the arguments mean is arguments.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace culprit::load::ftrace_text {

//           bash-400   (  400) [001] d..2.   12.345678: sched_waking: comm=x pid=7 ...
//           COMM-TID    TGID    CPU  FLAGS   TIME       NAME          ARGUMENTS
//   COMM TID [001] 12.345678: sched:sched_waking: comm=x pid=7 ...            (perf script)
//   COMM TGID/TID [001] ...
struct Line {
  std::string_view comm;
  std::int64_t tid = 0;
  std::int64_t tgid = -1;  // -1: not said
  std::uint32_t cpu = 0;
  std::string_view flags;  // empty: not printed
  std::int64_t ts = 0;     // ns, exact
  std::string_view name;
  std::string_view arguments;
};

// Nothing for a line that is no event.
std::optional<Line> ParseLine(std::string_view text);

// "12.345678" or "12.345678901" in ns without rounding; a bare number is ns already (clocks that
// count otherwise print one).
std::optional<std::int64_t> ParseTimestamp(std::string_view text);

struct LostLine {
  std::uint32_t cpu = 0;
  std::optional<std::int64_t> events;
};
// "CPU:1 [LOST 235 EVENTS]", "CPU:1 [235 EVENTS DROPPED]", "CPU:1 [EVENTS DROPPED]".
std::optional<LostLine> ParseLostLine(std::string_view text);

}  // namespace culprit::load::ftrace_text
