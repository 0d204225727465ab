// OpenMetrics and the output of a Nagios plugin.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "health/report.h"

namespace culprit::health {
namespace {

// A label value: backslash, quote and newline escaped; what is no UTF-8 or a control, made visible.
std::string Label(std::string_view text) {
  std::string safe;
  for (const char c : SafeForTerminal(text)) {
    if (c == '\\' || c == '"') safe.push_back('\\');
    safe.push_back(c);
  }
  return safe;
}

// No PID is a label: "bash (pid 4711)" -> "bash".
std::string WithoutIds(std::string_view subject) {
  for (const std::string_view mark : {" (pid ", " (tid "}) {
    if (const auto at = subject.find(mark); at != subject.npos)
      return std::string(subject.substr(0, at));
  }
  if (subject.starts_with("session ")) return "session";
  return std::string(subject);
}

// The metric of a unit: base units, so a share is a ratio and milliseconds are seconds.
struct Metric {
  std::string_view unit, name, help;
  double factor;
};
constexpr Metric kMetrics[] = {
    {"%", "culprit_check_ratio", "value of a check that is a share", 0.01},
    {"s", "culprit_check_seconds", "value of a check that is a time", 1},
    {"ms", "culprit_check_seconds", "value of a check that is a time", 0.001},
    {"bytes", "culprit_check_bytes", "value of a check that is a size", 1},
    {"kB", "culprit_check_bytes", "value of a check that is a size", 1024},
    {"/s", "culprit_check_per_second", "value of a check that is a rate", 1},
    {"/min", "culprit_check_per_second", "value of a check that is a rate", 1.0 / 60},
};
constexpr Metric kPlain = {"", "culprit_check_value", "value of a check that is a count", 1};

const Metric& MetricOf(std::string_view unit) {
  for (const Metric& metric : kMetrics) {
    if (metric.unit == unit) return metric;
  }
  return kPlain;
}

}  // namespace

std::string ReportOpenMetrics(const Report& report) {
  std::string text;
  text +=
      "# TYPE culprit_check_status gauge\n# HELP culprit_check_status state of a check, 1 for "
      "the one it is in\n";
  constexpr FindingStatus kStates[] = {FindingStatus::kOk, FindingStatus::kWarning,
                                       FindingStatus::kCritical, FindingStatus::kUnknown,
                                       FindingStatus::kNotApplicable};
  // Two findings may have one label set (two processes of one name): the worst of them counts.
  std::map<std::pair<std::string, std::string>, const Finding*> worst;
  for (const Finding& finding : report.findings) {
    const Finding*& slot = worst[{finding.id, WithoutIds(finding.subject)}];
    if (slot == nullptr || Severity(finding.status) > Severity(slot->status)) slot = &finding;
  }
  for (const auto& [key, finding] : worst) {
    for (const FindingStatus state : kStates) {
      text += fmt::format("culprit_check_status{{check=\"{}\",subject=\"{}\",state=\"{}\"}} {}\n",
                          key.first, Label(key.second), StatusName(state),
                          finding->status == state ? 1 : 0);
    }
  }
  std::map<std::string_view, std::string> families;
  std::map<std::string_view, std::string_view> helps;
  for (const auto& [key, finding] : worst) {
    if (!finding->value) continue;
    const Metric& metric = MetricOf(finding->unit);
    helps[metric.name] = metric.help;
    families[metric.name] +=
        fmt::format("{}{{check=\"{}\",subject=\"{}\"}} {}\n", metric.name, key.first,
                    Label(key.second), *finding->value * metric.factor);
  }
  for (const auto& [name, samples] : families) {
    text += fmt::format("# TYPE {} gauge\n# HELP {} {}\n{}", name, name, helps[name], samples);
  }
  text += fmt::format(
      "# TYPE culprit_check_duration_seconds gauge\n# UNIT culprit_check_duration_seconds seconds\n"
      "# HELP culprit_check_duration_seconds time that the checks "
      "took\nculprit_check_duration_seconds {}\n",
      report.duration_s);
  return text + "# EOF\n";
}

std::string ReportNagios(const Report& report) {
  // First line: status and the worst finding; perfdata behind the bar; details below. A bar would
  // end the text early.
  const auto plain = [](std::string_view text) {
    std::string safe = SafeForTerminal(text);
    std::ranges::replace(safe, '|', '/');
    return safe;
  };
  constexpr std::string_view kNames[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN", "OK"};
  std::string perfdata;
  std::string details;
  std::size_t problems = 0, unknown = 0;
  std::string first;
  for (const Finding& finding : report.findings) {
    const bool problem =
        finding.status == FindingStatus::kWarning || finding.status == FindingStatus::kCritical;
    problems += problem ? 1 : 0;
    unknown += finding.status == FindingStatus::kUnknown ? 1 : 0;
    if (problem && first.empty()) first = plain(finding.summary);
    if (problem)
      details +=
          fmt::format("{} {} {}\n", StatusName(finding.status), finding.id, plain(finding.summary));
    if (!finding.value || !(finding.warning_at || finding.critical_at)) continue;
    std::string label =
        finding.id + (finding.subject.empty() ? "" : " " + plain(WithoutIds(finding.subject)));
    std::erase(label, '\'');
    std::ranges::replace(label, '=', '_');
    const std::string_view unit = finding.unit == "%" || finding.unit == "s" || finding.unit == "ms"
                                      ? std::string_view(finding.unit)
                                      : "";
    const auto limit = [](const std::optional<double>& value) {
      return value ? fmt::format("{}", *value) : std::string();
    };
    perfdata += fmt::format(" '{}'={:.6g}{};{};{}", label, *finding.value, unit,
                            limit(finding.warning_at), limit(finding.critical_at));
  }
  if (first.empty())
    first = unknown == 0 ? "no fault found"
                         : fmt::format("no fault found, {} checks could not be made", unknown);
  if (problems > 1) first += fmt::format(" (and {} more)", problems - 1);
  return fmt::format("CULPRIT {} - {} |{}\n{}", kNames[static_cast<int>(report.verdict)], first,
                     perfdata, details);
}

}  // namespace culprit::health
