#include "stat/metrics.h"

namespace culprit::stat {
namespace {

using Maybe = std::optional<double>;

Maybe Ratio(Maybe part, Maybe whole, double factor = 1) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole * factor;
}

Maybe Plus(Maybe a, Maybe b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<Metrics::TopDown> TopDownOf(const Counts& counts) {
  // Ice Lake and newer: the PMU has one count of slots each.
  const Maybe retiring = counts.Of("topdown-retiring"), bad = counts.Of("topdown-bad-spec");
  const Maybe frontend = counts.Of("topdown-fe-bound"), backend = counts.Of("topdown-be-bound");
  if (retiring && bad && frontend && backend) {
    const double all = *retiring + *bad + *frontend + *backend;
    if (all <= 0) return std::nullopt;
    return Metrics::TopDown{100 * *retiring / all, 100 * *bad / all, 100 * *frontend / all,
                            100 * *backend / all};
  }
  // Before: A. Yasin, "A top-down method for performance analysis and counters architecture", 2014.
  const Maybe slots = counts.Of("topdown-total-slots"), issued = counts.Of("topdown-slots-issued");
  const Maybe retired = counts.Of("topdown-slots-retired");
  const Maybe bubbles = counts.Of("topdown-fetch-bubbles");
  const Maybe recovery = counts.Of("topdown-recovery-bubbles");
  if (!slots || !issued || !retired || !bubbles || !recovery || *slots <= 0) return std::nullopt;
  Metrics::TopDown shares;
  shares.retiring = 100 * *retired / *slots;
  shares.frontend_bound = 100 * *bubbles / *slots;
  shares.bad_speculation = 100 * (*issued - *retired + *recovery) / *slots;
  shares.backend_bound = 100 - shares.retiring - shares.frontend_bound - shares.bad_speculation;
  return shares;
}

}  // namespace

Maybe Counts::Of(std::string_view name) const {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    std::string_view own = events_[i].event.name;
    own = own.substr(0, own.find(':'));
    if (own != name) continue;
    if (const auto value = row_.counts[i].Scaled()) return *value * events_[i].event.scale;
  }
  return std::nullopt;
}

Metrics ComputeMetrics(const Counts& counts, double elapsed_s, bool is_machine, unsigned cpus) {
  Metrics m;
  m.elapsed_s = elapsed_s;
  m.is_machine = is_machine;
  m.cpus = cpus;
  const Maybe elapsed = elapsed_s > 0 ? Maybe(elapsed_s) : std::nullopt;
  const Maybe busy_ns = Plus(counts.Of("user-time"), counts.Of("system-time"));
  // cpu-clock of the machine runs while it is idle, too.
  const Maybe clock = counts.Of("task-clock") ? counts.Of("task-clock")
                      : is_machine            ? busy_ns
                                              : counts.Of("cpu-clock");
  const Maybe on_cpu_ns = clock ? clock : busy_ns;
  m.cpus_used = Ratio(on_cpu_ns, elapsed, 1e-9);
  const Maybe cycles = counts.Of("cycles");
  m.ghz = Ratio(cycles, on_cpu_ns);
  m.ipc = Ratio(counts.Of("instructions"), cycles);
  m.frontend_stall_pct = Ratio(counts.Of("stalled-cycles-frontend"), cycles, 100);
  m.backend_stall_pct = Ratio(counts.Of("stalled-cycles-backend"), cycles, 100);
  m.branch_miss_pct = Ratio(counts.Of("branch-misses"), counts.Of("branches"), 100);
  m.cache_miss_pct = Ratio(counts.Of("cache-misses"), counts.Of("cache-references"), 100);
  m.llc_miss_pct = Ratio(counts.Of("LLC-load-misses"), counts.Of("LLC-loads"), 100);
  m.l1d_miss_pct = Ratio(counts.Of("L1-dcache-load-misses"), counts.Of("L1-dcache-loads"), 100);
  m.dtlb_miss_pct = Ratio(counts.Of("dTLB-load-misses"), counts.Of("dTLB-loads"), 100);
  m.itlb_miss_pct = Ratio(counts.Of("iTLB-load-misses"), counts.Of("iTLB-loads"), 100);
  m.switches_per_s = Ratio(counts.Of("context-switches"), elapsed);
  m.voluntary_per_s = Ratio(counts.Of("voluntary-switches"), elapsed);
  m.involuntary_per_s = Ratio(counts.Of("involuntary-switches"), elapsed);
  m.migrations_per_s = Ratio(counts.Of("cpu-migrations"), elapsed);
  m.minor_faults_per_s = Ratio(counts.Of("minor-faults"), elapsed);
  m.major_faults_per_s = Ratio(counts.Of("major-faults"), elapsed);
  m.kernel_time_pct = Ratio(counts.Of("system-time"), busy_ns, 100);
  m.top_down = TopDownOf(counts);
  return m;
}

std::vector<NamedMetric> NamedMetrics(const Metrics& m) {
  std::vector<NamedMetric> named;
  const auto add = [&](std::string_view name, std::string_view event, std::string_view text,
                       Maybe value, std::string_view unit) {
    if (value) named.push_back({name, event, text, *value, unit});
  };
  add("cpus_used", m.is_machine ? "cpu-clock" : "task-clock", "CPUs used", m.cpus_used, "");
  add("switches_per_s", "context-switches", "", m.switches_per_s, "/s");
  add("voluntary_per_s", "voluntary-switches", "", m.voluntary_per_s, "/s");
  add("involuntary_per_s", "involuntary-switches", "", m.involuntary_per_s, "/s");
  add("migrations_per_s", "cpu-migrations", "", m.migrations_per_s, "/s");
  add("minor_faults_per_s", "minor-faults", "", m.minor_faults_per_s, "/s");
  add("major_faults_per_s", "major-faults", "", m.major_faults_per_s, "/s");
  add("kernel_time_pct", "system-time", "of the time on CPUs", m.kernel_time_pct, "%");
  add("ghz", "cycles", "", m.ghz, "GHz");
  add("ipc", "instructions", "instructions a cycle", m.ipc, "");
  add("branch_miss_pct", "branch-misses", "of the branches", m.branch_miss_pct, "%");
  add("cache_miss_pct", "cache-misses", "of the references", m.cache_miss_pct, "%");
  add("llc_miss_pct", "LLC-load-misses", "of the LLC's loads", m.llc_miss_pct, "%");
  add("l1d_miss_pct", "L1-dcache-load-misses", "of L1's loads", m.l1d_miss_pct, "%");
  add("dtlb_miss_pct", "dTLB-load-misses", "of the TLB's loads", m.dtlb_miss_pct, "%");
  add("itlb_miss_pct", "iTLB-load-misses", "of the TLB's loads", m.itlb_miss_pct, "%");
  add("frontend_stall_pct", "stalled-cycles-frontend", "of the cycles", m.frontend_stall_pct, "%");
  add("backend_stall_pct", "stalled-cycles-backend", "of the cycles", m.backend_stall_pct, "%");
  if (m.top_down) {
    add("retiring_pct", "topdown-retiring", "of the slots", m.top_down->retiring, "%");
    add("bad_speculation_pct", "topdown-bad-spec", "of the slots", m.top_down->bad_speculation,
        "%");
    add("frontend_bound_pct", "topdown-fe-bound", "of the slots", m.top_down->frontend_bound, "%");
    add("backend_bound_pct", "topdown-be-bound", "of the slots", m.top_down->backend_bound, "%");
  }
  return named;
}

}  // namespace culprit::stat
