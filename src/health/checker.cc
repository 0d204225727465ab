#include "health/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

#include "base/text.h"
#include "health/baseline.h"

namespace culprit::health {
namespace {

// So many subjects of one check are told one by one; the rest is counted.
constexpr std::size_t kMostSubjects = 20;

std::string Key(const Finding& finding) { return finding.id + " " + finding.subject; }

bool IsProblem(FindingStatus status) {
  return status == FindingStatus::kWarning || status == FindingStatus::kCritical;
}

bool IsWorse(double value, double other, bool low_is_bad) {
  return low_is_bad ? value < other : value > other;
}

// The interval by the trees' own clocks; nothing when they do not tell.
std::optional<double> CapturedSeconds(const Moment& before, const Moment& after) {
  if (!before.uptime_s || !after.uptime_s || *after.uptime_s <= *before.uptime_s)
    return std::nullopt;
  return *after.uptime_s - *before.uptime_s;
}

}  // namespace

Finding JudgeReading(const Rule& rule, const Thresholds& thresholds, const Reading& reading,
                     double age_s) {
  Finding finding;
  finding.id = rule.id;
  finding.resource = rule.resource;
  finding.use = rule.use;
  finding.subject = reading.subject;
  finding.value = reading.value;
  finding.unit = rule.unit;
  finding.warning_at = thresholds.warning_at;
  finding.critical_at = thresholds.critical_at;
  finding.threshold_source = thresholds.source;
  finding.evidence = reading.evidence;
  finding.age_s = reading.age_s;
  const auto beyond = [&](const std::optional<double>& limit) {
    if (!limit || !reading.value || std::isnan(*reading.value)) return false;
    return *reading.value == *limit || IsWorse(*reading.value, *limit, rule.low_is_bad);
  };
  if (reading.status) {
    finding.status = *reading.status;
  } else if (beyond(thresholds.critical_at)) {
    finding.status = FindingStatus::kCritical;
  } else if (beyond(thresholds.warning_at)) {
    finding.status = FindingStatus::kWarning;
  }
  if (!reading.status && Severity(finding.status) > Severity(reading.worst) &&
      IsProblem(finding.status)) {
    finding.status = reading.worst;
  }
  if (finding.status == FindingStatus::kCritical &&
      rule.persist_s > std::max(age_s, reading.age_s.value_or(0)) && !reading.status) {
    finding.status = FindingStatus::kWarning;
    finding.evidence.push_back(
        fmt::format("critical when it lasts {:.0f} s: --watch tells", rule.persist_s));
  }
  finding.summary = reading.summary;
  if (finding.status == FindingStatus::kUnknown ||
      finding.status == FindingStatus::kNotApplicable) {
    // A file that is there and holds something else has no errno that could be the reason.
    if (finding.summary.empty())
      finding.summary = fmt::format("what it reads cannot be understood: {}", rule.reads);
    finding.skipped_reason = finding.summary;
    finding.needs_root = reading.needs_root;
  } else if (finding.summary.empty() && finding.value) {
    finding.summary =
        fmt::format("{}{}{}: {:.4g} {}", rule.title, finding.subject.empty() ? "" : " of ",
                    finding.subject, *finding.value, rule.unit);
  }
  finding.advice = !IsProblem(finding.status) ? ""
                   : reading.advice.empty()   ? std::string(rule.advice)
                                              : reading.advice;
  return finding;
}

int ExitStatus(FindingStatus verdict, bool npd) {
  switch (verdict) {
    case FindingStatus::kCritical:
      return npd ? 1 : 2;
    case FindingStatus::kWarning:
      return 1;
    case FindingStatus::kUnknown:
      return npd ? 2 : 3;
    default:
      return 0;
  }
}

Checker::Checker(CheckOptions options)
    : options_(std::move(options)),
      reader_(options_.root,
              [this] {
                std::erase_if(options_.rules,
                              [this](const Rule* rule) { return options_.config.IsOff(*rule); });
                return PlanReads(options_.rules);
              }()),
      node_(reader_.ReadFacts()) {}

Report Checker::Run(DurationNs wait) {
  const TimeNs start = NowBoottime();
  Report report;
  if (!reader_.live()) {
    Moment before = reader_.Read(options_.root_next.empty(), start + options_.deadline);
    if (options_.root_next.empty()) {
      report = Judge(before, before, false, 0);
    } else {
      NodeReader next(options_.root_next, PlanReads(options_.rules));
      const Moment after = next.Read(true, start + options_.deadline);
      const auto told = CapturedSeconds(before, after);
      report = Judge(before, after, true, told.value_or(ToSeconds(options_.sample)));
      report.sample_assumed = !told;
    }
  } else {
    const TimeNs round_start = last_ ? last_->at + wait : start;
    const TimeNs until = std::max(round_start, start) + options_.deadline;
    reader_.ForgetStuck();
    // A driver that hangs in the first sample must leave time for what else there is to ask.
    if (!last_) last_ = reader_.Read(false, start + DurationNs{options_.deadline.value / 3});
    reader_.StartSlow(*last_, first_round_ ? options_.sample : std::min(wait, options_.sample));
    const DurationNs pause = first_round_ ? options_.sample : wait;
    const TimeNs next_at = last_->at + pause;
    const std::int64_t left_ns = next_at.value - NowBoottime().value;
    if (left_ns > 0) {
      timespec rest{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
      while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
      }
    }
    Moment after = reader_.Read(true, until);
    reader_.CollectSlow(after, until);
    report = Judge(*last_, after, true, ToSeconds(after.at - last_->at));
    last_ = std::move(after);
  }
  report.duration_s = ToSeconds(NowBoottime() - start);
  first_round_ = false;
  return report;
}

Report Checker::Judge(const Moment& before, const Moment& after, bool two, double seconds) {
  Report report;
  report.node = node_;
  report.time_s = std::time(nullptr);
  report.sample_s = two ? seconds : 0;
  const std::size_t cpus = std::max<std::size_t>(1, after.stat.cpus.size());
  report.cpus = cpus;
  report.seen = BaselineOf(after);
  const Context context{.node = node_,
                        .before = before,
                        .after = after,
                        .two = two,
                        .seconds = seconds,
                        .cpus = cpus,
                        .stuck = reader_.stuck(),
                        .baseline = options_.baseline ? &*options_.baseline : nullptr,
                        .held_since = &held_since_};
  std::map<std::string, TimeNs> seen;
  std::map<std::string, Finding> problems;
  for (const Rule* rule : options_.rules) {
    Readings readings;
    rule->measure(context, readings);
    // A check that has nothing to say is a gap that has to be told.
    if (readings.rows().empty())
      readings.Unknown("nothing to compare: counters fell, or devices came and went meanwhile");
    const Thresholds thresholds = options_.config.Of(*rule);
    std::vector<Finding> bad;
    std::optional<Finding> best;  // the worst of those that are OK
    std::size_t fine = 0;
    for (const Reading& reading : readings.rows()) {
      Finding finding = JudgeReading(*rule, thresholds, reading, 0);
      if (IsProblem(finding.status)) {
        // How long this subject has been bad, over the rounds of --watch.
        const std::string key = Key(finding);
        const auto first = first_seen_.find(key);
        const TimeNs since = first == first_seen_.end() ? before.at : first->second;
        seen[key] = since;
        const double age_s = node_.live ? ToSeconds(after.at - since) : seconds;
        finding = JudgeReading(*rule, thresholds, reading, age_s);
        finding.age_s = std::max(age_s, finding.age_s.value_or(0));
        problems[key] = finding;
        if (!first_round_ && !problems_.contains(key)) report.new_keys.push_back(key);
        bad.push_back(std::move(finding));
        continue;
      }
      if (finding.status == FindingStatus::kOk) ++fine;
      const bool replaces = !best || Severity(finding.status) > Severity(best->status) ||
                            (finding.status == best->status && finding.value && best->value &&
                             IsWorse(*finding.value, *best->value, rule->low_is_bad));
      if (replaces) best = std::move(finding);
    }
    std::ranges::stable_sort(bad, [&](const Finding& a, const Finding& b) {
      if (Severity(a.status) != Severity(b.status)) return Severity(a.status) > Severity(b.status);
      return IsWorse(a.value.value_or(0), b.value.value_or(0), rule->low_is_bad);
    });
    if (bad.size() > kMostSubjects) {
      bad[kMostSubjects - 1].evidence.push_back(
          fmt::format("and {} more subjects of this check", bad.size() - kMostSubjects));
      bad.resize(kMostSubjects);
    }
    if (best && fine > 1 && best->status == FindingStatus::kOk) {
      best->evidence.push_back(fmt::format("the worst of {} that are OK", fine));
    }
    // A check with a problem is told by its problems; what else is fine there is not news. What
    // could not be read beside a problem is.
    if (best && (bad.empty() || best->status == FindingStatus::kUnknown))
      bad.push_back(std::move(*best));
    for (Finding& finding : bad) report.findings.push_back(std::move(finding));
  }
  std::ranges::stable_sort(report.findings, std::greater<>(),
                           [](const Finding& f) { return Severity(f.status); });
  for (const auto& [key, finding] : problems_) {
    if (!problems.contains(key)) report.cleared.push_back(finding);
  }
  first_seen_ = std::move(seen);
  problems_ = std::move(problems);
  const auto rank = [&](FindingStatus status) {
    if (options_.strict_unknown && status == FindingStatus::kUnknown)
      return Severity(FindingStatus::kCritical);
    return Severity(status);
  };
  for (const Finding& finding : report.findings) {
    if (finding.status == FindingStatus::kNotApplicable) continue;
    if (rank(finding.status) > rank(report.verdict)) report.verdict = finding.status;
  }
  return report;
}

}  // namespace culprit::health
