// Shares of CPU time between two readings of /proc/stat, with counters that fall told apart from an
// idle CPU. Guest time is in user already.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/proc_cpu.h"

namespace culprit::health {

struct CpuShares {
  double user_pct = 0, nice_pct = 0, system_pct = 0, idle_pct = 0, iowait_pct = 0;
  double irq_pct = 0, softirq_pct = 0, steal_pct = 0;
  double busy_pct = 0;  // all but idle and iowait
  std::uint64_t total_ticks = 0;
  std::size_t invalid_cpus = 0;  // of a sum: CPUs that have no share
};

// Nothing when a counter fell by more than iowait may (it is corrected downwards by the kernel) or
// no time passed.
std::optional<CpuShares> SharesOf(const kernel::CpuTicks& before, const kernel::CpuTicks& after);

// Each CPU that has counters in both.
std::vector<std::pair<std::uint32_t, CpuShares>> SharesOfCpus(const kernel::MachineStat& before,
                                                              const kernel::MachineStat& after);

// Sum over the valid CPUs; nothing when none is.
std::optional<CpuShares> SharesOfNode(const kernel::MachineStat& before,
                                      const kernel::MachineStat& after);

}  // namespace culprit::health
