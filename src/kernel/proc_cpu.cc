#include "kernel/proc_cpu.h"

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::kernel {
namespace {

CpuTicks ParseCpuTicks(WordCursor& words) {
  CpuTicks line;
  for (; line.columns < kCpuColumns; ++line.columns) {
    const auto value = words.Number();
    if (!value) break;
    line.ticks[line.columns] = *value;
  }
  return line;
}

}  // namespace

bool ParseMachineStat(std::string_view text, MachineStat& stat, bool with_interrupts) {
  auto cpus = std::move(stat.cpus);
  auto interrupts = std::move(stat.interrupts_by_number);
  stat = {};
  cpus.clear();
  interrupts.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    WordCursor words(line);
    const std::string_view name = words.Word();
    if (name.starts_with("cpu")) {
      // Four columns (user nice system idle) is what every kernel has had; fewer is a torn line.
      const CpuTicks ticks = ParseCpuTicks(words);
      if (ticks.columns < 4) continue;
      if (name.size() == 3) {
        stat.all = ticks;
      } else if (const auto cpu = ParseInteger<std::uint32_t>(name.substr(3))) {
        cpus.push_back({*cpu, ticks});
      }
    } else if (name == "intr") {
      stat.interrupts = words.Number();
      if (!with_interrupts) continue;
      for (auto count = words.Number(); count; count = words.Number()) interrupts.push_back(*count);
    } else if (name == "ctxt") {
      stat.context_switches = words.Number();
    } else if (name == "btime") {
      stat.boot_time_s = words.Number();
    } else if (name == "processes") {
      stat.forks = words.Number();
    } else if (name == "procs_running") {
      stat.procs_running = words.Number();
    } else if (name == "procs_blocked") {
      stat.procs_blocked = words.Number();
    } else if (name == "softirq") {
      stat.softirqs = words.Number();
      for (auto& count : stat.softirqs_by_vector) count = words.Number().value_or(0);
    }
  }
  stat.cpus = std::move(cpus);
  stat.interrupts_by_number = std::move(interrupts);
  return stat.all.has_value() || !stat.cpus.empty();
}

std::optional<LoadAverage> ParseLoadAverage(std::string_view text) {
  WordCursor words(text);
  const auto one = ParseNumber(words.Word());
  const auto five = ParseNumber(words.Word());
  const auto fifteen = ParseNumber(words.Word());
  const std::string_view tasks = words.Word();
  const auto slash = tasks.find('/');
  if (!one || !five || !fifteen || slash == tasks.npos) return std::nullopt;
  const auto runnable = ParseInteger<std::uint64_t>(tasks.substr(0, slash));
  const auto all = ParseInteger<std::uint64_t>(tasks.substr(slash + 1));
  if (!runnable || !all || *one < 0 || *five < 0 || *fifteen < 0) return std::nullopt;
  return LoadAverage{*one, *five, *fifteen, *runnable, *all};
}

std::optional<double> ParseUptime(std::string_view text) {
  return ParseNumber(WordCursor(text).Word());
}

bool ParseSchedStat(std::string_view text, std::vector<CpuSchedStat>& cpus) {
  cpus.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (!line.starts_with("cpu")) continue;
    WordCursor words(line);
    const auto cpu = ParseInteger<std::uint32_t>(words.Word().substr(3));
    for (int unused = 0; unused < 6; ++unused) words.Word();
    const auto run = words.Number();
    const auto wait = words.Number();
    const auto slices = words.Number();
    if (cpu && run && wait && slices) cpus.push_back({*cpu, *run, *wait, *slices});
  }
  return !cpus.empty();
}

bool ParseSoftirqs(std::string_view text, std::vector<SoftirqLine>& softirqs) {
  std::size_t used = 0;
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    WordCursor words(line);
    std::string_view name = words.Word();
    if (name.size() < 2 || !name.ends_with(':')) continue;
    name.remove_suffix(1);
    if (used == softirqs.size()) softirqs.emplace_back();
    SoftirqLine& row = softirqs[used];
    row.name = name;
    row.by_cpu.clear();
    for (auto count = words.Number(); count; count = words.Number()) row.by_cpu.push_back(*count);
    if (!row.by_cpu.empty()) ++used;
  }
  softirqs.resize(used);
  return used > 0;
}

bool ParsePressure(std::string_view text, Pressure& pressure) {
  pressure = {};
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    WordCursor words(line);
    const std::string_view kind = words.Word();
    PressureLine parsed;
    int known = 0;
    for (std::string_view word = words.Word(); !word.empty(); word = words.Word()) {
      const auto equals = word.find('=');
      if (equals == word.npos) continue;
      const std::string_view name = word.substr(0, equals);
      const std::string_view value = word.substr(equals + 1);
      if (name == "total") {
        const auto total = ParseInteger<std::uint64_t>(value);
        if (total) parsed.total_us = *total, ++known;
      } else if (const auto share = ParseNumber(value)) {
        double* const slot = name == "avg10"    ? &parsed.avg10_pct
                             : name == "avg60"  ? &parsed.avg60_pct
                             : name == "avg300" ? &parsed.avg300_pct
                                                : nullptr;
        if (slot != nullptr) *slot = *share, ++known;
      }
    }
    if (known != 4) continue;
    if (kind == "some") pressure.some = parsed;
    if (kind == "full") pressure.full = parsed;
  }
  return pressure.some.has_value() || pressure.full.has_value();
}

}  // namespace culprit::kernel
