#include "analysis/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/budget.h"
#include "analysis/chains.h"
#include "analysis/culprits.h"
#include "analysis/evidence.h"
#include "analysis/finding_text.h"
#include "analysis/findings.h"
#include "analysis/picture.h"
#include "analysis/sql_rules.h"
#include "analysis/timeline_loader.h"
#include "analysis/victims.h"
#include "base/text.h"
#include "tables/database.h"

namespace culprit::analysis {
namespace {

constexpr std::size_t kMostLongestWaits = 3;
// With more of the victims' time unknown than this, finding nothing is no sign of health: the least
// share that is critical for most rules is as large.
constexpr double kMostUnknown = 0.15;

Interval Hull(std::span<const Interval> times) {
  if (times.empty()) return {};
  Interval hull = times.front();
  for (const Interval& time : times) {
    hull.begin = std::min(hull.begin, time.begin);
    hull.end = std::max(hull.end, time.end);
  }
  return hull;
}

std::vector<Walked> WalkAll(const Timeline& timeline, const VictimChoice& choice,
                            std::span<const Interval> times) {
  std::vector<Walked> walked;
  for (const Victim& victim : choice.victims) {
    Walked row{victim, Attribute(timeline, victim.utid, times)};
    row.alive_ns = row.walk.nodes.front().waited.ns;
    for (const auto& [cause, amount] : row.walk.nodes.front().causes) {
      if (cause.kind == CauseKind::kAbsent) row.alive_ns -= amount.ns;
    }
    walked.push_back(std::move(row));
  }
  return walked;
}

void AddChains(const Timeline& timeline, std::span<const Walked> walked, std::size_t top,
               Explanation& made) {
  for (std::size_t i = 0; i < walked.size() && i < top; ++i) {
    const TaskName name = NameTask(timeline, walked[i].victim.utid);
    made.chains.push_back({name, true, made.window, MakeTree(timeline, walked[i].walk)});
  }
  if (made.findings.empty()) return;
  const Utid worst = made.findings.front().victims.front().victim.utid;
  const auto found =
      std::ranges::find_if(walked, [&](const Walked& row) { return row.victim.utid == worst; });
  if (found == walked.end()) return;
  for (const Interval& wait : LongestWaits(timeline, found->walk, kMostLongestWaits)) {
    made.chains.push_back({NameTask(timeline, worst), false, wait,
                           MakeTree(timeline, Attribute(timeline, worst, wait))});
  }
}

void AddVerdict(Explanation& made) {
  if (made.victims.empty()) {
    made.verdict =
        "Nothing waited: no thread stood in the way of its own work for 2 % of the time.";
    return;
  }
  if (!made.findings.empty()) made.level = made.findings.front().level;
  if (made.level >= Level::kWarning) {
    made.verdict = made.findings.front().summary;
    return;
  }
  if (made.evidence.unknown_share > kMostUnknown) {
    made.is_conclusive = false;
    made.verdict = fmt::format(
        "Cannot tell: what the {} victims did in {:.1f} % of their time is not in the recording.",
        made.victims.size(), 100 * made.evidence.unknown_share);
    return;
  }
  made.verdict = fmt::format(
      "No culprit: {} victims were examined over {}, and nothing kept them "
      "from their work beyond the thresholds.",
      made.victims.size(), FormatDuration({made.window.length()}));
}

// Without switches nothing is known of any thread's time; that is no good health.
Status CheckSwitches(tables::Connection& connection, bool has_own_threads_only, Interval window,
                     Interval trace) {
  // Samples of one's own threads tell their states without a switch.
  const std::string_view table = has_own_threads_only ? "thread_state" : "sched";
  const auto count_in = [&](Interval time) {
    return connection.QueryInteger(
        fmt::format("SELECT count(*) FROM {} WHERE ts < {} AND (dur < 0 OR ts + dur > {})", table,
                    time.end, time.begin));
  };
  CULPRIT_ASSIGN(const auto seen, count_in(window));
  if (seen > 0) return {};
  CULPRIT_ASSIGN(const auto seen_anywhere, count_in(trace));
  if (seen_anywhere > 0) {
    return Error{"no CPU's scheduling was recorded in that part of the trace",
                 "choose another --from and --to; the table stats tells what was lost"};
  }
  return Error{"the trace has no scheduling events: who waited for what cannot be told",
               "record them: culprit record (its default has them)"};
}

// Some kernels leave switches out (sandboxes hide threads of theirs; tracing may be off in a CPU's
// idle loop): where the next one does not follow from the one before, that is seen.
Status NoteMissingSwitches(tables::Connection& connection, Evidence& evidence) {
  CULPRIT_ASSIGN(const auto missing,
                 connection.QueryInteger("SELECT coalesce(sum(value), 0)::BIGINT FROM stats WHERE "
                                         "name = 'mismatched_sched_switch_tids'"));
  if (missing == 0) return {};
  evidence.notes.push_back(fmt::format(
      "in {} places a switch is missing that the kernel did not trace: what the threads "
      "of that CPU did before is unknown",
      FormatCount(static_cast<std::uint64_t>(missing))));
  return {};
}

Error NobodyFits(const VictimChoice& choice) {
  return Error{fmt::format("no thread that was there in the time examined fits --{} {}", choice.by,
                           choice.selection),
               "culprit query TRACE \"SELECT tid, thread.name, pid, process.name FROM thread LEFT "
               "JOIN process USING (upid)\" shows them"};
}

}  // namespace

Result<Explanation> Explain(tables::Connection& connection, const ExplainOptions& options) {
  CULPRIT_ASSIGN(const Timeline timeline, LoadTimeline(connection));
  Explanation made;
  made.trace = timeline.window();
  std::vector<Interval> times = {options.window.length() > 0 ? Intersect(options.window, made.trace)
                                                             : made.trace};
  CULPRIT_TRY(
      CheckSwitches(connection, timeline.has_own_threads_only(), times.front(), made.trace));
  std::vector<Utid> slice_threads;
  if (!options.slice_glob.empty()) {
    CULPRIT_TRY(LoadSlices(connection, options.slice_glob, times.front(), times, slice_threads));
  }
  made.window = Hull(times);
  for (const Interval& time : times) made.examined_ns += time.length();
  const auto totals = SumThreads(timeline, made.window);
  const VictimChoice choice = ChooseVictims(timeline, totals, options, made.window, slice_threads);
  if (choice.victims.empty() && choice.by != "auto") return NobodyFits(choice);
  made.selected_by = choice.by;
  made.selection = choice.selection;
  made.selection_reason = choice.reason;

  const std::vector<Walked> walked = WalkAll(timeline, choice, times);
  Culprits culprits(timeline, choice, made.window);
  for (std::size_t i = 0; i < walked.size(); ++i) culprits.Add(i, walked[i].walk);
  made.findings = MakeFindings(timeline, choice, walked, culprits);
  for (const Walked& row : walked) {
    made.victims.push_back({NameTask(timeline, row.victim.utid), row.victim.role, row.victim.why,
                            MakeBudget(timeline, row.walk)});
  }
  made.evidence = WeighEvidence(timeline, walked, made.window);
  CULPRIT_TRY(NoteMissingSwitches(connection, made.evidence));
  for (const WalkRule& rule : WalkRules()) {
    // Most rules are about other programs or wakers.
    constexpr std::string_view kOfOwnThreads[] = {rule::kOversubscribed, rule::kThrottled,
                                                  rule::kBlocked, rule::kStopped};
    const bool is_known = !timeline.has_own_threads_only() ||
                          std::ranges::find(kOfOwnThreads, rule.id) != std::end(kOfOwnThreads);
    made.examined.push_back(
        is_known ? fmt::format("{}: {}", rule.id, rule.meaning)
                 : fmt::format("{}: not examined: needs a recording as root", rule.id));
  }
  AddSqlFindings(connection, timeline, walked, made);
  SortFindings(walked, made.findings);
  made.pictures = MakePictures(timeline, made.findings);
  AddChains(timeline, walked, options.top, made);
  AddVerdict(made);
  return made;
}

}  // namespace culprit::analysis
