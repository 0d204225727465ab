// Delays of processes by cause, as the kernel accounts them (taskstats over generic netlink). Only
// where kernel.task_delayacct is on; root is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "health/child.h"

namespace culprit::health {

// Nanoseconds waited since the process began, summed over its threads.
struct TaskDelays {
  std::uint64_t cpu_ns = 0, block_io_ns = 0, swap_in_ns = 0, reclaim_ns = 0, thrashing_ns = 0;
};

// "@delays/PID" -> "name value" lines for each process; "@delays" -> why there are none.
void ProbeDelays(ProbeOutput& output);

TaskDelays ParseDelays(std::string_view text);

}  // namespace culprit::health
