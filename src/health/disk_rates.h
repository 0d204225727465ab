// What iostat shows, between two readings of /proc/diskstats: rates, waits, queue, utilization.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/proc_disk.h"

namespace culprit::health {

struct DiskRates {
  std::string name;
  struct Kind {
    double per_s = 0;
    std::optional<double> await_ms;  // absent without a request
    double bytes_per_s = 0;
  } read, write, discard, flush;
  std::optional<double> queue;         // mean requests in flight ("aqu-sz")
  std::optional<double> util_pct;      // at most 100
  std::optional<double> raw_util_pct;  // as it was counted: io_ticks may run a little over
  double little_queue = 0;             // sum of rate times wait: what the queue must be
  std::optional<std::uint64_t> in_flight;
  double per_s() const { return read.per_s + write.per_s + discard.per_s + flush.per_s; }
};

// Nothing when a counter fell: the device is a new one of that name, and the interval unknown.
std::optional<DiskRates> RatesOf(const kernel::DiskStat& before, const kernel::DiskStat& after,
                                 double seconds);

// The devices that are in both, by name and number.
std::vector<DiskRates> RatesOfDisks(const std::vector<kernel::DiskStat>& before,
                                    const std::vector<kernel::DiskStat>& after, double seconds);

}  // namespace culprit::health
