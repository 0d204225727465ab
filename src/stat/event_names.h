// Names of events to their numbers: generic ones, "rNNN", those of the PMUs in
// /sys/bus/event_source ("cpu/event=0x3c,umask=1/", "msr/tsc/", a bare name of the CPU's PMU),
// tracepoints ("sched:sched_switch") and what libpfm4 knows. Whether the CPU can count them shows
// when they are opened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stat/event.h"

namespace culprit::stat {

// "cycles,{LLC-loads,LLC-load-misses},r01c2:u": groups in braces, ":u", ":k", ":h" behind a name or
// a group for where to count. `root` is "/" or a folder that stands for the machine.
Result<std::vector<EventGroup>> ParseEvents(std::string_view text, const std::string& root = "/");

// The events of top-down level 1 that this CPU's PMU names, as ParseEvents takes them; "" for none.
std::string TopDownEvents(const std::string& root = "/");

}  // namespace culprit::stat
