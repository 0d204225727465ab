#include "analysis/trace_time.h"

#include <string>

#include "base/text.h"

namespace culprit::analysis {
namespace {

// A recording of 12 digits of seconds would be 30,000 years long.
constexpr std::size_t kAbsoluteDigits = 12;

}  // namespace

Result<std::int64_t> ParseTraceTime(std::string_view text, Interval trace) {
  std::int64_t ts = 0;
  const auto absolute = ParseInteger<std::int64_t>(text);
  if (absolute && text.size() >= kAbsoluteDigits) {
    ts = *absolute;
  } else {
    const bool is_from_end = text.starts_with('-');
    CULPRIT_ASSIGN(const DurationNs offset, ParseDuration(is_from_end ? text.substr(1) : text));
    if (offset.value < 0) return Error{"'" + SafeForTerminal(text) + "' is no time", ""};
    // Compared before they are added: a time of an attacker's making cannot overflow.
    if (offset.value > trace.length())
      ts = is_from_end ? trace.begin - 1 : trace.end + 1;
    else
      ts = is_from_end ? trace.end - offset.value : trace.begin + offset.value;
  }
  if (ts < trace.begin || ts > trace.end) {
    return Error{"the time " + SafeForTerminal(text) + " is outside the recording",
                 "it goes from " + std::to_string(trace.begin) + " to " +
                     std::to_string(trace.end) + " ns, " + FormatDuration({trace.length()}) +
                     "; 1.5s counts from its begin, -1.5s "
                     "from its end"};
  }
  return ts;
}

}  // namespace culprit::analysis
