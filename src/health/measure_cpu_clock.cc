// How fast the CPUs may run: heat, governors, clocks.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "health/cpu_time.h"
#include "health/measures.h"

namespace culprit::health {

void MeasureCpuThermal(const Context& context, Readings& out) {
  bool any = false;
  double worst = 0;
  std::string worst_path;
  std::uint64_t since_boot = 0;
  context.after.texts.Under("/sys/devices/system/cpu/cpu", [&](auto path, auto text) {
    if (path.find("/thermal_throttle/") == path.npos || !path.ends_with("_count")) return;
    any = true;
    const auto now = kernel::ParseSingle(text);
    since_boot = std::max(since_boot, now.value_or(0));
    const auto delta = Delta(kernel::ParseSingle(context.before.texts.Get(path)), now).value_or(0);
    if (delta > worst) worst = delta, worst_path = path;
  });
  if (!any) {
    out.NotApplicable("no thermal_throttle counters (not an Intel CPU, or a virtual machine)");
    return;
  }
  if (!context.NeedTwo(out)) return;
  Reading& reading = out.Value("", worst / context.seconds * 60);
  if (!worst_path.empty()) reading.evidence.push_back(worst_path);
  if (since_boot > 0) {
    reading.evidence.push_back(fmt::format("{} since boot on the worst CPU", since_boot));
  }
}

namespace {

// "/sys/devices/system/cpu/cpu12/..." -> 12
std::optional<std::uint32_t> CpuOf(std::string_view path) {
  path.remove_prefix(std::string_view("/sys/devices/system/cpu/cpu").size());
  return ParseInteger<std::uint32_t>(path.substr(0, path.find('/')));
}

}  // namespace

void MeasureFrequency(const Context& context, Readings& out) {
  constexpr double kSlowMhz = 1498;  // what a busy CPU of a GPU node is above (gcm)
  std::map<std::string, std::size_t> governors;
  std::map<std::uint32_t, double> mhz_of;
  context.after.texts.Under("/sys/devices/system/cpu/cpu", [&](auto path, auto text) {
    if (path.ends_with("/scaling_governor")) ++governors[std::string(TrimBlanks(text))];
    const auto khz = kernel::ParseSingle(text);
    if (const auto cpu = CpuOf(path); path.ends_with("/scaling_cur_freq") && cpu && khz && *khz > 0)
      mhz_of[*cpu] = static_cast<double>(*khz) / 1000;
  });
  if (governors.empty()) {
    out.NotApplicable("no cpufreq (a virtual machine, or the firmware decides alone)");
    return;
  }
  std::size_t others = 0;
  std::string list;
  for (const auto& [name, count] : governors) {
    if (name != "performance") others += count;
    list += fmt::format("{}{} x {}", list.empty() ? "" : ", ", count, name);
  }
  Reading& reading = out.Value("", static_cast<double>(others));
  reading.worst = FindingStatus::kWarning;
  reading.summary = others == 0
                        ? "every CPU has the performance governor"
                        : fmt::format("{} CPUs have another governor than performance", others);
  reading.evidence.push_back("governors: " + list);
  if (!mhz_of.empty()) {
    const auto lowest =
        std::ranges::min_element(mhz_of, {}, [](const auto& cpu) { return cpu.second; });
    reading.evidence.push_back(
        fmt::format("lowest clock now {:.0f} MHz (CPU {})", lowest->second, lowest->first));
  }
  // An idle CPU may be as slow as it likes.
  std::size_t slow = 0;
  std::pair<double, std::uint32_t> slowest{kSlowMhz, 0};
  for (const auto& [cpu, shares] : SharesOfCpus(context.before.stat, context.after.stat)) {
    const auto mhz = mhz_of.find(cpu);
    if (mhz == mhz_of.end() || mhz->second >= kSlowMhz || shares.busy_pct < 80) continue;
    ++slow;
    slowest = std::min(slowest, {mhz->second, cpu});
  }
  if (slow == 0) return;
  Reading& busy = out.Value("busy CPUs", static_cast<double>(slow));
  busy.worst = FindingStatus::kWarning;
  busy.summary = fmt::format("{} busy CPUs run below {:.0f} MHz, CPU {} at {:.0f} MHz", slow,
                             kSlowMhz, slowest.second, slowest.first);
  busy.advice = "heat or a power limit: see cpu.thermal, then the BMC and the firmware's profile";
}

}  // namespace culprit::health
