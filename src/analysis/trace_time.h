// A moment of a recording as people write it. Knows no table.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/timeline.h"
#include "base/result.h"

namespace culprit::analysis {

// "1.5s", "200ms", "12" (seconds): from the begin of the recording; "-2s": from its end; a whole
// number of at least 12 digits: ns on the trace's clock, as tables have them. An Error when it is
// none of these, or outside the recording.
[[nodiscard]] Result<std::int64_t> ParseTraceTime(std::string_view text, Interval trace);

}  // namespace culprit::analysis
