// PSI as a number to judge: high now and for some time, so that neither a burst nor what is over
// raises an alarm.
#pragma once

#include <optional>
#include <string_view>

#include "health/context.h"

namespace culprit::health {

struct PressureShare {
  double judged_pct = 0;  // the smaller of the interval's share and the averages of 10 s and 60 s
  double now_pct = 0;     // growth of the total over the interval
  double avg10_pct = 0, avg60_pct = 0, avg300_pct = 0;
};

// "some" or "full" of a pressure file; nothing when it is missing. With one sample, now is avg10.
std::optional<PressureShare> PressureNow(const Context& context, std::string_view path, bool full);

// The reading of a node's pressure file, or why there is none.
void MeasurePressure(const Context& context, Readings& out, std::string_view path, bool full);

}  // namespace culprit::health
