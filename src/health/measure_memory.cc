// Memory: what is left, swap, reclaim, dirty pages, huge pages, errors of the DIMMs, NUMA.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "health/measures.h"
#include "health/pressure.h"

namespace culprit::health {
namespace {

// Rate of a vmstat counter, or says why there is none.
std::optional<double> VmstatRate(const Context& context, Readings& out, std::string_view name) {
  if (!context.NeedFile(out, "/proc/vmstat") || !context.NeedTwo(out)) return std::nullopt;
  const auto delta = VmstatDelta(context, name);
  if (!delta) {
    if (!kernel::FindValue(context.after.vmstat, name)) {
      out.NotApplicable(fmt::format("this kernel does not count {}", name));
    } else {
      out.Unknown(fmt::format("the counter {} fell between the samples", name));
    }
    return std::nullopt;
  }
  return *delta / context.seconds;
}

// Sum of the counters of every zone: allocstall_dma, allocstall_normal, ... (one name before 4.10).
std::optional<double> SumDelta(const Context& context, std::string_view prefix) {
  std::optional<double> sum;
  for (const auto& now : context.after.vmstat) {
    if (!now.name.starts_with(prefix)) continue;
    const auto delta = Delta(kernel::FindValue(context.before.vmstat, now.name), now.value);
    if (delta) sum = sum.value_or(0) + *delta;
  }
  return sum;
}

std::string LargestUsers(const Context& context) {
  std::string text;
  for (const std::string_view name :
       {"AnonPages", "Shmem", "SUnreclaim", "PageTables", "Hugetlb"}) {
    const auto bytes = MeminfoBytes(context, name);
    if (bytes && *bytes > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, FormatBytes(*bytes));
  }
  return text;
}

// Cgroups that met their memory limit in the sample: memory.events of v2, memory.failcnt of v1.
void TellFullCgroups(const Context& context, Reading& reading) {
  std::vector<std::pair<double, const CgroupRow*>> full;
  for (const CgroupRow& row : context.after.cgroups) {
    const CgroupRow* before = FindCgroup(context.before.cgroups, row);
    if (before == nullptr || !row.memory_limit_bytes) continue;
    const double times = Delta(before->max_events, row.max_events).value_or(0) +
                         Delta(before->high_events, row.high_events).value_or(0);
    if (times > 0) full.emplace_back(times, &row);
  }
  std::ranges::stable_sort(full, std::greater<>(), [](const auto& entry) { return entry.first; });
  if (full.size() > 3) full.resize(3);
  for (const auto& [times, row] : full)
    reading.evidence.push_back(fmt::format("cgroup {} met its memory limit of {} {:.0f} times/s",
                                           row->path, FormatBytes(*row->memory_limit_bytes),
                                           times / context.seconds));
  if (full.empty()) return;
  reading.advice = fmt::format("raise the memory limit of cgroup {}, or give its job less to do",
                               full.front().second->path);
}

bool NeedMeminfo(const Context& context, Readings& out, std::string_view name) {
  if (!context.NeedFile(out, "/proc/meminfo")) return false;
  if (MeminfoBytes(context, name)) return true;
  out.NotApplicable(fmt::format("/proc/meminfo has no {}", name));
  return false;
}

}  // namespace

namespace {

// "dimm3 CPU_SrcID#0_MC#1_Chan#0_DIMM#0: 12 corrected" for each DIMM of a controller that counted
// errors in the sample; before it, for want of any, those since boot.
std::vector<std::string> FaultyDimms(const Context& context, const std::string& controller) {
  std::vector<std::string> lines;
  const std::string folder = "/sys/devices/system/edac/mc/" + controller + "/dimm";
  context.after.texts.Under(folder, [&](auto path, auto text) {
    const bool ce = path.ends_with("/dimm_ce_count");
    if (!ce && !path.ends_with("/dimm_ue_count")) return;
    const auto now = kernel::ParseSingle(text);
    const auto delta = Delta(kernel::ParseSingle(context.before.texts.Get(path)), now);
    if (!now || *now == 0) return;
    const std::string dimm(path.substr(0, path.rfind('/')));
    lines.push_back(
        fmt::format("{} {}: {:.0f} {} in the sample, {} since boot", dimm.substr(folder.size() - 4),
                    TrimBlanks(context.after.texts.Get(dimm + "/dimm_label")),
                    context.two ? delta.value_or(0) : 0, ce ? "corrected" : "UNCORRECTED", *now));
  });
  return lines;
}

}  // namespace

void MeasureHostEcc(const Context& context, Readings& out) {
  bool any = false;
  std::uint64_t ce_total = 0, ue_total = 0;
  context.after.texts.Under("/sys/devices/system/edac/mc/mc", [&](auto path, auto text) {
    const bool ce = path.ends_with("/ce_count");
    if (!ce && !path.ends_with("/ue_count")) return;
    const auto now = kernel::ParseSingle(text);
    if (!now) return;
    any = true;
    (ce ? ce_total : ue_total) += *now;
    const auto delta = Delta(kernel::ParseSingle(context.before.texts.Get(path)), now);
    if (!context.two || !delta || *delta <= 0) return;
    const std::string controller(path.substr(28, path.find('/', 28) - 28));
    Reading& reading = out.Value(controller, *delta);
    reading.status = ce ? FindingStatus::kWarning : FindingStatus::kCritical;
    reading.summary = fmt::format("{:.0f} {} memory errors in {:.1f} s on {}", *delta,
                                  ce ? "corrected" : "UNCORRECTED", context.seconds, controller);
    reading.evidence = FaultyDimms(context, controller);
  });
  if (!any) {
    out.NotApplicable(
        "no EDAC driver reports the memory controllers (a virtual machine, or not loaded)");
    return;
  }
  if (!out.rows().empty()) return;
  Reading& reading = out.Value("", 0);
  reading.summary = fmt::format("no new memory errors; since boot {} corrected, {} uncorrected",
                                ce_total, ue_total);
  if (ue_total > 0) {
    reading.status = FindingStatus::kWarning;
    reading.value = static_cast<double>(ue_total);
    reading.advice =
        "an uncorrected error since boot: find the DIMM (ras-mc-ctl --errors) and replace it";
  }
}

void MeasureAvailable(const Context& context, Readings& out) {
  if (!NeedMeminfo(context, out, "MemTotal")) return;
  const double total = static_cast<double>(*MeminfoBytes(context, "MemTotal"));
  const auto available = MeminfoBytes(context, "MemAvailable");
  if (!available) {
    out.Unknown("/proc/meminfo has no MemAvailable (before 3.14)");
    return;
  }
  if (total <= 0) {
    out.Unknown("/proc/meminfo says that MemTotal is 0");
    return;
  }
  Reading& reading = out.Value("", 100 * static_cast<double>(*available) / total);
  reading.evidence.push_back(fmt::format("{} available of {}", FormatBytes(*available),
                                         FormatBytes(static_cast<std::uint64_t>(total))));
  if (auto users = LargestUsers(context); !users.empty()) reading.evidence.push_back(users);
  // A tenth of two terabytes is no shortage.
  constexpr std::uint64_t kEnoughBytes = std::uint64_t{32} << 30;
  if (*available >= kEnoughBytes) reading.worst = FindingStatus::kOk;
}

void MeasureSwapTraffic(const Context& context, Readings& out) {
  const auto out_rate = VmstatRate(context, out, "pswpout");
  if (!out_rate) return;
  const double in_rate = VmstatDelta(context, "pswpin").value_or(0) / context.seconds;
  Reading& reading = out.Value("", *out_rate);
  reading.evidence.push_back(
      fmt::format("{:.1f} pages/s out, {:.1f} pages/s in", *out_rate, in_rate));
  // Pushing cold pages out without wanting them back is what swap is for.
  if (in_rate < 1) reading.worst = FindingStatus::kWarning;
  TellFullCgroups(context, reading);
}

void MeasureSwapUsed(const Context& context, Readings& out) {
  if (!NeedMeminfo(context, out, "SwapTotal")) return;
  const auto total = *MeminfoBytes(context, "SwapTotal");
  if (total == 0) {
    out.NotApplicable("no swap is configured");
    return;
  }
  const auto free = std::min(total, MeminfoBytes(context, "SwapFree").value_or(0));
  Reading& reading =
      out.Value("", 100 * static_cast<double>(total - free) / static_cast<double>(total));
  reading.evidence.push_back(
      fmt::format("{} of {} used", FormatBytes(total - free), FormatBytes(total)));
  const double traffic =
      VmstatDelta(context, "pswpin").value_or(0) + VmstatDelta(context, "pswpout").value_or(0);
  if (context.two && traffic == 0) {
    reading.worst = FindingStatus::kOk;
    reading.evidence.push_back("no swap traffic: cold pages, no harm");
  }
}

void MeasureReclaim(const Context& context, Readings& out) {
  if (!context.NeedFile(out, "/proc/vmstat") || !context.NeedTwo(out)) return;
  const auto direct = VmstatDelta(context, "pgscan_direct");
  const auto stalls = SumDelta(context, "allocstall");
  if (!direct && !stalls) {
    out.NotApplicable("this kernel does not count direct reclaim");
    return;
  }
  const double kswapd = VmstatDelta(context, "pgscan_kswapd").value_or(0);
  const double throttled = VmstatDelta(context, "pgscan_direct_throttle").value_or(0);
  const double scanned = direct.value_or(0) + kswapd;
  Reading& reading = out.Value("", scanned > 0 ? 100 * direct.value_or(0) / scanned : 0);
  reading.evidence.push_back(fmt::format(
      "{:.0f} stalls/s of allocations, pages scanned: {:.0f}/s direct, {:.0f}/s by kswapd",
      stalls.value_or(0) / context.seconds, direct.value_or(0) / context.seconds,
      kswapd / context.seconds));
  if (throttled > 0) {
    reading.status = FindingStatus::kCritical;
    reading.summary =
        fmt::format("{:.0f} tasks were throttled because reclaim cannot keep up", throttled);
  } else {
    // One burst on a cold cache is no fault: pressure has to say that tasks suffer.
    const auto psi = PressureNow(context, "/proc/pressure/memory", false);
    reading.worst = psi && psi->judged_pct < 5 ? FindingStatus::kOk : FindingStatus::kWarning;
  }
  TellFullCgroups(context, reading);
}

void MeasurePsiMemory(const Context& context, Readings& out) {
  MeasurePressure(context, out, "/proc/pressure/memory", false);
  if (out.rows().empty() || !out.rows().back().value) return;
  Reading& reading = out.rows().back();
  reading.worst = FindingStatus::kWarning;
  TellFullCgroups(context, reading);
  const auto full = PressureNow(context, "/proc/pressure/memory", true);
  if (!full) return;
  reading.evidence.push_back(
      fmt::format("full now {:.1f} %; average of 10 s {:.1f} %", full->now_pct, full->avg10_pct));
  if (full->judged_pct >= 10) reading.status = FindingStatus::kCritical;
}

void MeasureDirty(const Context& context, Readings& out) {
  if (!context.NeedFile(out, "/proc/vmstat")) return;
  const auto dirty = kernel::FindValue(context.after.vmstat, "nr_dirty");
  const auto writeback = kernel::FindValue(context.after.vmstat, "nr_writeback");
  const auto threshold = kernel::FindValue(context.after.vmstat, "nr_dirty_threshold");
  if (!dirty || !writeback || !threshold || *threshold == 0) {
    out.NotApplicable("this kernel does not show its dirty threshold");
    return;
  }
  const auto pages = *dirty + *writeback;
  Reading& reading =
      out.Value("", 100 * static_cast<double>(pages) / static_cast<double>(*threshold));
  reading.evidence.push_back(
      fmt::format("{} pages dirty or in writeback, writers are held at {}", pages, *threshold));
}

void MeasureRefaults(const Context& context, Readings& out) {
  const auto major = VmstatRate(context, out, "pgmajfault");
  if (!major) return;
  Reading& reading = out.Value("", *major);
  const auto refaults = SumDelta(context, "workingset_refault");
  if (refaults)
    reading.evidence.push_back(fmt::format("{:.0f} refaults/s", *refaults / context.seconds));
  // Weights that are mapped for the first time fault too; thrashing brings back what was there.
  if (refaults && *refaults / context.seconds < *major / 10) reading.worst = FindingStatus::kOk;
}

void MeasureCompaction(const Context& context, Readings& out) {
  if (!context.NeedFile(out, "/proc/vmstat") || !context.NeedTwo(out)) return;
  const auto stalls = VmstatDelta(context, "compact_stall");
  const auto fails = VmstatDelta(context, "compact_fail");
  if (!stalls || !fails) {
    out.NotApplicable("a kernel without memory compaction");
    return;
  }
  Reading& reading = out.Value("", *stalls > 0 ? std::min(100.0, 100 * *fails / *stalls) : 0);
  reading.evidence.push_back(
      fmt::format("{:.0f} stalls/s, {:.0f} huge page faults/s fell back to small pages",
                  *stalls / context.seconds,
                  VmstatDelta(context, "thp_fault_fallback").value_or(0) / context.seconds));
  // Failing now and then harms nobody; it does when tasks stall on memory.
  const auto psi = PressureNow(context, "/proc/pressure/memory", false);
  reading.worst = psi && psi->judged_pct >= 5 ? FindingStatus::kWarning : FindingStatus::kOk;
}

void MeasureHugepages(const Context& context, Readings& out) {
  if (!NeedMeminfo(context, out, "HugePages_Free")) return;
  const double total = static_cast<double>(MeminfoBytes(context, "MemTotal").value_or(0));
  const auto free = *MeminfoBytes(context, "HugePages_Free");
  const auto size = MeminfoBytes(context, "Hugepagesize").value_or(0);
  if (total <= 0) {
    out.Unknown("/proc/meminfo has no MemTotal");
    return;
  }
  const double idle = static_cast<double>(free) * static_cast<double>(size);
  Reading& reading = out.Value("", 100 * idle / total);
  reading.worst = FindingStatus::kWarning;
  reading.evidence.push_back(
      fmt::format("{} pages of {} reserved and unused", free, FormatBytes(size)));
}

void MeasureBadRam(const Context& context, Readings& out) {
  if (!NeedMeminfo(context, out, "HardwareCorrupted")) return;
  const auto bytes = *MeminfoBytes(context, "HardwareCorrupted");
  out.Value("", static_cast<double>(bytes) / 1024).worst = FindingStatus::kWarning;
}

void MeasureNuma(const Context& context, Readings& out) {
  std::size_t nodes = 0;
  double missed = 0, hit = 0;
  context.after.texts.Under("/sys/devices/system/node/node", [&](auto path, auto text) {
    if (!path.ends_with("/numastat")) return;
    ++nodes;
    std::vector<kernel::NamedValue> now, before;
    kernel::ParseNamedValues(text, now);
    kernel::ParseNamedValues(context.before.texts.Get(path), before);
    const auto delta = [&](std::string_view name) {
      return Delta(kernel::FindValue(before, name), kernel::FindValue(now, name)).value_or(0);
    };
    missed += delta("numa_miss");
    hit += delta("numa_hit");
  });
  if (nodes < 2) {
    out.NotApplicable(nodes == 1 ? "one NUMA node" : "no NUMA information");
    return;
  }
  if (!context.NeedTwo(out)) return;
  Reading& reading = out.Value("", hit + missed > 0 ? 100 * missed / (hit + missed) : 0);
  reading.evidence.push_back(
      fmt::format("{:.0f} pages/s came from another node than wanted, on {} nodes",
                  missed / context.seconds, nodes));
}

}  // namespace culprit::health
