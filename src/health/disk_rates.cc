#include "health/disk_rates.h"

#include <algorithm>
#include <map>

namespace culprit::health {
namespace {

using kernel::DiskStat;
using kernel::OptionalCount;

struct Deltas {
  bool fell = false;
  // The difference of a counter that both have; 0 where the kernel has none.
  double Of(OptionalCount before, OptionalCount after) {
    if (!before || !after) return 0;
    if (*after >= *before) return static_cast<double>(*after - *before);
    // Times are kept in 32 bits by some kernels: a small step over the edge is no reset.
    constexpr std::uint64_t kEdge = std::uint64_t{1} << 32;
    if (*before<kEdge&& * before> kEdge - (kEdge >> 3) && *after < (kEdge >> 3)) {
      return static_cast<double>(*after + kEdge - *before);
    }
    fell = true;
    return 0;
  }
};

DiskRates::Kind KindOf(double count, double ms, double sectors, double seconds) {
  DiskRates::Kind kind;
  kind.per_s = count / seconds;
  if (count > 0) kind.await_ms = ms / count;
  kind.bytes_per_s = sectors * static_cast<double>(kernel::kSectorBytes) / seconds;
  return kind;
}

}  // namespace

std::optional<DiskRates> RatesOf(const DiskStat& before, const DiskStat& after, double seconds) {
  if (seconds <= 0) return std::nullopt;
  Deltas d;
  DiskRates rates;
  rates.name = after.name;
  const auto kind = [&](OptionalCount DiskStat::*count, OptionalCount DiskStat::*ms,
                        OptionalCount DiskStat::*sectors) {
    return KindOf(d.Of(before.*count, after.*count), d.Of(before.*ms, after.*ms),
                  sectors == nullptr ? 0 : d.Of(before.*sectors, after.*sectors), seconds);
  };
  rates.read = kind(&DiskStat::reads, &DiskStat::read_ms, &DiskStat::sectors_read);
  rates.write = kind(&DiskStat::writes, &DiskStat::write_ms, &DiskStat::sectors_written);
  rates.discard = kind(&DiskStat::discards, &DiskStat::discard_ms, &DiskStat::sectors_discarded);
  rates.flush = kind(&DiskStat::flushes, &DiskStat::flush_ms, nullptr);
  const double busy_ms = d.Of(before.io_ms, after.io_ms);
  const double weighted_ms = d.Of(before.weighted_ms, after.weighted_ms);
  if (d.fell) return std::nullopt;
  if (after.io_ms) {
    rates.raw_util_pct = busy_ms / seconds / 10;
    rates.util_pct = std::min(100.0, *rates.raw_util_pct);
  }
  if (after.weighted_ms) rates.queue = weighted_ms / 1000 / seconds;
  for (const auto* k : {&rates.read, &rates.write, &rates.discard, &rates.flush}) {
    rates.little_queue += k->per_s * k->await_ms.value_or(0) / 1000;
  }
  rates.in_flight = after.in_flight;
  return rates;
}

std::vector<DiskRates> RatesOfDisks(const std::vector<DiskStat>& before,
                                    const std::vector<DiskStat>& after, double seconds) {
  std::map<std::string_view, const DiskStat*> old;
  for (const DiskStat& disk : before) old[disk.name] = &disk;
  std::vector<DiskRates> rates;
  for (const DiskStat& disk : after) {
    const auto at = old.find(disk.name);
    if (at == old.end() || at->second->major != disk.major || at->second->minor != disk.minor)
      continue;
    if (auto of_disk = RatesOf(*at->second, disk, seconds)) rates.push_back(std::move(*of_disk));
  }
  return rates;
}

}  // namespace culprit::health
