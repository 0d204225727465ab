#include "load/clock_map.h"

#include <algorithm>

namespace culprit::load {

void ClockMap::AddSnapshot(const std::vector<ClockReading>& readings) {
  snapshots_.push_back(readings);
}

void ClockMap::Prepare() {
  points_.clear();
  const Key trace_key{trace_clock_, 0};
  // Clocks that were read together with the trace clock first; then those that were read together
  // with one of these (a clock of ftrace with BOOTTIME, when the trace clock is another).
  for (int round = 0; round < 3; ++round) {
    std::map<Key, Points> found;
    for (const auto& snapshot : snapshots_) {
      std::optional<std::int64_t> trace_ns;
      for (const ClockReading& reading : snapshot) {
        const Key key{reading.clock_id, reading.sequence};
        if (key == trace_key) {
          trace_ns = reading.ns;
          break;
        }
        if (!trace_ns.has_value() && round > 0) {
          trace_ns = ToTraceTime(reading.clock_id, reading.sequence, reading.ns);
        }
      }
      if (!trace_ns.has_value()) continue;
      for (const ClockReading& reading : snapshot) {
        const Key key{reading.clock_id, reading.sequence};
        if (key != trace_key && !points_.contains(key))
          found[key].emplace_back(reading.ns, *trace_ns);
      }
    }
    if (found.empty()) break;
    for (auto& [key, points] : found) {
      std::stable_sort(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      points_[key] = std::move(points);
    }
  }
}

void ClockMap::Run::Seek(std::int64_t ns) {
  // The newest snapshot at or before the time; before the first one, the first.
  auto next =
      std::upper_bound(points_->begin(), points_->end(), ns,
                       [](std::int64_t value, const auto& point) { return value < point.first; });
  until_ = next == points_->end() ? INT64_MAX : next->first;
  if (next == points_->begin()) {
    from_ = INT64_MIN;
  } else {
    --next;
    from_ = next == points_->begin() ? INT64_MIN : next->first;
  }
  difference_ = next->second - next->first;
}

std::optional<ClockMap::Run> ClockMap::RunOf(std::uint32_t clock_id, std::uint32_t sequence) const {
  Run run;
  if (clock_id == trace_clock_ && sequence == 0) return run;
  const auto found = points_.find({clock_id, sequence});
  if (found == points_.end()) return std::nullopt;
  run.points_ = &found->second;
  run.until_ = INT64_MIN;  // nothing is known yet: the first Convert seeks
  return run;
}

std::optional<std::int64_t> ClockMap::ToTraceTime(std::uint32_t clock_id, std::uint32_t sequence,
                                                  std::int64_t ns) const {
  auto run = RunOf(clock_id, sequence);
  if (!run.has_value()) return std::nullopt;
  return run->Convert(ns);
}

}  // namespace culprit::load
