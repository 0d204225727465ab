#include "analysis/throttled_waits.h"

#include <algorithm>

namespace culprit::analysis {
namespace {

// Shorter waits are the scheduler's own slices; a quota's period is 100 ms as a rule, 1 ms at
// least.
constexpr std::int64_t kLeastNs = 1'000'000;

}  // namespace

bool ThrottledWaits::Contains(const State& state) {
  const Process* process = timeline_.ProcessOf(state.utid);
  if (process == nullptr || process->cgroup.empty()) return false;
  auto found = found_.find(state.utid);
  if (found == found_.end()) found = found_.emplace(state.utid, Find(state.utid)).first;
  return std::ranges::binary_search(found->second, &state);
}

// The longest waits first, until the counted time is used up: no more is put down to the quota than
// the kernel says.
std::vector<const State*> ThrottledWaits::Find(Utid utid) const {
  std::vector<Throttled> counted = timeline_.ThrottledOf(utid);
  std::vector<const State*> waits;
  for (const State& state : timeline_.StatesOf(utid)) {
    if (IsReady(state.activity) && state.end - state.ts >= kLeastNs) waits.push_back(&state);
  }
  std::ranges::stable_sort(
      waits, [](const State* a, const State* b) { return a->end - a->ts > b->end - b->ts; });
  std::vector<const State*> throttled;
  for (const State* wait : waits) {
    const Interval time{wait->ts, wait->end};
    // Rows are a tenth of a second long, so they end in the order in which they begin.
    const auto first =
        std::partition_point(counted.begin(), counted.end(),
                             [&](const Throttled& row) { return row.time.end <= time.begin; });
    std::int64_t fits = 0;
    for (auto row = first; row != counted.end() && row->time.begin < time.end; ++row) {
      fits += std::min(row->ns, Intersect(row->time, time).length());
    }
    if (2 * fits < time.length()) continue;
    throttled.push_back(wait);
    for (auto row = first; row != counted.end() && row->time.begin < time.end; ++row) {
      row->ns -= std::min(row->ns, Intersect(row->time, time).length());
    }
  }
  std::ranges::sort(throttled);
  return throttled;
}

}  // namespace culprit::analysis
