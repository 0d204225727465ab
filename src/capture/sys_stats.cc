#include "capture/sys_stats.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"
#include "kernel/proc_cpu.h"
#include "kernel/proc_disk.h"
#include "tracefile/fields.h"
#include "tracefile/sys_stats_table.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;
using fields::SysStats::kCpufreqKhz;

constexpr std::uint64_t kNsPerTick = 10'000'000;  // USER_HZ is 100 on every Linux

// SysStatsConfig.StatCounters
enum StatCounter : std::uint32_t { kCpuTimes = 1, kIrqCounts = 2, kSoftirqCounts = 3, kForks = 4 };

bool Wanted(const std::vector<std::uint32_t>& chosen, std::uint32_t key) {
  return chosen.empty() || std::ranges::find(chosen, key) != chosen.end();
}

struct CpuTimeField {
  std::uint32_t field;
  kernel::CpuColumn column;
};
constexpr CpuTimeField kCpuTimeFields[] = {
    {fields::SysStats::CpuTimes::kUserNs, kernel::CpuColumn::kUser},
    {fields::SysStats::CpuTimes::kUserNiceNs, kernel::CpuColumn::kNice},
    {fields::SysStats::CpuTimes::kSystemModeNs, kernel::CpuColumn::kSystem},
    {fields::SysStats::CpuTimes::kIdleNs, kernel::CpuColumn::kIdle},
    {fields::SysStats::CpuTimes::kIoWaitNs, kernel::CpuColumn::kIowait},
    {fields::SysStats::CpuTimes::kIrqNs, kernel::CpuColumn::kIrq},
    {fields::SysStats::CpuTimes::kSoftirqNs, kernel::CpuColumn::kSoftirq},
    {fields::SysStats::CpuTimes::kStealNs, kernel::CpuColumn::kSteal},
};

struct PressureFile {
  const char* path;
  std::int32_t some;
  std::int32_t full;
};
constexpr PressureFile kPressureFiles[] = {
    {"proc/pressure/cpu", fields::SysStats::PsiResource::kCpuSome,
     fields::SysStats::PsiResource::kCpuFull},
    {"proc/pressure/io", fields::SysStats::PsiResource::kIoSome,
     fields::SysStats::PsiResource::kIoFull},
    {"proc/pressure/memory", fields::SysStats::PsiResource::kMemorySome,
     fields::SysStats::PsiResource::kMemoryFull},
};

void AddKeyed(protozero::pbf_writer& stats, std::uint32_t field, std::uint32_t key,
              std::uint64_t value) {
  protozero::pbf_writer pair(stats, field);
  pair.add_enum(fields::SysStats::MeminfoValue::kKey, static_cast<std::int32_t>(key));
  pair.add_uint64(fields::SysStats::MeminfoValue::kValue, value);
}

}  // namespace

PolledFile::PolledFile(const std::string& path) {
  if (auto fd = OpenFile(path, O_RDONLY); fd) fd_ = std::move(fd).value();
}

bool PolledFile::Read(std::string& text) {
  if (!fd_.valid()) return false;
  if (ReadAgain(fd_.get(), "", text)) return true;
  fd_.Reset();
  return false;
}

SysStatsReader::SysStatsReader(const PollPeriods& periods, PollCounters counters,
                               const std::string& root)
    : counters_(std::move(counters)) {
  const auto open = [&root](DurationNs period, const std::string& path) {
    return period.value > 0 ? PolledFile(JoinPath(root, path)) : PolledFile();
  };
  stat_ = open(periods.stat, "proc/stat");
  meminfo_ = open(periods.meminfo, "proc/meminfo");
  vmstat_ = open(periods.vmstat, "proc/vmstat");
  disks_ = open(periods.diskstat, "proc/diskstats");
  for (std::size_t i = 0; i < std::size(kPressureFiles); ++i) {
    pressure_[i] = open(periods.psi, kPressureFiles[i].path);
  }
  if (periods.cpufreq.value > 0) {
    const auto text = ReadFile(JoinPath(root, "sys/devices/system/cpu/possible"));
    const auto cpus = text ? kernel::ParseCpuList(TrimBlanks(*text)) : std::nullopt;
    bool any = false;
    for (std::uint32_t cpu = 0; cpus && !cpus->empty() && cpu <= cpus->back(); ++cpu) {
      frequencies_.emplace_back(JoinPath(
          root, "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq"));
      any = any || frequencies_.back().valid();
    }
    if (!any) frequencies_.clear();
  }
}

void SysStatsReader::Restart() {
  vmstat_polls_ = 0;
  interrupt_polls_ = 0;
}

void SysStatsReader::ReadStat(protozero::pbf_writer& stats) {
  if (!stat_.Read(text_)) return;
  const bool interrupts = Wanted(counters_.stat, kIrqCounts);
  kernel::MachineStat machine;
  if (!kernel::ParseMachineStat(text_, machine, interrupts)) return;
  if (Wanted(counters_.stat, kCpuTimes)) {
    for (const kernel::CpuLine& line : machine.cpus) {
      protozero::pbf_writer times(stats, fields::SysStats::kCpuStat);
      times.add_uint32(fields::SysStats::CpuTimes::kCpuId, line.cpu);
      for (const CpuTimeField& known : kCpuTimeFields) {
        if (line.ticks.has(known.column)) {
          times.add_uint64(known.field, line.ticks[known.column] * kNsPerTick);
        }
      }
    }
  }
  if (interrupts) {
    if (machine.interrupts) {
      stats.add_uint64(fields::SysStats::kNumIrqTotal, *machine.interrupts);
    }
    // Thousands of vectors on a large machine, of which few move.
    const bool full = interrupt_polls_++ % kFullEvery == 0;
    const auto& counts = machine.interrupts_by_number;
    last_interrupts_.resize(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0 || (!full && counts[i] == last_interrupts_[i])) continue;
      protozero::pbf_writer count(stats, fields::SysStats::kNumIrq);
      count.add_int32(fields::SysStats::InterruptCount::kIrq, static_cast<std::int32_t>(i));
      count.add_uint64(fields::SysStats::InterruptCount::kCount, counts[i]);
      last_interrupts_[i] = counts[i];
    }
  }
  if (Wanted(counters_.stat, kSoftirqCounts) && machine.softirqs) {
    stats.add_uint64(fields::SysStats::kNumSoftirqTotal, *machine.softirqs);
    for (std::size_t i = 0; i < machine.softirqs_by_vector.size(); ++i) {
      protozero::pbf_writer count(stats, fields::SysStats::kNumSoftirq);
      count.add_int32(fields::SysStats::InterruptCount::kIrq, static_cast<std::int32_t>(i));
      count.add_uint64(fields::SysStats::InterruptCount::kCount, machine.softirqs_by_vector[i]);
    }
  }
  if (Wanted(counters_.stat, kForks) && machine.forks) {
    stats.add_uint64(fields::SysStats::kNumForks, *machine.forks);
  }
}

void SysStatsReader::ReadMeminfo(protozero::pbf_writer& stats) {
  if (!meminfo_.Read(text_)) return;
  values_.clear();
  kernel::ParseNamedValues(text_, values_);
  for (const kernel::NamedValue& value : values_) {
    const auto key = fields::MeminfoKey(value.name);
    if (!key || !Wanted(counters_.meminfo, *key)) continue;
    AddKeyed(stats, fields::SysStats::kMeminfo, *key, value.value / 1024);  // in kB, as the kernel
  }
}

void SysStatsReader::ReadVmstat(protozero::pbf_writer& stats) {
  if (!vmstat_.Read(text_)) return;
  values_.clear();
  kernel::ParseNamedValues(text_, values_);
  const bool full = vmstat_polls_++ % kFullEvery == 0;
  for (const kernel::NamedValue& value : values_) {
    const auto key = fields::VmstatKey(value.name);
    if (!key || !Wanted(counters_.vmstat, *key)) continue;
    if (last_vmstat_.size() <= *key) last_vmstat_.resize(*key + 1);
    if (!full && last_vmstat_[*key] == value.value) continue;
    last_vmstat_[*key] = value.value;
    AddKeyed(stats, fields::SysStats::kVmstat, *key, value.value);
  }
}

void SysStatsReader::ReadPressure(protozero::pbf_writer& stats) {
  for (std::size_t i = 0; i < std::size(kPressureFiles); ++i) {
    kernel::Pressure pressure;
    if (!pressure_[i].Read(text_) || !kernel::ParsePressure(text_, pressure)) continue;
    const auto add = [&](std::int32_t resource, const std::optional<kernel::PressureLine>& line) {
      if (!line) return;
      protozero::pbf_writer sample(stats, fields::SysStats::kPsi);
      sample.add_enum(fields::SysStats::PsiSample::kResource, resource);
      sample.add_uint64(fields::SysStats::PsiSample::kTotalNs, line->total_us * 1000);
    };
    add(kPressureFiles[i].some, pressure.some);
    add(kPressureFiles[i].full, pressure.full);
  }
}

void SysStatsReader::ReadDisks(protozero::pbf_writer& stats) {
  if (!disks_.Read(text_)) return;
  std::vector<kernel::DiskStat> disks;
  if (!kernel::ParseDiskStats(text_, disks)) return;
  for (const kernel::DiskStat& disk : disks) {
    // Dozens of loop and ram devices that nobody uses.
    if (disk.reads.value_or(0) == 0 && disk.writes.value_or(0) == 0) continue;
    namespace Field = fields::SysStats::DiskStat;
    protozero::pbf_writer message(stats, fields::SysStats::kDiskStat);
    message.add_string(Field::kDeviceName, disk.name.data(), disk.name.size());
    const auto add = [&](std::uint32_t field, const kernel::OptionalCount& count) {
      if (count) message.add_uint64(field, *count);
    };
    add(Field::kReadSectors, disk.sectors_read);
    add(Field::kReadTimeMs, disk.read_ms);
    add(Field::kWriteSectors, disk.sectors_written);
    add(Field::kWriteTimeMs, disk.write_ms);
    add(Field::kDiscardSectors, disk.sectors_discarded);
    add(Field::kDiscardTimeMs, disk.discard_ms);
    add(Field::kFlushCount, disk.flushes);
    add(Field::kFlushTimeMs, disk.flush_ms);
  }
}

void SysStatsReader::ReadCpuFrequencies(protozero::pbf_writer& stats) {
  for (PolledFile& file : frequencies_) {
    // By position: a CPU without a reading still takes its place.
    const auto khz = file.Read(text_) ? kernel::ParseSingle(text_) : std::nullopt;
    stats.add_uint32(kCpufreqKhz, static_cast<std::uint32_t>(khz.value_or(0)));
  }
}

}  // namespace culprit::capture
