#include "health/cpu_time.h"

#include <algorithm>
#include <array>
#include <map>

namespace culprit::health {
namespace {

using kernel::CpuColumn;
using Ticks = std::array<std::uint64_t, 8>;  // user nice system idle iowait irq softirq steal

std::optional<Ticks> Differences(const kernel::CpuTicks& before, const kernel::CpuTicks& after) {
  Ticks delta{};
  for (std::size_t i = 0; i < delta.size(); ++i) {
    const std::uint64_t old = before.ticks[i];
    const std::uint64_t now = after.ticks[i];
    if (now >= old) {
      delta[i] = now - old;
      continue;
    }
    // The kernel corrects idle and iowait downwards by a few ticks; anything more is a reset.
    const auto column = static_cast<CpuColumn>(i);
    const bool corrected = column == CpuColumn::kIowait || column == CpuColumn::kIdle;
    if (!corrected || (column == CpuColumn::kIdle && old - now > 10)) return std::nullopt;
  }
  return delta;
}

std::optional<CpuShares> FromTicks(const Ticks& delta) {
  std::uint64_t total = 0;
  for (const auto ticks : delta) total += ticks;
  if (total == 0) return std::nullopt;
  const auto share = [&](CpuColumn column) {
    return 100.0 * static_cast<double>(delta[static_cast<std::size_t>(column)]) /
           static_cast<double>(total);
  };
  CpuShares shares;
  shares.user_pct = share(CpuColumn::kUser);
  shares.nice_pct = share(CpuColumn::kNice);
  shares.system_pct = share(CpuColumn::kSystem);
  shares.idle_pct = share(CpuColumn::kIdle);
  shares.iowait_pct = share(CpuColumn::kIowait);
  shares.irq_pct = share(CpuColumn::kIrq);
  shares.softirq_pct = share(CpuColumn::kSoftirq);
  shares.steal_pct = share(CpuColumn::kSteal);
  shares.busy_pct = 100 - shares.idle_pct - shares.iowait_pct;
  shares.total_ticks = total;
  return shares;
}

// Calls visit(cpu, differences or nothing) for each CPU of `after`.
template <class Visit>
void ForEachCpu(const kernel::MachineStat& before, const kernel::MachineStat& after, Visit visit) {
  std::map<std::uint32_t, const kernel::CpuTicks*> old;
  for (const auto& line : before.cpus) old[line.cpu] = &line.ticks;
  for (const auto& line : after.cpus) {
    const auto at = old.find(line.cpu);
    visit(line.cpu,
          at == old.end() ? std::optional<Ticks>() : Differences(*at->second, line.ticks));
  }
}

}  // namespace

std::optional<CpuShares> SharesOf(const kernel::CpuTicks& before, const kernel::CpuTicks& after) {
  const auto delta = Differences(before, after);
  return delta ? FromTicks(*delta) : std::nullopt;
}

std::vector<std::pair<std::uint32_t, CpuShares>> SharesOfCpus(const kernel::MachineStat& before,
                                                              const kernel::MachineStat& after) {
  std::vector<std::pair<std::uint32_t, CpuShares>> shares;
  ForEachCpu(before, after, [&](std::uint32_t cpu, const std::optional<Ticks>& delta) {
    if (!delta) return;
    if (const auto of_cpu = FromTicks(*delta)) shares.emplace_back(cpu, *of_cpu);
  });
  return shares;
}

std::optional<CpuShares> SharesOfNode(const kernel::MachineStat& before,
                                      const kernel::MachineStat& after) {
  Ticks sum{};
  std::size_t invalid = 0;
  ForEachCpu(before, after, [&](std::uint32_t, const std::optional<Ticks>& delta) {
    if (!delta) {
      ++invalid;
      return;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (*delta)[i];
  });
  auto shares = FromTicks(sum);
  if (shares) shares->invalid_cpus = invalid;
  return shares;
}

}  // namespace culprit::health
