#include "analysis/walk_sql.h"

#include <fmt/format.h>

namespace culprit::analysis {
namespace {

// Several stretches of time (--slice) make no readable statement.
constexpr std::size_t kMostTimes = 1;

constexpr std::string_view kWalk = R"(WITH RECURSIVE walk AS (
  SELECT {} AS utid, {} AS b, {} AS e, 0 AS depth
  UNION ALL
  SELECT n.waker_utid, greatest(s.ts, w.b), least(n.ts, w.e), w.depth + 1
  FROM walk AS w
  JOIN thread_state AS s ON s.utid = w.utid AND s.ts < w.e AND s.ts + s.dur > w.b
  JOIN thread_state AS n ON n.utid = s.utid AND n.ts = s.ts + s.dur
  WHERE w.depth < 64 AND s.dur >= 0 AND s.state NOT IN ('Running', 'R', 'R+', 'X', 'Z', 'T', 't')
    AND n.state = 'R' AND n.waker_utid > 0 AND n.waker_utid <> s.utid AND coalesce(n.irq_context, 0) = 0
    AND greatest(s.ts, w.b) < least(n.ts, w.e)))";

// All that ran on the CPU in whose queue a thread of the walk stood.
constexpr std::string_view kReady = R"(,
ready AS (
  SELECT greatest(s.ts, w.b) AS b, least(s.ts + s.dur, w.e) AS e,
         coalesce(k.target_cpu, (SELECT max(p.cpu) FROM thread_state AS p
                                 WHERE p.utid = s.utid AND p.ts + p.dur = s.ts AND p.state = 'Running')) AS cpu
  FROM walk AS w
  JOIN thread_state AS s ON s.utid = w.utid AND s.ts < w.e AND s.ts + s.dur > w.b
  LEFT JOIN wakeup AS k ON k.thread_state_id = s.id AND k.spurious = 0
  WHERE s.state IN ('R', 'R+') AND s.dur >= 0)
SELECT sum(least(r.e, c.ts + c.dur) - greatest(r.b, c.ts)) AS wait_ns
FROM ready AS r
JOIN sched AS c ON c.cpu = r.cpu AND c.ts < r.e AND c.ts + c.dur > r.b
WHERE c.utid IN ({}))";

// What threads of the walk did while others waited for them.
constexpr std::string_view kRan = R"(
SELECT sum(least(s.ts + s.dur, w.e) - greatest(s.ts, w.b)) AS wait_ns
FROM walk AS w
JOIN thread_state AS s ON s.utid = w.utid AND s.ts < w.e AND s.ts + s.dur > w.b
WHERE w.depth > 0 AND s.state = 'Running' AND s.utid IN ({}))";

}  // namespace

std::string WalkSql(const FindingContext& context) {
  const std::string_view id = context.blame.rule->id;
  const bool is_taken = id == rule::kNeighbour || id == rule::kInversion ||
                        id == rule::kKernelThread || id == rule::kOversubscribed;
  const bool is_busy = id == rule::kBusy;
  if ((!is_taken && !is_busy) || context.worst.walk.times.size() > kMostTimes) return "";
  std::string threads;
  for (const auto& [utid, ns] : context.sum.by_culprit_thread) {
    threads += fmt::format("{}{}", threads.empty() ? "" : ", ", utid);
  }
  if (context.worst.walk.times.empty() || threads.empty()) return "";
  const Interval time = context.worst.walk.times.front();
  return fmt::format(fmt::runtime(kWalk), context.worst.victim.utid, time.begin, time.end) +
         fmt::format(fmt::runtime(is_taken ? kReady : kRan), threads);
}

}  // namespace culprit::analysis
