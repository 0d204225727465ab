// The SysStats packet: what pollers read from /proc and /sys, as counters with Perfetto's names.
#include <fmt/format.h>

#include "load/packet_importer.h"
#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"
#include "tracefile/sys_stats_table.h"

namespace culprit::load {
namespace {

using tracefile::ProtoReader;
namespace Stats = tracefile::SysStats;

constexpr std::string_view kPressureNames[] = {
    "resource.unspecified", "cpu.some", "cpu.full", "io.some", "io.full", "mem.some", "mem.full"};

// Two fields of a message: a key and a value.
struct Pair {
  std::uint64_t key = 0;
  std::string_view text;
  std::uint64_t value = 0;
};

Pair ReadPair(std::string_view body, std::uint32_t key, std::uint32_t value) {
  Pair pair;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == key) {
      pair.key = field.u64();
      pair.text = field.bytes();
    } else if (field.id() == value) {
      pair.value = field.u64();
    }
  }
  return pair;
}

}  // namespace

void PacketImporter::SysStats(std::int64_t ts, std::string_view body) {
  load::TraceStats& stats = importer_.stats();
  StringPool& strings = importer_.strings();
  TrackTable& tracks = importer_.tracks();
  std::uint32_t freq_cpu = 0;
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case Stats::kMeminfo: {
        const Pair pair = ReadPair(field.bytes(), 1, 2);
        if (pair.key >= std::size(tracefile::kMeminfoNames)) {
          stats.Add("meminfo_unknown_keys");
          break;
        }
        constexpr double kKb = 1024;
        Global(ts, "meminfo", tracefile::kMeminfoNames[pair.key],
               static_cast<double>(pair.value) * kKb, "bytes");
        break;
      }
      case Stats::kVmstat: {
        const Pair pair = ReadPair(field.bytes(), 1, 2);
        if (pair.key >= std::size(tracefile::kVmstatNames)) {
          stats.Add("vmstat_unknown_keys");
          break;
        }
        Global(ts, "vmstat", tracefile::kVmstatNames[pair.key], static_cast<double>(pair.value));
        break;
      }
      case Stats::kCpuStat:
        CpuTimes(ts, field.bytes());
        break;
      case Stats::kNumForks:
        Global(ts, "num_forks", "num_forks", static_cast<double>(field.u64()));
        break;
      case Stats::kNumIrqTotal:
        Global(ts, "num_irq_total", "num_irq_total", static_cast<double>(field.u64()));
        break;
      case Stats::kNumSoftirqTotal:
        Global(ts, "num_softirq_total", "num_softirq_total", static_cast<double>(field.u64()));
        break;
      case Stats::kNumIrq:
      case Stats::kNumSoftirq: {
        const Pair pair = ReadPair(field.bytes(), 1, 2);
        const bool is_soft = field.id() == Stats::kNumSoftirq;
        Global(ts, is_soft ? "num_softirq" : "num_irq",
               fmt::format("{} (id: {})", is_soft ? "num_softirq" : "num_irq", pair.key),
               static_cast<double>(pair.value));
        break;
      }
      case Stats::kDevfreq: {
        const Pair pair = ReadPair(field.bytes(), 1, 2);
        Global(ts, "clock_frequency", fmt::format("{} Frequency", pair.text),
               static_cast<double>(pair.value));
        break;
      }
      case Stats::kCpufreqKhz:
        // One a CPU in order; zero: this machine does not tell.
        if (field.u64() != 0) {
          importer_.Counter(ts,
                            tracks.Get(TrackScope::kCpu, freq_cpu, strings.Intern("cpu_frequency"),
                                       strings.Intern("cpufreq"), true),
                            static_cast<double>(field.u64()));
        }
        ++freq_cpu;
        break;
      case Stats::kBuddyInfo: {
        std::string_view node;
        std::string_view zone;
        std::uint64_t chunk_bytes = page_bytes_;
        ProtoReader part(field.bytes());
        while (part.Next()) {
          if (part.id() == 1) node = part.bytes();
          if (part.id() == 2) zone = part.bytes();
          if (part.id() != 3) continue;
          Global(ts, "buddyinfo",
                 fmt::format("mem.buddyinfo[{}][{}][{} kB]", node, zone, chunk_bytes / 1024),
                 static_cast<double>(part.u64()));
          chunk_bytes *= 2;
        }
        break;
      }
      case Stats::kDiskStat:
        DiskStat(ts, field.bytes());
        break;
      case Stats::kPsi: {
        const Pair pair = ReadPair(field.bytes(), 1, 2);
        if (pair.key >= std::size(kPressureNames)) {
          stats.Add("psi_unknown_resource");
          break;
        }
        Global(ts, "psi", fmt::format("psi.{}", kPressureNames[pair.key]),
               static_cast<double>(pair.value));
        break;
      }
      case Stats::kThermalZone: {
        const Pair pair = ReadPair(field.bytes(), 3, 2);
        Global(ts, "thermal_temperature_sys", pair.text, static_cast<double>(pair.value), "C");
        break;
      }
      case Stats::kCpuidleState: {
        std::uint32_t cpu = 0;
        ProtoReader part(field.bytes());
        while (part.Next()) {
          if (part.id() == 1) cpu = part.u32();
          if (part.id() != 2) continue;
          const Pair pair = ReadPair(part.bytes(), 1, 2);
          importer_.Counter(ts,
                            tracks.Get(TrackScope::kCpu, cpu, strings.Intern("cpu_idle_state"),
                                       strings.Intern(fmt::format("cpuidle{}.{}", cpu, pair.text)),
                                       true, strings.Intern("us")),
                            static_cast<double>(pair.value));
        }
        break;
      }
      default:
        break;
    }
  }
}

void PacketImporter::CpuTimes(std::int64_t ts, std::string_view body) {
  namespace Times = Stats::CpuTimes;
  constexpr std::pair<std::uint32_t, std::string_view> kTimes[] = {
      {Times::kUserNs, "user_ns"},
      {Times::kUserNiceNs, "user_nice_ns"},
      {Times::kSystemModeNs, "system_mode_ns"},
      {Times::kIdleNs, "idle_ns"},
      {Times::kIoWaitNs, "io_wait_ns"},
      {Times::kIrqNs, "irq_ns"},
      {Times::kSoftirqNs, "softirq_ns"},
      {Times::kStealNs, "steal_ns"}};
  std::optional<std::uint32_t> cpu;
  std::uint64_t values[16] = {};
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == Times::kCpuId) cpu = field.u32();
    if (field.id() < std::size(values)) values[field.id()] = field.u64();
  }
  if (!cpu.has_value()) {
    importer_.stats().Add("invalid_cpu_times");
    return;
  }
  StringPool& strings = importer_.strings();
  for (const auto& [number, name] : kTimes) {
    const TrackId track =
        importer_.tracks().Get(TrackScope::kCpu, *cpu, strings.Intern("cpustat"),
                               strings.Intern(fmt::format("cpu.times.{}", name)), true);
    importer_.Counter(ts, track, static_cast<double>(values[number]));
  }
}

// Perfetto shows what changed since the last poll, not the running totals.
void PacketImporter::DiskStat(std::int64_t ts, std::string_view body) {
  namespace Disk = Stats::DiskStat;
  constexpr double kSectorsPerMb = 2048;
  constexpr double kMsPerSecond = 1000;
  std::string_view device;
  std::int64_t now[8] = {};
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == Disk::kDeviceName) device = field.bytes();
    if (field.id() >= Disk::kReadSectors && field.id() <= Disk::kFlushTimeMs) {
      now[field.id() - Disk::kReadSectors] = field.i64();
    }
  }
  DiskState& state = disks_[importer_.strings().Intern(device)];
  if (state.is_known) {
    const auto counter = [&](std::string_view name, std::string_view unit, double value) {
      Global(ts, "diskstat", fmt::format("diskstat.[{}].{}", device, name), value, unit);
    };
    constexpr std::string_view kKinds[] = {"read", "write", "discard"};
    for (std::size_t i = 0; i < std::size(kKinds); ++i) {
      const double mb = static_cast<double>(now[2 * i] - state.values[2 * i]) / kSectorsPerMb;
      const auto ms = static_cast<double>(now[2 * i + 1] - state.values[2 * i + 1]);
      counter(fmt::format("{}_amount", kKinds[i]), "MB", mb);
      counter(fmt::format("{}_throughput", kKinds[i]), "MB/s",
              ms == 0 ? 0 : mb * kMsPerSecond / ms);
    }
    counter("flush_amount", "count", static_cast<double>(now[6] - state.values[6]));
    counter("flush_time", "ms", static_cast<double>(now[7] - state.values[7]));
  }
  state.is_known = true;
  std::copy(std::begin(now), std::end(now), std::begin(state.values));
}

}  // namespace culprit::load
