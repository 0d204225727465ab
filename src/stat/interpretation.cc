#include "stat/interpretation.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace culprit::stat {
namespace {

constexpr std::string_view kGregg =
    "culprit: B. Gregg's 1.0 (CPU Utilization is Wrong, 2017) with a margin on both sides, since "
    "cores are 4 to 8 wide";
constexpr std::string_view kPerf =
    "perf stat's second level of three (tools/perf/util/stat-shadow.c)";
constexpr std::string_view kTma = "Intel's TMA metrics, level 1 (perf list's metric thresholds)";

constexpr Threshold kThresholds[] = {
    {"idle_cpus", 0.1, "CPUs", "less: it mostly waits, and the counters are of a small part of it",
     "culprit"},
    {"idle_machine_pct", 5, "%", "less of all CPUs: the machine is idle", "culprit"},
    {"switches_per_s", 10'000, "/s", "more, with kernel time above user time: it hands over locks",
     "culprit: at 2 to 5 us a switch this is 2 to 5 % of a CPU in switching alone"},
    {"kernel_time_pct", 50, "%", "more of the time on CPUs: the kernel works, not the program",
     "culprit"},
    {"retiring_pct", 70, "%", "more of the slots: instructions are what takes the time", kTma},
    {"backend_bound_pct", 20, "%", "more of the slots, and most of the lost ones", kTma},
    {"frontend_bound_pct", 15, "%", "more of the slots, and most of the lost ones", kTma},
    {"bad_speculation_pct", 15, "%", "more of the slots, and most of the lost ones", kTma},
    {"ipc_compute", 1.5, "", "more: instructions are what takes the time", kGregg},
    {"ipc_memory", 0.7, "", "less, with misses or stalls: memory is what takes the time", kGregg},
    {"llc_miss_pct", 15, "%", "more of the LLC's loads go to memory",
     "culprit: between perf stat's second and third level of cache misses, 10 and 20 %"},
    {"backend_stall_pct", 50, "%", "more of the cycles wait for data or execution units", kPerf},
    {"frontend_stall_pct", 30, "%", "more of the cycles wait for instructions", kPerf},
    {"branch_miss_pct", 10, "%", "more of the branches are guessed wrong", kPerf},
};

const Threshold& Of(std::string_view name) {
  const auto* found = std::ranges::find(kThresholds, name, &Threshold::name);
  CULPRIT_CHECK(found != std::end(kThresholds));
  return *found;
}

// Puts a verdict together out of what was compared.
class Judge {
 public:
  bool Above(std::string_view threshold, std::string_view shown, std::optional<double> value) {
    return Compare(threshold, shown, value, true);
  }
  bool Below(std::string_view threshold, std::string_view shown, std::optional<double> value) {
    return Compare(threshold, shown, value, false);
  }
  void Also(std::string text) { Join(std::move(text)); }

  Verdict Give(std::string_view id, std::string_view text, std::string_view next) {
    return {id, text, std::move(because_), std::move(names_), next};
  }

 private:
  bool Compare(std::string_view name, std::string_view shown, std::optional<double> value,
               bool above) {
    const Threshold& threshold = Of(name);
    if (!value || (above ? *value <= threshold.value : *value >= threshold.value)) return false;
    const bool large = threshold.value >= 1000;
    const std::string_view blank = threshold.unit.empty() || threshold.unit == "/s" ? "" : " ";
    const auto number = [&](double n, int digits) {
      return large ? FormatCount(static_cast<std::uint64_t>(n)) : fmt::format("{:.{}f}", n, digits);
    };
    const int digits = threshold.unit == "%" ? 1 : 2;
    Join(fmt::format("{} {}{}{} {} {}{}{}", shown, number(*value, digits), blank, threshold.unit,
                     above ? '>' : '<', number(threshold.value, threshold.unit == "%" ? 0 : 2),
                     blank, threshold.unit));
    names_.push_back(name);
    return true;
  }
  void Join(std::string text) { because_ += (because_.empty() ? "" : " and ") + text; }

  std::string because_;
  std::vector<std::string_view> names_;
};

void TopDown(const Metrics::TopDown& t, const Metrics& m, std::vector<Verdict>& verdicts) {
  Judge judge;
  const double worst = std::max({t.backend_bound, t.frontend_bound, t.bad_speculation});
  if (judge.Above("retiring_pct", "retiring slots", t.retiring)) {
    verdicts.push_back(judge.Give("compute_bound", "compute bound", "culprit flame"));
  } else if (worst == t.backend_bound &&
             judge.Above("backend_bound_pct", "back-end bound slots", t.backend_bound)) {
    const bool memory = judge.Above("llc_miss_pct", "LLC misses", m.llc_miss_pct);
    verdicts.push_back(
        memory ? judge.Give("memory_bound", "memory bound", "numastat, culprit flame")
               : judge.Give("backend_bound", "bound by data or execution units (back end)",
                            "culprit flame"));
  } else if (worst == t.frontend_bound &&
             judge.Above("frontend_bound_pct", "front-end bound slots", t.frontend_bound)) {
    verdicts.push_back(judge.Give("frontend_bound", "bound by fetching instructions (front end)",
                                  "culprit flame"));
  } else if (worst == t.bad_speculation &&
             judge.Above("bad_speculation_pct", "slots lost to wrong guesses", t.bad_speculation)) {
    verdicts.push_back(judge.Give("branch_bound", "branch bound", "culprit flame"));
  }
}

void ByRatios(const Metrics& m, std::vector<Verdict>& verdicts) {
  if (Judge judge; judge.Below("ipc_memory", "IPC", m.ipc)) {
    const bool misses =
        judge.Above("llc_miss_pct", "LLC misses", m.llc_miss_pct) ||
        (!m.llc_miss_pct && judge.Above("llc_miss_pct", "cache misses", m.cache_miss_pct));
    if (misses || judge.Above("backend_stall_pct", "back-end stalls", m.backend_stall_pct)) {
      verdicts.push_back(judge.Give("memory_bound", "memory bound", "numastat, culprit flame"));
    }
  }
  if (Judge judge; judge.Above("branch_miss_pct", "branch misses", m.branch_miss_pct)) {
    verdicts.push_back(judge.Give("branch_bound", "branch bound", "culprit flame"));
  }
  if (Judge judge; judge.Above("frontend_stall_pct", "front-end stalls", m.frontend_stall_pct)) {
    verdicts.push_back(judge.Give("frontend_bound", "bound by fetching instructions (front end)",
                                  "culprit flame"));
  }
  if (Judge judge; verdicts.empty() && judge.Above("ipc_compute", "IPC", m.ipc)) {
    verdicts.push_back(judge.Give("compute_bound", "compute bound", "culprit flame"));
  }
}

}  // namespace

std::span<const Threshold> Thresholds() { return kThresholds; }

std::vector<Verdict> Interpret(const Metrics& m) {
  std::vector<Verdict> verdicts;
  Judge idle;
  const std::optional<double> share = m.is_machine && m.cpus > 0 && m.cpus_used
                                          ? std::optional(100 * *m.cpus_used / m.cpus)
                                          : std::nullopt;
  if (m.is_machine ? idle.Below("idle_machine_pct", "CPUs busy", share)
                   : idle.Below("idle_cpus", "on CPU", m.cpus_used)) {
    verdicts.push_back(idle.Give(
        "idle", m.is_machine ? "mostly idle" : "mostly waiting",
        m.is_machine ? "" : "culprit record, then culprit explain or culprit flame --type wait"));
  }
  Judge lock;
  const bool many = lock.Above("switches_per_s", "context switches", m.switches_per_s) ||
                    (!m.switches_per_s &&
                     lock.Above("switches_per_s", "involuntary switches", m.involuntary_per_s));
  const bool kernel = m.kernel_time_pct.value_or(0) > Of("kernel_time_pct").value;
  if (many && lock.Above("kernel_time_pct", "kernel time", m.kernel_time_pct)) {
    verdicts.push_back(lock.Give("lock_bound", "lock bound (threads hand over to one another)",
                                 "culprit record, then culprit explain"));
  } else if (Judge judge; verdicts.empty() && kernel &&
                          judge.Above("kernel_time_pct", "kernel time", m.kernel_time_pct)) {
    verdicts.push_back(judge.Give("kernel_bound", "mostly in the kernel", "culprit flame"));
  }
  const std::size_t others = verdicts.size();
  std::vector<Verdict> pipeline;
  if (m.top_down) TopDown(*m.top_down, m, pipeline);
  if (pipeline.empty()) ByRatios(m, pipeline);
  verdicts.insert(verdicts.end(), pipeline.begin(), pipeline.end());
  const bool is_idle = others > 0 && verdicts.front().id == "idle";
  if (verdicts.size() > others || is_idle) return verdicts;
  Verdict rest{"unclear", "no single thing stands out", "", {}, "culprit flame"};
  if (m.ipc) {
    rest.because = fmt::format("IPC {:.2f}, and no threshold is passed", *m.ipc);
    rest.thresholds = {"ipc_compute", "ipc_memory"};
  } else {
    rest = {"not_known",
            "whether memory, branches or instructions take its time is not known",
            "cycles and instructions are not counted here",
            {},
            ""};
  }
  verdicts.push_back(std::move(rest));
  return verdicts;
}

}  // namespace culprit::stat
