// GPUs: are they all there, does the driver answer, and what NVML says of each.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "health/measures.h"
#include "health/nvml.h"

namespace culprit::health {
namespace {

std::string_view DriverText(const Context& context) {
  return context.after.texts.Get("@nvml/driver");
}

// The GPUs that NVML told, or says why there are none.
std::vector<Gpu> NeedGpus(const Context& context, Readings& out) {
  auto gpus = ParseGpus(context.after.texts);
  std::erase_if(gpus, [](const Gpu& gpu) { return gpu.after.contains("lost"); });
  if (!gpus.empty()) return gpus;
  const auto on_bus = PciGpus(context.after.texts);
  if (on_bus.empty()) {
    out.NotApplicable("no NVIDIA GPU on this node");
  } else if (!context.node.live) {
    out.NotApplicable("a captured tree has no driver to ask");
  } else if (DriverText(context).starts_with("none")) {
    out.Unknown(fmt::format("{} GPUs on the PCI bus, and no libnvidia-ml.so.1", on_bus.size()));
  } else {
    out.Unknown("NVML told nothing: see gpu.driver");
  }
  return {};
}

void NoValue(Readings& out, std::string_view what) {
  if (out.rows().empty()) out.NotApplicable(fmt::format("no GPU here tells {}", what));
}

}  // namespace

void MeasureGpuCount(const Context& context, Readings& out) {
  const auto on_bus = PciGpus(context.after.texts);
  const auto gpus = ParseGpus(context.after.texts);
  const auto lost = static_cast<std::size_t>(
      std::ranges::count_if(gpus, [](const Gpu& gpu) { return gpu.after.contains("lost"); }));
  const std::size_t answering = gpus.size() - lost;
  std::optional<std::uint64_t> wanted;
  if (context.baseline != nullptr) {
    if (const auto at = context.baseline->find("gpu.count"); at != context.baseline->end())
      wanted = ParseInteger<std::uint64_t>(at->second);
  }
  const bool nvml = DriverText(context).starts_with("version");
  if (on_bus.empty() && gpus.empty() && wanted.value_or(0) == 0) {
    out.NotApplicable("no NVIDIA GPU on this node");
    return;
  }
  Reading& reading = out.Value("", static_cast<double>(nvml ? answering : on_bus.size()));
  reading.worst = FindingStatus::kOk;
  reading.summary =
      fmt::format("{} GPUs answer, {} are on the PCI bus{}",
                  nvml ? std::to_string(answering) : "unknown how many", on_bus.size(),
                  wanted ? fmt::format(", the baseline has {}", *wanted) : "");
  for (const Gpu& gpu : gpus) {
    if (gpu.after.contains("lost"))
      reading.evidence.push_back(gpu.Name() + ": " + gpu.after.find("lost")->second);
  }
  for (const std::string& pci : on_bus) {
    if (nvml && std::ranges::find(gpus, pci, &Gpu::pci) == gpus.end())
      reading.evidence.push_back(pci +
                                 " is on the bus and not in NVML (vfio, or the driver gave it up)");
  }
  const bool fewer = wanted && (nvml ? answering : on_bus.size()) < *wanted;
  if (lost > 0 || fewer || (nvml && !on_bus.empty() && answering < on_bus.size()))
    reading.status = FindingStatus::kCritical;
}

void MeasureGpuDriver(const Context& context, Readings& out) {
  for (const StuckProbe& probe : context.stuck) {
    if (probe.probe != "NVML") continue;
    if (probe.Is(StuckProbe::End::kNotStarted))
      return static_cast<void>(out.Unknown("the driver could not be asked: " + probe.at));
    Reading& reading = out.Value("", probe.after_s);
    reading.status = FindingStatus::kCritical;
    reading.summary = probe.Is(StuckProbe::End::kDied)
                          ? fmt::format("NVML crashed at {}", probe.at)
                          : fmt::format("the NVIDIA driver did not answer within {:.1f} s, at {}",
                                        probe.after_s, probe.at);
    const std::string_view stack = context.after.texts.Get("@nvml/stack");
    if (!stack.empty())
      reading.evidence.push_back("kernel stack of the probe: " + std::string(stack));
    return;
  }
  const std::string_view driver = DriverText(context);
  if (driver.starts_with("failed ")) {
    Reading& reading = out.Value("", 1);
    reading.status = FindingStatus::kCritical;
    reading.summary = "NVML does not start: " + std::string(driver.substr(7));
    return;
  }
  if (!driver.starts_with("version ")) {
    NeedGpus(context, out);
    return;
  }
  out.Value("", 0).summary = "driver " + std::string(driver.substr(8)) + " answers";
}

void MeasureGpuUtil(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto util = gpu.Number("util_pct");
    if (!util) continue;
    const double used = gpu.Number("memory_used").value_or(0);
    const double idle_s = context.HeldFor("gpu.util " + gpu.pci, *util == 0 && used > (1 << 30));
    Reading& reading = out.Value(gpu.Name(), *util);
    reading.evidence.push_back(fmt::format(
        "{} of memory held; a kernel was resident {:.0f} % of the time (not how full it was)",
        FormatBytes(static_cast<std::uint64_t>(used)), *util));
    if (idle_s >= 900) {
      reading.status = FindingStatus::kWarning;
      reading.summary =
          fmt::format("{} holds memory and ran nothing for {:.0f} s", gpu.Name(), idle_s);
    }
  }
  NoValue(out, "its utilization");
}

void MeasureGpuMemory(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto used = gpu.Number("memory_used");
    const auto total = gpu.Number("memory_total");
    const auto processes = gpu.Number("processes");
    if (!used || !total || *total <= 0) continue;
    Reading& reading = out.Value(gpu.Name(), 100 * *used / *total);
    reading.worst = FindingStatus::kOk;
    reading.evidence.push_back(fmt::format("{} of {} used by {} processes",
                                           FormatBytes(static_cast<std::uint64_t>(*used)),
                                           FormatBytes(static_cast<std::uint64_t>(*total)),
                                           processes ? fmt::format("{:.0f}", *processes) : "?"));
    for (const std::int32_t pid : gpu.Pids()) {
      const auto name = context.after.tasks.names.find(pid);
      if (name == context.after.tasks.names.end() || reading.evidence.size() > 8) continue;
      reading.evidence.push_back(fmt::format("{} (pid {})", name->second, pid));
    }
    // In a container other containers' processes are hidden.
    if (processes && *processes == 0 && *used > 15 * 1048576.0 && context.node.container.empty()) {
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("{} has {} in use and no process that NVML shows", gpu.Name(),
                                    FormatBytes(static_cast<std::uint64_t>(*used)));
    }
  }
  NoValue(out, "its memory");
}

void MeasureGpuThrottle(const Context& context, Readings& out) {
  constexpr std::pair<unsigned, std::string_view> kBits[] = {{0x8, "hardware slowdown"},
                                                             {0x20, "software thermal slowdown"},
                                                             {0x40, "hardware thermal slowdown"},
                                                             {0x80, "power brake"}};
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto reasons = gpu.Number("clock_reasons");
    if (!reasons) continue;
    const auto bits = static_cast<unsigned long long>(*reasons);
    std::string list;
    for (const auto& [bit, name] : kBits) {
      if ((bits & bit) != 0) list += (list.empty() ? "" : ", ") + std::string(name);
    }
    Reading& reading = out.Value(gpu.Name(), static_cast<double>(bits & 0xe8));
    reading.evidence.push_back(fmt::format("clock event reasons {:#x}, {:.0f} °C, {:.0f} W", bits,
                                           gpu.Number("temperature_c").value_or(0),
                                           gpu.Number("power_mw").value_or(0) / 1000));
    if (const auto ns = gpu.Grown("violation_thermal_ns"); ns && *ns > 0) {
      reading.evidence.push_back(
          fmt::format("held back by heat for {:.0f} ms of the sample", *ns / 1e6));
    }
    const double held_s = context.HeldFor("gpu.throttle " + gpu.pci, !list.empty());
    if (list.empty()) continue;
    reading.age_s = held_s;
    reading.status = held_s >= 600 ? FindingStatus::kCritical : FindingStatus::kWarning;
    reading.summary = fmt::format("{} is slowed down: {}", gpu.Name(), list);
  }
  NoValue(out, "why its clocks are low");
}

void MeasureGpuEcc(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto total = gpu.Number("ecc_uncorrected");
    if (!total) continue;
    const double delta = gpu.Grown("ecc_uncorrected").value_or(0);
    Reading& reading = out.Value(gpu.Name(), delta);
    reading.evidence.push_back(
        fmt::format("since the driver was loaded: {:.0f} uncorrected, {:.0f} corrected", *total,
                    gpu.Number("ecc_corrected").value_or(0)));
    if (delta > 0) {
      reading.status = FindingStatus::kCritical;
      reading.summary =
          fmt::format("{:.0f} uncorrected ECC errors on {} during the sample", delta, gpu.Name());
    } else if (*total > 0) {
      reading.status = FindingStatus::kWarning;
      reading.value = *total;
      reading.summary =
          fmt::format("{:.0f} uncorrected ECC errors on {} since the driver was loaded, none now",
                      *total, gpu.Name());
    }
  }
  NoValue(out, "ECC errors (ECC is off, or it has none)");
}

void MeasureGpuRemap(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto uncorrected = gpu.Number("remap_uncorrected");
    if (!uncorrected) continue;
    const bool failed = gpu.Number("remap_failed").value_or(0) > 0;
    const bool pending = gpu.Number("remap_pending").value_or(0) > 0;
    Reading& reading = out.Value(gpu.Name(), *uncorrected);
    reading.evidence.push_back(
        fmt::format("{:.0f} rows remapped after corrected, {:.0f} after uncorrected errors",
                    gpu.Number("remap_corrected").value_or(0), *uncorrected));
    if (failed) {
      reading.status = FindingStatus::kCritical;
      reading.summary = gpu.Name() + " could not remap a bad row";
      reading.advice = "drain the node and replace the GPU (RMA)";
    } else if (pending) {
      reading.status = FindingStatus::kWarning;
      reading.summary = gpu.Name() + " has a row to remap: running work is not harmed";
      reading.advice = "reset the GPU in the next window";
    }
  }
  NoValue(out, "remapped rows");
}

void MeasureGpuPcieLink(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto width = gpu.Number("pcie_width"), width_max = gpu.Number("pcie_width_max");
    const auto gen = gpu.Number("pcie_gen"), gen_max = gpu.Number("pcie_gen_max");
    if (!width || !width_max) continue;
    Reading& reading = out.Value(gpu.Name(), *width);
    reading.evidence.push_back(fmt::format("x{:.0f} of x{:.0f}, Gen{:.0f} of Gen{:.0f}, P{:.0f}",
                                           *width, *width_max, gen.value_or(0), gen_max.value_or(0),
                                           gpu.Number("pstate").value_or(-1)));
    reading.worst = FindingStatus::kOk;
    if (*width < *width_max) {
      reading.status = FindingStatus::kCritical;
      reading.summary =
          fmt::format("{} runs at x{:.0f} instead of x{:.0f}", gpu.Name(), *width, *width_max);
    } else if (gen && gen_max && *gen < *gen_max && gpu.Number("pstate") == 0.0) {
      // An idle GPU lowers its link to save power; in P0 it has no reason to.
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("{} runs at PCIe Gen{:.0f} instead of Gen{:.0f} in P0",
                                    gpu.Name(), *gen, *gen_max);
    }
  }
  NoValue(out, "its PCIe link");
}

void MeasureGpuPcieErrors(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto replays = gpu.Grown("pcie_replays");
    if (!replays || context.seconds <= 0) continue;
    Reading& reading = out.Value(gpu.Name(), *replays * 60 / context.seconds);
    const std::string folder = "/sys/bus/pci/devices/" + gpu.pci;
    for (const std::string_view file : {"/aer_dev_fatal", "/aer_dev_nonfatal"}) {
      std::vector<kernel::NamedValue> before, after;
      kernel::ParseNamedValues(context.before.texts.Get(folder + std::string(file)), before);
      kernel::ParseNamedValues(context.after.texts.Get(folder + std::string(file)), after);
      const double delta =
          after.empty() ? 0
                        : Delta(before.empty() ? std::nullopt : std::optional(before.back().value),
                                after.back().value)
                              .value_or(0);
      if (delta <= 0) continue;
      reading.status = FindingStatus::kCritical;
      reading.summary =
          fmt::format("{}: {:.0f} new PCIe errors ({})", gpu.Name(), delta, file.substr(1));
    }
  }
  NoValue(out, "PCIe replays");
}

void MeasureNvlink(const Context& context, Readings& out) {
  for (const Gpu& gpu : NeedGpus(context, out)) {
    const auto links = gpu.Number("nvlinks"), active = gpu.Number("nvlinks_active");
    if (!links || !active || *active == 0) continue;
    const double hard =
        gpu.Grown("nvlink_replay").value_or(0) + gpu.Grown("nvlink_recovery").value_or(0);
    const double crc =
        gpu.Grown("nvlink_crc_flit").value_or(0) + gpu.Grown("nvlink_crc_data").value_or(0);
    Reading& reading = out.Value(gpu.Name(), hard);
    reading.evidence.push_back(
        fmt::format("{:.0f} of {:.0f} links active; in the sample {:.0f} replays and recoveries, "
                    "{:.0f} CRC errors",
                    *active, *links, hard, crc));
    if (hard > 0 || (context.seconds > 0 && crc / context.seconds >= 100)) {
      reading.status = FindingStatus::kCritical;
      reading.summary = gpu.Name() + " has NVLink errors now";
    } else if (*active < *links) {
      reading.status = FindingStatus::kWarning;
      reading.summary =
          fmt::format("{} has {:.0f} of {:.0f} NVLinks active", gpu.Name(), *active, *links);
    }
  }
  NoValue(out, "NVLinks that are in use (PCIe cards have none)");
}

void MeasureGpuUniformity(const Context& context, Readings& out) {
  const auto gpus = NeedGpus(context, out);
  if (gpus.empty()) return;
  std::string differing;
  std::vector<std::string> evidence;
  for (const std::string_view key :
       {"name", "vbios", "persistence", "ecc_mode", "mig_mode", "power_limit_mw"}) {
    std::map<std::string, std::size_t> values;
    for (const Gpu& gpu : gpus) {
      const auto at = gpu.after.find(key);
      ++values[at == gpu.after.end() ? "unknown" : at->second];
    }
    if (values.size() < 2) continue;
    differing += (differing.empty() ? "" : ", ") + std::string(key);
    std::string line = std::string(key) + ":";
    for (const auto& [value, count] : values) line += fmt::format(" {} x {}", count, value);
    evidence.push_back(line);
  }
  Reading& reading = out.Value("", static_cast<double>(evidence.size()));
  reading.worst = FindingStatus::kWarning;
  reading.evidence = std::move(evidence);
  reading.summary = differing.empty() ? fmt::format("{} GPUs are alike", gpus.size())
                                      : "GPUs differ in " + differing;
}

}  // namespace culprit::health
