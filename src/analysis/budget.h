// Budget: a thread's time in a window, put into rows that add up to the window to the nanosecond.
#pragma once

#include <vector>

#include "analysis/explanation.h"
#include "analysis/timeline.h"

namespace culprit::analysis {

// Rows above zero, in a fixed order: running, irq and softirq on top of it, preempted, runnable,
// waits by cause, stopped, not_alive, unknown. They add up to the times of `own`.
std::vector<BudgetRow> MakeBudget(const Timeline& timeline, const Attribution& own);

}  // namespace culprit::analysis
