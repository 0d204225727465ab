// The load average told apart: how much of it runs and how much waits in D, and where it is heading
// by the kernel's own decay formula.
#pragma once

#include "health/context.h"

namespace culprit::health {

// The value that an average of `load` goes to after `seconds` with `active` tasks in R or D all the
// time. The kernel updates every 5.001 s (LOAD_FREQ) in fixed point of 11 bits with the factors
// 1884, 2014 and 2037 of 2048 for 1, 5 and 15 minutes.
double LoadAfter(double load, double active, int minutes, double seconds);

// Adds the summary and the evidence to the reading of the load.
void ExplainLoad(const Context& context, const kernel::LoadAverage& load, Reading& reading);

}  // namespace culprit::health
