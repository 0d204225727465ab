// The border to perf_event_open(2): one counter on one thread or CPU, opened and read. A test puts
// a double of a PMU here. Names, sums, scaling and remedies are others'.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "stat/event.h"

namespace culprit::stat {

// What the kernel gives: the raw count, and for how long the counter was wanted and was on the PMU.
struct Reading {
  std::uint64_t value = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;
};

class Counter {
 public:
  virtual ~Counter() = default;
  virtual Result<Reading> Read() = 0;
};

struct CounterPlace {
  std::int32_t tid = -1;   // -1: whoever runs on `cpu`
  std::int32_t cpu = -1;   // -1: wherever `tid` runs
  bool inherit = false;    // with the threads and processes that it makes from now on
  bool from_exec = false;  // counts from its next execve(2) on
};

struct OpenedCounter {
  std::unique_ptr<Counter> counter;  // empty: refused
  int error_number = 0;
};

class CounterOpener {
 public:
  virtual ~CounterOpener() = default;
  // `leader`: an open counter of the same place with which it shall be on the PMU, or nullptr.
  virtual OpenedCounter Open(const Event& event, const CounterPlace& place,
                             const Counter* leader) = 0;
};

// The kernel's. Raises the soft limit of open files to the hard one when they run out.
std::unique_ptr<CounterOpener> KernelCounters();

}  // namespace culprit::stat
