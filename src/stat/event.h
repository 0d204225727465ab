// What can be counted: an event of perf_event_open(2) in its own numbers, a count of /proc, or an
// event of perf that /proc stands in for. Nothing here opens or reads anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::stat {

// Counts that the kernel keeps without perf events.
enum class ProcCount : std::uint8_t {
  kNone,
  kTaskClock,    // ns on a CPU
  kSwitches,     // both kinds
  kVoluntary,    // the task slept
  kInvoluntary,  // it was put off the CPU
  kMigrations,   // it went on on another CPU
  kFaults,       // both kinds
  kMinorFaults,  // served from memory
  kMajorFaults,  // from a disk
  kUserTime,     // ns
  kSystemTime,   // ns
  kCount
};

struct Event {
  std::string name;  // as it was asked for
  bool has_perf = true;
  std::uint32_t type = 0;  // PERF_TYPE_* or the number of a PMU in /sys
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  bool exclude_user = false;
  bool exclude_kernel = false;
  bool exclude_hypervisor = false;
  ProcCount proc = ProcCount::kNone;  // what stands in where perf does not count
  std::string unit;                   // "ns", "Joules", "" for a plain count
  double scale = 1;                   // value = count * scale, in `unit`
  // Not empty: the PMU counts for a package or the machine, on these CPUs only, and for no task.
  std::vector<std::uint32_t> cpus;
};

// Events that shall be on the PMU at the same time, since they are divided by one another.
using EventGroup = std::vector<Event>;

}  // namespace culprit::stat
