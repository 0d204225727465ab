// CPU: time by kind, waiting for a CPU, load told apart, throttling by cgroups.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "health/cpu_time.h"
#include "health/load.h"
#include "health/measures.h"
#include "health/pressure.h"

namespace culprit::health {
namespace {

// Time of all CPUs in the interval, or says why there is none.
std::optional<CpuShares> NodeShares(const Context& context, Readings& out) {
  if (!context.NeedTwo(out)) return std::nullopt;
  if (context.after.stat.cpus.empty()) {
    out.Unknown("/proc/stat has no line of a CPU");
    return std::nullopt;
  }
  auto shares = SharesOfNode(context.before.stat, context.after.stat);
  if (!shares) out.Unknown("the CPU counters fell or stood still between the samples");
  return shares;
}

std::string Breakdown(const CpuShares& s) {
  return fmt::format(
      "user {:.1f} %, system {:.1f} %, iowait {:.1f} %, irq+softirq {:.1f} %, steal {:.1f} %",
      s.user_pct + s.nice_pct, s.system_pct, s.iowait_pct, s.irq_pct + s.softirq_pct, s.steal_pct);
}

// The cgroup, deepest first, that used the most CPU in the interval.
std::string BusiestCgroup(const Context& context) {
  double most = 0;
  std::string name;
  for (const CgroupRow& row : context.after.cgroups) {
    const CgroupRow* before = FindCgroup(context.before.cgroups, row);
    if (before == nullptr || row.path == "/") continue;
    const auto used = Delta(before->usage_us, row.usage_us);
    if (used && *used >= most && *used > 0) most = *used, name = row.path;
  }
  if (name.empty()) return "";
  return fmt::format("busiest cgroup: {} with {:.2f} CPUs", name, most / 1e6 / context.seconds);
}

std::string RunningNames(const TaskScan& tasks) {
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [comm, count] : tasks.running) sorted.emplace_back(count, comm);
  std::ranges::sort(sorted, std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, sorted.size()); ++i) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", sorted[i].first, sorted[i].second);
  }
  return text;
}

}  // namespace

void MeasureCpuBusy(const Context& context, Readings& out) {
  const auto shares = NodeShares(context, out);
  if (!shares) return;
  Reading& reading = out.Value("", shares->busy_pct);
  reading.evidence.push_back(Breakdown(*shares));
  if (shares->invalid_cpus > 0) {
    reading.evidence.push_back(fmt::format(
        "{} CPUs left out: their counters fell, or they came or went", shares->invalid_cpus));
  }
  if (auto cgroup = BusiestCgroup(context); !cgroup.empty()) reading.evidence.push_back(cgroup);
  // Busy CPUs are what a node is for; it is bad only when tasks wait for one.
  const auto wait = PressureNow(context, "/proc/pressure/cpu", false);
  const bool waiting =
      wait ? wait->judged_pct >= 20 : context.after.tasks.CountOf('R') > 2 * context.cpus;
  if (!waiting) {
    reading.worst = FindingStatus::kOk;
    if (shares->busy_pct >= 85)
      reading.summary = "busy, and nothing waits for a CPU: that is the goal";
  } else if (auto names = RunningNames(context.after.tasks); !names.empty()) {
    reading.evidence.push_back("running or runnable: " + names);
  }
}

void MeasureRunQueue(const Context& context, Readings& out) {
  if (!context.NeedFile(out, "/proc/schedstat",
                        "a kernel without SCHEDSTATS; cpu.psi tells the same")) {
    return;
  }
  if (!context.NeedTwo(out)) return;
  std::vector<kernel::CpuSchedStat> before, after;
  if (!kernel::ParseSchedStat(context.before.texts.Get("/proc/schedstat"), before) ||
      !kernel::ParseSchedStat(context.after.texts.Get("/proc/schedstat"), after)) {
    out.Unknown("/proc/schedstat has no line of a CPU");
    return;
  }
  double waited_ns = 0;
  std::size_t valid = 0;
  std::pair<double, std::uint32_t> worst{0, 0};
  for (const auto& cpu : after) {
    const auto old = std::ranges::find(before, cpu.cpu, &kernel::CpuSchedStat::cpu);
    if (old == before.end() || cpu.wait_ns < old->wait_ns) continue;
    const auto delta = static_cast<double>(cpu.wait_ns - old->wait_ns);
    waited_ns += delta;
    ++valid;
    worst = std::max(worst, {delta, cpu.cpu});
  }
  if (valid == 0) {
    out.Unknown("the run queue counters fell between the samples");
    return;
  }
  const double share = 100 * waited_ns / 1e9 / context.seconds / static_cast<double>(valid);
  Reading& reading = out.Value("", share);
  reading.evidence.push_back(fmt::format("CPU {} the worst: its tasks waited {:.2f} s in {:.2f} s",
                                         worst.second, worst.first / 1e9, context.seconds));
  if (auto names = RunningNames(context.after.tasks); !names.empty()) {
    reading.evidence.push_back("running or runnable: " + names);
  }
}

void MeasureLoad(const Context& context, Readings& out) {
  if (!context.NeedFile(out, "/proc/loadavg")) return;
  const auto load = kernel::ParseLoadAverage(context.after.texts.Get("/proc/loadavg"));
  if (!load) {
    out.Unknown("/proc/loadavg cannot be understood");
    return;
  }
  if (context.after.stat.cpus.empty()) {
    Reading& unknown = out.Unknown(
        "/proc/stat has no line of a CPU, and a load means nothing without their number");
    unknown.evidence.push_back(fmt::format(
        "load {:.2f} {:.2f} {:.2f}; now {} tasks in R (running or runnable) and {} in D",
        load->load_1min, load->load_5min, load->load_15min, context.after.tasks.CountOf('R'),
        context.after.tasks.CountOf('D')));
    return;
  }
  Reading& reading = out.Value("", load->load_15min / static_cast<double>(context.cpus));
  ExplainLoad(context, *load, reading);
}

void MeasureBlocked(const Context& context, Readings& out) {
  const auto blocked = context.after.stat.procs_blocked;
  if (!blocked) {
    out.Unknown("/proc/stat has no procs_blocked");
    return;
  }
  Reading& reading = out.Value("", static_cast<double>(*blocked));
  reading.worst = FindingStatus::kOk;
  if (context.after.tasks.whole) {
    reading.evidence.push_back(fmt::format(
        "{} tasks are in D by their states (the kernel's number counts those in iowait alone)",
        context.after.tasks.CountOf('D')));
  }
}

void MeasurePsiCpu(const Context& context, Readings& out) {
  MeasurePressure(context, out, "/proc/pressure/cpu", false);
  for (Reading& reading : out.rows()) {
    if (!reading.value) continue;
    if (*reading.value >= 1) {
      reading.summary = fmt::format(
          "tasks waited for a CPU in {:.0f} % of the time; {} are runnable on {} CPUs now",
          *reading.value, context.after.tasks.CountOf('R'), context.cpus);
    }
    if (auto names = RunningNames(context.after.tasks); !names.empty()) {
      reading.evidence.push_back("running or runnable: " + names);
    }
    if (auto cgroup = BusiestCgroup(context); !cgroup.empty()) reading.evidence.push_back(cgroup);
  }
}

void MeasureHotCpu(const Context& context, Readings& out) {
  if (!context.NeedTwo(out)) return;
  double worst = -1;
  std::uint32_t worst_cpu = 0;
  for (const auto& [cpu, shares] : SharesOfCpus(context.before.stat, context.after.stat)) {
    const double share = shares.irq_pct + shares.softirq_pct;
    if (share > worst) worst = share, worst_cpu = cpu;
  }
  if (worst < 0) {
    out.Unknown("no CPU has counters in both samples");
    return;
  }
  Reading& reading = out.Value(fmt::format("CPU {}", worst_cpu), worst);
  // Which vector it was, by count on that CPU.
  std::vector<kernel::SoftirqLine> before, after;
  if (!kernel::ParseSoftirqs(context.before.texts.Get("/proc/softirqs"), before) ||
      !kernel::ParseSoftirqs(context.after.texts.Get("/proc/softirqs"), after)) {
    return;
  }
  double most = 0;
  std::string name;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].name != after[i].name || worst_cpu >= after[i].by_cpu.size() ||
        worst_cpu >= before[i].by_cpu.size()) {
      continue;
    }
    const auto count = Delta(before[i].by_cpu[worst_cpu], after[i].by_cpu[worst_cpu]).value_or(0);
    if (count > most) most = count, name = after[i].name;
  }
  if (!name.empty()) {
    reading.evidence.push_back(
        fmt::format("most softirqs there: {} with {:.0f}/s", name, most / context.seconds));
  }
  const std::string isolated{
      TrimBlanks(context.after.texts.Get("/sys/devices/system/cpu/isolated"))};
  if (!isolated.empty()) reading.evidence.push_back("isolated CPUs: " + isolated);
}

void MeasureSteal(const Context& context, Readings& out) {
  const auto shares = NodeShares(context, out);
  if (!shares) return;
  if (!context.after.stat.cpus.front().ticks.has(kernel::CpuColumn::kSteal)) {
    out.NotApplicable("this kernel does not count steal time");
    return;
  }
  out.Value("", shares->steal_pct);
}

void MeasureIowait(const Context& context, Readings& out) {
  const auto shares = NodeShares(context, out);
  if (!shares) return;
  Reading& reading = out.Value("", shares->iowait_pct);
  reading.worst = FindingStatus::kWarning;
}

void MeasureThrottling(const Context& context, Readings& out) {
  if (context.after.cgroups.empty()) {
    out.NotApplicable("no cgroup hierarchy is mounted at /sys/fs/cgroup");
    return;
  }
  if (!context.NeedTwo(out)) return;
  bool any = false;
  for (const CgroupRow& row : context.after.cgroups) {
    const CgroupRow* before = FindCgroup(context.before.cgroups, row);
    if (before == nullptr) continue;
    const auto periods = Delta(before->periods, row.periods);
    const auto throttled = Delta(before->throttled_periods, row.throttled_periods);
    if (!periods || !throttled) continue;
    any = true;
    if (*periods == 0) continue;
    Reading& reading = out.Value("cgroup " + row.path, 100 * std::min(1.0, *throttled / *periods));
    // A share of fewer than ten periods is chance.
    if (*periods < 5) reading.worst = FindingStatus::kOk;
    if (row.quota_us && row.period_us && *row.period_us > 0) {
      reading.evidence.push_back(
          fmt::format("limit {:.2f} CPUs",
                      static_cast<double>(*row.quota_us) / static_cast<double>(*row.period_us)));
    }
    if (const auto used = Delta(before->usage_us, row.usage_us)) {
      reading.evidence.push_back(fmt::format("used {:.2f} CPUs", *used / 1e6 / context.seconds));
    }
    if (const auto waited = Delta(before->throttled_us, row.throttled_us)) {
      reading.evidence.push_back(
          fmt::format("held back {:.2f} s in {:.2f} s, in {:.0f} of {:.0f} periods", *waited / 1e6,
                      context.seconds, *throttled, *periods));
    }
    if (row.path == context.node.started_cgroup) {
      reading.evidence.push_back("culprit itself runs in this cgroup");
    }
  }
  if (!out.rows().empty()) return;
  if (any) {
    out.Value("", 0).summary = "no cgroup with a CPU limit ran";
  } else {
    out.NotApplicable(
        "no cgroup counts throttling (the cpu controller is off, or there is the root alone)");
  }
}

}  // namespace culprit::health
