// Ratios of counts, as plain numbers: IPC, miss rates, GHz, top-down level 1. What was not counted
// gives no ratio, never a 0. What the ratios mean is interpretation.h's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stat/meter.h"

namespace culprit::stat {

// The numbers of one row by event name, scaled, modifiers (":u") left out of the names.
class Counts {
 public:
  Counts(std::span<const EventStatus> events, const Row& row) : events_(events), row_(row) {}
  std::optional<double> Of(std::string_view name) const;

 private:
  std::span<const EventStatus> events_;
  const Row& row_;
};

struct Metrics {
  double elapsed_s = 0;
  bool is_machine = false;
  unsigned cpus = 0;  // of the machine

  std::optional<double> cpus_used;                              // time on CPUs / elapsed
  std::optional<double> ghz;                                    // cycles / ns on a CPU
  std::optional<double> ipc;                                    // instructions / cycles
  std::optional<double> frontend_stall_pct, backend_stall_pct;  // of the cycles
  std::optional<double> branch_miss_pct;                        // of the branches
  std::optional<double> cache_miss_pct;                         // of the references
  std::optional<double> llc_miss_pct;                           // of the LLC's loads
  std::optional<double> l1d_miss_pct, dtlb_miss_pct, itlb_miss_pct;
  std::optional<double> switches_per_s, voluntary_per_s, involuntary_per_s;
  std::optional<double> minor_faults_per_s, major_faults_per_s, migrations_per_s;
  std::optional<double> kernel_time_pct;  // of user and kernel time

  struct TopDown {  // percent of the pipeline's slots
    double retiring = 0, bad_speculation = 0, frontend_bound = 0, backend_bound = 0;
  };
  std::optional<TopDown> top_down;
};

Metrics ComputeMetrics(const Counts& counts, double elapsed_s, bool is_machine, unsigned cpus);

// A ratio that has a value, by a stable name with its unit ("ipc", "llc_miss_pct").
struct NamedMetric {
  std::string_view name;
  std::string_view event;  // beside which it is shown
  std::string_view text;   // "instructions per cycle"
  double value;
  std::string_view unit;  // "%", "/s", "GHz", ""
};
std::vector<NamedMetric> NamedMetrics(const Metrics& metrics);

}  // namespace culprit::stat
