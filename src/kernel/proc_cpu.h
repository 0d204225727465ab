// CPU and load counters of the whole machine as text gives them: /proc/stat, loadavg, uptime,
// schedstat, softirqs and pressure/*. Nothing here takes a difference or judges a value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace culprit::kernel {

// Columns of a cpu line of /proc/stat. guest is part of user and guest_nice of nice already.
enum class CpuColumn : std::uint8_t {
  kUser,
  kNice,
  kSystem,
  kIdle,
  kIowait,
  kIrq,
  kSoftirq,
  kSteal,
  kGuest,
  kGuestNice,
  kCount
};
inline constexpr std::size_t kCpuColumns = static_cast<std::size_t>(CpuColumn::kCount);

// In ticks of USER_HZ (1/100 s). Old kernels have fewer columns: those beyond `columns` are 0.
struct CpuTicks {
  std::array<std::uint64_t, kCpuColumns> ticks{};
  std::uint8_t columns = 0;

  std::uint64_t operator[](CpuColumn column) const {
    return ticks[static_cast<std::size_t>(column)];
  }
  bool has(CpuColumn column) const { return static_cast<std::size_t>(column) < columns; }
};

struct CpuLine {
  std::uint32_t cpu = 0;
  CpuTicks ticks;
};

// /proc/stat. A line that is missing or unreadable leaves its number absent.
struct MachineStat {
  std::optional<CpuTicks> all;
  std::vector<CpuLine> cpus;  // online CPUs, in file order
  std::optional<std::uint64_t> interrupts;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> boot_time_s;  // since 1970
  std::optional<std::uint64_t> forks;
  std::optional<std::uint64_t> procs_running;
  std::optional<std::uint64_t> procs_blocked;
  std::optional<std::uint64_t> softirqs;
  // Count of each vector: HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU.
  std::array<std::uint64_t, 10> softirqs_by_vector{};
  // Count of each interrupt number; filled only when asked for (the line can be very long).
  std::vector<std::uint64_t> interrupts_by_number;
};
// False when there is no cpu line at all.
bool ParseMachineStat(std::string_view text, MachineStat& stat, bool with_interrupts = false);

// /proc/loadavg: "0.02 0.04 0.05 1/497 11947".
struct LoadAverage {
  double load_1min = 0;
  double load_5min = 0;
  double load_15min = 0;
  std::uint64_t runnable = 0;  // tasks on a run queue now, this reader among them
  std::uint64_t tasks = 0;
};
std::optional<LoadAverage> ParseLoadAverage(std::string_view text);

// /proc/uptime: "7192.55 28000.10": seconds since boot (suspend counted).
std::optional<double> ParseUptime(std::string_view text);

// A cpu line of /proc/schedstat: ns run, ns waited on the run queue, slices. Absent without
// CONFIG_SCHEDSTATS.
struct CpuSchedStat {
  std::uint32_t cpu = 0;
  std::uint64_t run_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t slices = 0;
};
bool ParseSchedStat(std::string_view text, std::vector<CpuSchedStat>& cpus);

// One vector of /proc/softirqs with its count on each CPU, in the order of the head line.
struct SoftirqLine {
  std::string_view name;
  std::vector<std::uint64_t> by_cpu;
};
bool ParseSoftirqs(std::string_view text, std::vector<SoftirqLine>& lines);

// One line of a pressure file. Shares are percent of wall time.
struct PressureLine {
  double avg10_pct = 0;
  double avg60_pct = 0;
  double avg300_pct = 0;
  std::uint64_t total_us = 0;
};
// Kernels before 5.13 have no "full" for cpu. An empty text is a kernel with PSI off: neither is
// set.
struct Pressure {
  std::optional<PressureLine> some;
  std::optional<PressureLine> full;
};
bool ParsePressure(std::string_view text, Pressure& pressure);

}  // namespace culprit::kernel
