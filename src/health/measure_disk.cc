// Disks: waits by kind of request, queue, utilization, requests that never end, PSI, NVMe, RAID.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "health/disk_rates.h"
#include "health/measures.h"
#include "health/pressure.h"

namespace culprit::health {
namespace {

constexpr double kFewestPerSecond = 10;  // a mean over fewer requests is noise

// Devices that a verdict is about: whole ones that stand on no other device. dm, md and loop
// devices only pass on what the disks under them do.
class Leaves {
 public:
  explicit Leaves(const Context& context) {
    context.after.texts.Under("/sys/block/", [&](auto path, auto) {
      const std::string name(path.substr(11, path.find('/', 11) - 11));
      if (path.ends_with("/queue/rotational")) whole_.insert(name);
      if (path.find("/slaves/") != path.npos) stacked_.insert(name);
    });
    for (const auto& disk : context.after.disks) all_.insert(std::string(disk.name));
  }
  bool Has(const std::string& name) const {
    for (const std::string_view prefix : {"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"}) {
      if (name.starts_with(prefix)) return false;
    }
    if (stacked_.contains(name)) return false;
    if (!whole_.empty()) return whole_.contains(name);
    // A tree without /sys/block: "sda1" of "sda", "nvme0n1p2" of "nvme0n1" are partitions.
    std::string stem = name;
    while (!stem.empty() && stem.back() >= '0' && stem.back() <= '9') stem.pop_back();
    if (stem.size() == name.size()) return true;
    if (all_.contains(stem)) return false;
    if (stem.ends_with('p')) stem.pop_back();
    return !all_.contains(stem);
  }

 private:
  std::set<std::string> whole_, stacked_, all_;
};

// `left_out` gets the names of leaves that are new, or whose counters fell.
std::vector<DiskRates> LeafRates(const Context& context, Readings& out,
                                 std::string* left_out = nullptr) {
  if (!context.NeedFile(out, "/proc/diskstats", "no /proc/diskstats") || !context.NeedTwo(out))
    return {};
  const Leaves leaves(context);
  auto rates = RatesOfDisks(context.before.disks, context.after.disks, context.seconds);
  std::erase_if(rates, [&](const DiskRates& disk) { return !leaves.Has(disk.name); });
  for (const kernel::DiskStat& disk : context.after.disks) {
    const std::string name(disk.name);
    if (left_out == nullptr || left_out->size() > 200 || !leaves.Has(name)) continue;
    if (std::ranges::find(rates, name, &DiskRates::name) == rates.end())
      *left_out += (left_out->empty() ? "" : ", ") + name;
  }
  if (rates.empty()) out.NotApplicable("no disk that is in both samples");
  return rates;
}

std::string Shown(const DiskRates& disk) {
  const auto kind = [](std::string_view name, const DiskRates::Kind& k) {
    if (k.per_s == 0) return std::string();
    return fmt::format("{} {:.1f}/s {}/s await {:.2f} ms; ", name, k.per_s,
                       FormatBytes(static_cast<std::uint64_t>(k.bytes_per_s)),
                       k.await_ms.value_or(0));
  };
  std::string text = kind("read", disk.read) + kind("write", disk.write) +
                     kind("discard", disk.discard) + kind("flush", disk.flush);
  if (disk.queue) text += fmt::format("queue {:.2f}; ", *disk.queue);
  if (disk.util_pct) text += fmt::format("utilization {:.1f} %", *disk.util_pct);
  return text;
}

// The slowest kind of which there are enough; discards are slow on healthy drives.
std::pair<double, std::string_view> WorstAwait(const DiskRates& disk) {
  std::pair<double, std::string_view> worst{0, ""};
  const std::pair<const DiskRates::Kind*, std::string_view> kinds[] = {
      {&disk.read, "reads"}, {&disk.write, "writes"}, {&disk.flush, "flushes"}};
  for (const auto& [kind, name] : kinds) {
    if (kind->per_s >= kFewestPerSecond && kind->await_ms.value_or(0) > worst.first) {
      worst = {*kind->await_ms, name};
    }
  }
  return worst;
}

void MeasureLatency(const Context& context, Readings& out, bool nvme) {
  std::string left_out;
  const auto rates = LeafRates(context, out, &left_out);
  for (const DiskRates& disk : rates) {
    if (disk.name.starts_with("nvme") != nvme) continue;
    const auto [await_ms, kind] = WorstAwait(disk);
    Reading& reading = out.Value(disk.name, await_ms);
    if (!kind.empty())
      reading.summary = fmt::format("{} of {} take {:.1f} ms", kind, disk.name, await_ms);
    reading.evidence.push_back(Shown(disk));
    if (disk.queue && std::max(*disk.queue, disk.little_queue) > 0.5 &&
        std::abs(*disk.queue - disk.little_queue) >
            0.3 * std::max(*disk.queue, disk.little_queue)) {
      reading.evidence.push_back(
          fmt::format("the queue {:.2f} and rate times wait {:.2f} disagree (Little's law): "
                      "requests began or ended outside the sample",
                      *disk.queue, disk.little_queue));
    }
  }
  if (!left_out.empty()) {
    for (Reading& reading : out.rows())
      reading.evidence.push_back("not compared, new or counting from 0 again: " + left_out);
  }
  if (out.rows().empty()) out.NotApplicable(nvme ? "no NVMe disk" : "no disk other than NVMe");
}

}  // namespace

void MeasureDiskLatency(const Context& context, Readings& out) {
  MeasureLatency(context, out, false);
}
void MeasureNvmeLatency(const Context& context, Readings& out) {
  MeasureLatency(context, out, true);
}

void MeasureDiskUtil(const Context& context, Readings& out) {
  for (const DiskRates& disk : LeafRates(context, out)) {
    if (!disk.util_pct) continue;
    Reading& reading = out.Value(disk.name, *disk.util_pct);
    reading.evidence.push_back(Shown(disk));
    if (*disk.raw_util_pct > 100)
      reading.evidence.push_back(fmt::format("counted {:.1f} %", *disk.raw_util_pct));
    // A drive that serves many requests at a time is not full because one is always there.
    const auto rotational =
        context.after.texts.Get("/sys/block/" + disk.name + "/queue/rotational");
    reading.worst = TrimBlanks(rotational) == "1" && !disk.name.starts_with("vd") &&
                            !disk.name.starts_with("nvme")
                        ? FindingStatus::kWarning
                        : FindingStatus::kOk;
  }
}

void MeasureDiskQueue(const Context& context, Readings& out) {
  for (const DiskRates& disk : LeafRates(context, out)) {
    if (!disk.queue) continue;
    Reading& reading = out.Value(disk.name, *disk.queue);
    reading.evidence.push_back(Shown(disk));
    // A long queue that is served in time is throughput.
    const double slow_ms = disk.name.starts_with("nvme") ? 5 : 50;
    if (WorstAwait(disk).first < slow_ms) reading.worst = FindingStatus::kOk;
  }
}

void MeasureStuckIo(const Context& context, Readings& out) {
  for (const DiskRates& disk : LeafRates(context, out)) {
    const bool held = disk.in_flight.value_or(0) > 0 && disk.per_s() == 0;
    const double age_s = context.HeldFor("disk.stuck " + disk.name, held);
    Reading& reading = out.Value(disk.name, held ? age_s : 0);
    if (!held) continue;
    reading.age_s = age_s;
    reading.summary = fmt::format("{} requests of {} are under way and none ended for {:.1f} s",
                                  *disk.in_flight, disk.name, age_s);
  }
}

void MeasurePsiIo(const Context& context, Readings& out) {
  MeasurePressure(context, out, "/proc/pressure/io", true);
}

void MeasureNvme(const Context& context, Readings& out) {
  bool any = false;
  context.after.texts.Under("@nvme/", [&](auto path, auto text) {
    any = true;
    const std::string name(path.substr(6));
    std::vector<kernel::NamedValue> values;
    kernel::ParseNamedValues(text, values);
    const auto of = [&](std::string_view key) {
      return kernel::FindValue(values, key).value_or(0);
    };
    if (values.empty()) {
      out.Unknown(name + ": the health log could not be read", !context.node.is_root);
      return;
    }
    Reading& reading = out.Value(name, static_cast<double>(of("critical_warning")));
    std::string warnings;
    constexpr std::string_view kBits[] = {"spare blocks low",
                                          "temperature",
                                          "reliability degraded",
                                          "read only",
                                          "backup of volatile memory failed",
                                          "persistent memory read only"};
    for (std::size_t bit = 0; bit < std::size(kBits); ++bit) {
      if ((of("critical_warning") >> bit & 1) != 0)
        warnings += (warnings.empty() ? "" : ", ") + std::string(kBits[bit]);
    }
    reading.evidence.push_back(fmt::format(
        "{} media errors, {} % of its life used, {} °C{}", of("media_errors"),
        of("percentage_used"), static_cast<std::int64_t>(of("temperature_k")) - 273,
        of("wctemp_k") > 0 ? fmt::format(" (its own warning is at {} °C)", of("wctemp_k") - 273)
                           : ""));
    if (of("critical_warning") != 0) {
      reading.status = FindingStatus::kCritical;
      reading.summary =
          fmt::format("{} warns: {}", name, warnings.empty() ? "unknown bit" : warnings);
    } else if (of("wctemp_k") > 0 && of("temperature_k") >= of("wctemp_k")) {
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("{} is hotter than its own warning temperature", name);
      reading.advice = "cooling";
    } else if (of("percentage_used") >= 100 || of("media_errors") > 0) {
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("{}: {} media errors, {} % of its rated life used", name,
                                    of("media_errors"), of("percentage_used"));
    }
  });
  for (const StuckProbe& probe : context.stuck) {
    if (probe.probe != "NVMe") continue;
    out.Unknown(probe.Is(StuckProbe::End::kNotStarted)
                    ? "no drive could be asked: " + probe.at
                    : fmt::format("{} did not answer within {:.1f} s", probe.at, probe.after_s));
    any = true;
  }
  if (!any)
    out.NotApplicable(context.node.live ? "no NVMe drive" : "a captured tree has no drive to ask");
}

void MeasureRaid(const Context& context, Readings& out) {
  const Texts& texts = context.after.texts;
  std::vector<kernel::MdArray> arrays;
  kernel::ParseMdStat(texts.Get("/proc/mdstat"), arrays);
  for (const kernel::MdArray& array : arrays) {
    const bool redundant = array.disks_wanted && array.disks_working;
    const bool stopped = !array.active && !array.container;
    if (!redundant && !stopped) continue;
    const double lacking =
        redundant ? Delta(array.disks_working, array.disks_wanted).value_or(0) : 0;
    Reading& reading = out.Value(std::string(array.name), lacking);
    reading.worst = FindingStatus::kWarning;
    if (redundant)
      reading.summary = fmt::format("{} has {} of its {} disks", array.name, *array.disks_working,
                                    *array.disks_wanted);
    if (stopped) {
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("{} is not active: its data cannot be reached", array.name);
      reading.advice = fmt::format("mdadm --examine its disks; mdadm --run /dev/{}", array.name);
    }
    for (const std::string_view disk : array.faulty)
      reading.evidence.push_back(fmt::format("{} is marked faulty", disk));
    if (!array.action.empty()) reading.evidence.push_back(fmt::format("now: {}", array.action));
    if (array.action.starts_with("recovery"))
      reading.advice = "a spare is being filled: wait for it, then replace the faulty disk";
    const std::string mismatches{
        TrimBlanks(texts.Get("/sys/block/" + std::string(array.name) + "/md/mismatch_cnt"))};
    if (!mismatches.empty() && mismatches != "0")
      reading.evidence.push_back("the last check found " + mismatches + " sectors that differ");
  }
  if (out.rows().empty()) out.NotApplicable("no md RAID with redundancy");
}

}  // namespace culprit::health
