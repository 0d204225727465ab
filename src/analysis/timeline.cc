#include "analysis/timeline.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace culprit::analysis {
namespace {

// Stable: rows of one key keep their order. Returns where each key's rows begin.
template <class Row, class Key>
std::vector<std::size_t> GroupBy(std::vector<Row>& rows, std::size_t keys, Key key) {
  std::vector<std::size_t> first(keys + 1, 0);
  for (const Row& row : rows) {
    CULPRIT_CHECK(key(row) < keys);
    ++first[key(row) + 1];
  }
  for (std::size_t i = 1; i <= keys; ++i) first[i] += first[i - 1];
  const bool grouped = std::is_sorted(rows.begin(), rows.end(),
                                      [&](const Row& a, const Row& b) { return key(a) < key(b); });
  if (grouped) return first;
  std::vector<Row> sorted(rows.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (const Row& row : rows) sorted[next[key(row)]++] = row;
  rows = std::move(sorted);
  return first;
}

// The rows that share time with `time`, of rows that do not overlap each other.
template <class Row>
std::span<const Row> Overlapping(std::span<const Row> rows, Interval time) {
  const auto begin = std::partition_point(rows.begin(), rows.end(),
                                          [&](const Row& row) { return row.end <= time.begin; });
  const auto end =
      std::partition_point(begin, rows.end(), [&](const Row& row) { return row.ts < time.end; });
  return {begin, end};
}

// Handlers interrupt softirqs: what is nested is cut out of what is around it, so that the rows of
// a CPU neither overlap nor count a moment twice. `rows` are in order of their begin.
std::vector<IrqRun> Flatten(const std::vector<IrqRun>& rows) {
  std::vector<IrqRun> flat;
  std::vector<IrqRun> open;  // outermost first; `ts` of each is where its next piece begins
  const auto piece = [&](const IrqRun& run, std::int64_t end) {
    if (end > run.ts) flat.push_back({run.ts, end, run.name, run.is_soft});
  };
  const auto close_until = [&](std::int64_t ts) {
    while (!open.empty() && open.back().end <= ts) {
      const IrqRun done = open.back();
      open.pop_back();
      piece(done, done.end);
      if (!open.empty()) open.back().ts = std::max(open.back().ts, done.end);
    }
  };
  for (const IrqRun& row : rows) {
    close_until(row.ts);
    if (!open.empty()) {
      piece(open.back(), row.ts);
      open.back().ts = std::max(open.back().ts, row.ts);
    }
    open.push_back(row);
  }
  close_until(std::numeric_limits<std::int64_t>::max());
  return flat;
}

// A thread is in one state at a time. A state whose end was not seen although others follow ended
// nobody knows when: from its begin on nothing is known.
void EndStates(std::vector<State>& states) {
  for (std::size_t i = 0; i + 1 < states.size(); ++i) {
    State& state = states[i];
    const State& next = states[i + 1];
    if (state.utid != next.utid || state.end <= next.ts) continue;
    state.end = state.is_open ? state.ts : std::max(state.ts, next.ts);
  }
}

}  // namespace

Timeline::Timeline(Rows rows) : rows_(std::move(rows)) {
  if (rows_.texts.empty()) rows_.texts.emplace_back();
  const std::size_t threads = rows_.threads.size();
  first_ = GroupBy(rows_.states, threads, [](const State& row) { return row.utid; });
  EndStates(rows_.states);
  first_migration_ =
      GroupBy(rows_.migrations, threads, [](const Migration& row) { return row.utid; });
  priorities_.assign(threads, -1);
  for (const auto& cpu : rows_.cpu_runs) {
    for (const CpuRun& run : cpu) priorities_[run.utid] = run.priority;
  }
  for (auto& cpu : rows_.irq_runs) cpu = Flatten(cpu);
  rows_.irq_runs.resize(std::max(rows_.irq_runs.size(), rows_.cpu_runs.size()));
  for (const auto& cpu : rows_.irq_runs) has_irqs_ = has_irqs_ || !cpu.empty();
  for (std::size_t i = 0; i < rows_.disk_requests.size(); ++i) {
    if (rows_.disk_requests[i].complete >= 0) {
      by_completion_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  std::stable_sort(by_completion_.begin(), by_completion_.end(), [&](auto a, auto b) {
    return rows_.disk_requests[a].complete < rows_.disk_requests[b].complete;
  });
}

const Process* Timeline::ProcessOf(Utid utid) const {
  const Upid upid = rows_.threads[utid].upid;
  return upid == kNone ? nullptr : &rows_.processes[upid];
}

bool Timeline::SameProcess(Utid a, Utid b) const {
  return rows_.threads[a].upid != kNone && rows_.threads[a].upid == rows_.threads[b].upid;
}

std::span<const State> Timeline::StatesIn(Utid utid, Interval time) const {
  return Overlapping(StatesOf(utid), time);
}

const State* Timeline::Before(Utid utid, std::int64_t ts) const {
  const auto states = StatesOf(utid);
  const auto after = std::partition_point(states.begin(), states.end(),
                                          [&](const State& row) { return row.ts < ts; });
  if (after == states.begin()) return nullptr;
  const State& row = *(after - 1);
  return row.end >= ts ? &row : nullptr;
}

const State* Timeline::Next(const State& state) const {
  const auto states = StatesOf(state.utid);
  const State* next = &state + 1;
  if (next == states.data() + states.size() || next->ts != state.end) return nullptr;
  return next;
}

std::span<const CpuRun> Timeline::RunsIn(std::size_t cpu, Interval time) const {
  if (cpu >= rows_.cpu_runs.size()) return {};
  return Overlapping(std::span<const CpuRun>(rows_.cpu_runs[cpu]), time);
}

std::span<const IrqRun> Timeline::IrqsIn(std::size_t cpu, Interval time) const {
  if (cpu >= rows_.irq_runs.size()) return {};
  return Overlapping(std::span<const IrqRun>(rows_.irq_runs[cpu]), time);
}

std::int64_t Timeline::IrqTime(std::size_t cpu, Interval time) const {
  std::int64_t total = 0;
  for (const IrqRun& run : IrqsIn(cpu, time)) {
    total += Intersect({run.ts, run.end}, time).length();
  }
  return total;
}

std::span<const Migration> Timeline::MigrationsOf(Utid utid, Interval time) const {
  const auto rows =
      std::span(rows_.migrations)
          .subspan(first_migration_[utid], first_migration_[utid + 1] - first_migration_[utid]);
  const auto begin = std::partition_point(
      rows.begin(), rows.end(), [&](const Migration& row) { return row.ts < time.begin; });
  const auto end = std::partition_point(begin, rows.end(),
                                        [&](const Migration& row) { return row.ts < time.end; });
  return {begin, end};
}

const DiskRequest* Timeline::CompletedJustBefore(std::int64_t ts) const {
  const auto after =
      std::partition_point(by_completion_.begin(), by_completion_.end(),
                           [&](auto index) { return rows_.disk_requests[index].complete <= ts; });
  if (after == by_completion_.begin()) return nullptr;
  const DiskRequest& request = rows_.disk_requests[*(after - 1)];
  return ts - request.complete <= kCompletionToWakeupNs ? &request : nullptr;
}

std::vector<Throttled> Timeline::ThrottledOf(Utid utid) const {
  std::vector<Throttled> rows;
  const Process* process = ProcessOf(utid);
  if (process == nullptr || process->cgroup.empty()) return rows;
  for (const Throttled& row : rows_.throttled) {
    const bool applies =
        process->cgroup.starts_with(row.cgroup) &&
        (process->cgroup.size() == row.cgroup.size() || process->cgroup[row.cgroup.size()] == '/');
    if (applies) rows.push_back(row);
  }
  return rows;
}

std::vector<std::int16_t> Timeline::CpusOf(Utid utid) const {
  std::vector<bool> seen(cpu_count(), false);
  for (const State& state : StatesOf(utid)) {
    if (state.activity != Activity::kRunning || state.cpu < 0) continue;
    if (static_cast<std::size_t>(state.cpu) < seen.size()) seen[state.cpu] = true;
  }
  std::vector<std::int16_t> cpus;
  for (std::size_t cpu = 0; cpu < seen.size(); ++cpu) {
    if (seen[cpu]) cpus.push_back(static_cast<std::int16_t>(cpu));
  }
  return cpus;
}

const IrqRun* Timeline::IrqAt(std::size_t cpu, std::int64_t ts) const {
  const auto rows = IrqsIn(cpu, {ts, ts + 1});
  return rows.empty() ? nullptr : &rows.front();
}

Utid Timeline::RunningAt(std::size_t cpu, std::int64_t ts) const {
  const auto rows = RunsIn(cpu, {ts, ts + 1});
  return rows.empty() ? kNone : rows.front().utid;
}

}  // namespace culprit::analysis
