// What is sampled, in the numbers of perf_event_open(2): names to attributes, and what a recording
// by samples needs to know. Opens nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::sampling {

struct SampledEvent {
  std::string name;  // as perf calls it: "cycles", "sched:sched_switch", "r01c2"
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint32_t trace_counter = 0;  // Perfetto's PerfEvents.Counter; 0: it has no number there
  bool is_tracepoint = false;       // each one is a sample
};

// "cycles", "cpu-clock", "page-faults", "cache-misses" ..., "sched/sched_switch" (with ':', too),
// "r01c2". Tracepoints are looked up in the tracefs below `root`.
Result<SampledEvent> FindEvent(std::string_view name, const std::string& root = "/");

enum class CallGraph {
  kFramePointers,  // the kernel walks them
  kDwarf,          // registers and a copy of the stack, unwound after the stop
  kAuto,           // both: frame pointers, repaired where their chain breaks
};

struct SampleConfig {
  // 99 and not 100: at the pace of timers (100, 250, 1000 Hz) a sampler sees a program always in
  // the same phase of what it does at each tick.
  static constexpr std::uint32_t kDefaultHz = 99;

  std::vector<SampledEvent> events;
  std::uint32_t frequency_hz = kDefaultHz;
  CallGraph call_graph = CallGraph::kFramePointers;
  std::vector<std::int32_t> pids;  // with their threads and later children; none: every CPU
  // CLOCK_MONOTONIC or CLOCK_MONOTONIC_RAW: the kernel reads no other one in an NMI.
  int clock_id = 0;
  std::uint32_t trace_clock = 0;  // its number in the trace format
};

}  // namespace culprit::sampling
