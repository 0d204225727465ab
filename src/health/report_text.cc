// The report for a person: the verdict, what is sick explained worst first, a table of resources.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>

#include "base/text.h"
#include "health/report.h"

namespace culprit::health {
namespace {

std::string_view ColourOf(FindingStatus status) {
  switch (status) {
    case FindingStatus::kCritical:
      return "\x1b[1;31m";
    case FindingStatus::kWarning:
      return "\x1b[33m";
    case FindingStatus::kUnknown:
      return "\x1b[35m";
    case FindingStatus::kOk:
      return "\x1b[32m";
    default:
      return "\x1b[2m";
  }
}

class Printer {
 public:
  Printer(const Report& report, const TextOptions& options) : report_(report), options_(options) {}

  std::string Print() {
    Verdict();
    Problems();
    Changes();
    Unknowns();
    Table();
    if (options_.all) All();
    return std::move(text_);
  }

 private:
  std::string Painted(FindingStatus status, std::string_view text) const {
    if (!options_.colour) return std::string(text);
    return fmt::format("{}{}\x1b[0m", ColourOf(status), text);
  }

  std::size_t Count(FindingStatus status) const {
    return static_cast<std::size_t>(std::ranges::count(report_.findings, status, &Finding::status));
  }

  void Verdict() {
    const std::size_t critical = Count(FindingStatus::kCritical);
    const std::size_t warnings = Count(FindingStatus::kWarning);
    const std::size_t unknown = Count(FindingStatus::kUnknown);
    std::string line;
    if (critical + warnings > 0) {
      line = SafeForTerminal(report_.findings.front().summary);
      if (critical + warnings > 1) line += fmt::format(" (and {} more)", critical + warnings - 1);
    } else if (unknown > 0) {
      line = fmt::format("no fault found, but {} checks could not be made", unknown);
    } else {
      line = "no fault found";
    }
    text_ += fmt::format(
        "{}  {}: {}\n", Painted(report_.verdict, StatusName(report_.verdict)),
        SafeForTerminal(report_.node.host.empty() ? "this tree" : report_.node.host), line);
    if (!report_.node.container.empty()) {
      text_ +=
          fmt::format("      seen from inside a container ({}): what runs outside is not seen\n",
                      report_.node.container);
    }
  }

  void One(const Finding& finding) {
    const bool is_new =
        std::ranges::count(report_.new_keys, finding.id + " " + finding.subject) > 0;
    text_ += fmt::format(
        "\n{}  {}{}{}\n", Painted(finding.status, fmt::format("{:<4}", StatusName(finding.status))),
        finding.id, finding.subject.empty() ? "" : "  " + SafeForTerminal(finding.subject),
        is_new ? "  (new)" : "");
    text_ += fmt::format("      {}\n", SafeForTerminal(finding.summary));
    const Rule* rule = FindRule(finding.id);
    const auto beyond = [&](const std::optional<double>& limit) {
      return limit && finding.value &&
             (rule != nullptr && rule->low_is_bad ? *finding.value <= *limit
                                                  : *finding.value >= *limit);
    };
    // What was judged by something else than the value says it in its summary.
    if (beyond(finding.warning_at) || beyond(finding.critical_at)) {
      text_ += fmt::format("      {}", ValueText(*finding.value, finding.unit));
      if (finding.warning_at)
        text_ += fmt::format("; warning at {}", ValueText(*finding.warning_at, finding.unit));
      if (finding.critical_at)
        text_ += fmt::format(", critical at {}", ValueText(*finding.critical_at, finding.unit));
      text_ += fmt::format(" ({})", finding.threshold_source);
      if (finding.age_s) text_ += fmt::format("; for {:.0f} s", *finding.age_s);
      text_ += "\n";
    }
    for (const std::string& line : finding.evidence)
      text_ += fmt::format("      - {}\n", SafeForTerminal(line));
    if (!finding.advice.empty())
      text_ += fmt::format("      -> {}\n", SafeForTerminal(finding.advice));
  }

  void Problems() {
    for (const Finding& finding : report_.findings) {
      if (finding.status == FindingStatus::kCritical || finding.status == FindingStatus::kWarning)
        One(finding);
    }
  }

  void Changes() {
    if (report_.cleared.empty()) return;
    text_ += "\n";
    for (const Finding& finding : report_.cleared) {
      text_ +=
          fmt::format("{}  {}{} is over{}\n", Painted(FindingStatus::kOk, "cleared"), finding.id,
                      finding.subject.empty() ? "" : " of " + SafeForTerminal(finding.subject),
                      finding.age_s ? fmt::format(", it lasted {:.0f} s", *finding.age_s) : "");
    }
  }

  // One line a reason, however many checks it stopped.
  void Unknowns() {
    std::map<std::string, std::string> by_reason;
    bool root_helps = false;
    for (const Finding& finding : report_.findings) {
      if (finding.status != FindingStatus::kUnknown) continue;
      std::string& ids = by_reason[finding.skipped_reason];
      ids += (ids.empty() ? "" : ", ") + finding.id;
      root_helps = root_helps || finding.needs_root;
    }
    if (by_reason.empty()) return;
    text_ += "\n";
    for (const auto& [reason, ids] : by_reason) {
      text_ += fmt::format("{}  {}: {}\n", Painted(FindingStatus::kUnknown, "UNKNOWN"), ids,
                           SafeForTerminal(reason));
    }
    if (root_helps) text_ += "      -> as root more can be seen: sudo culprit check\n";
  }

  void Table() {
    text_ += fmt::format("\n{:<9} {:<9} {:<9} {:<9}\n", "", "use", "sat", "err");
    std::string healthy;
    for (const std::string_view resource : Resources()) {
      std::array<std::optional<FindingStatus>, 3> cells;
      for (const Finding& finding : report_.findings) {
        if (finding.resource != resource) continue;
        auto& cell = cells[finding.use == 'U' ? 0 : finding.use == 'S' ? 1 : 2];
        if (!cell || Severity(finding.status) > Severity(*cell)) cell = finding.status;
      }
      if (std::ranges::none_of(cells, [](const auto& cell) { return cell.has_value(); })) continue;
      text_ += fmt::format("{:<9}", resource);
      for (const auto& cell : cells) {
        const std::string word = cell ? std::string(StatusName(*cell)) : "-";
        text_ +=
            " " + (cell ? Painted(*cell, fmt::format("{:<9}", word)) : fmt::format("{:<9}", word));
      }
      while (text_.ends_with(' ')) text_.pop_back();
      text_ += "\n";
    }
    const std::size_t fine = Count(FindingStatus::kOk);
    text_ += fmt::format("\n{} checks OK, {} not applicable here (--all lists them); {} CPUs, ",
                         fine, Count(FindingStatus::kNotApplicable), report_.cpus);
    text_ += report_.sample_s > 0 ? fmt::format("sampled over {:.2f} s", report_.sample_s)
                                  : std::string("one sample");
    text_ += report_.sample_assumed
                 ? " (assumed: the trees' uptimes do not tell; --sample sets it)\n"
                 : "\n";
  }

  void All() {
    for (const FindingStatus status : {FindingStatus::kOk, FindingStatus::kNotApplicable}) {
      text_ += "\n";
      for (const Finding& finding : report_.findings) {
        if (finding.status != status) continue;
        text_ += fmt::format("{}  {:<22} {}\n",
                             Painted(status, fmt::format("{:<4}", StatusName(status))), finding.id,
                             SafeForTerminal(finding.summary));
        for (const std::string& line : finding.evidence)
          text_ += fmt::format("      - {}\n", SafeForTerminal(line));
      }
    }
  }

  const Report& report_;
  const TextOptions& options_;
  std::string text_;
};

std::string StateOf(const Rule& rule, const CheckConfig& config) {
  if (rule.measure == nullptr) return "not built";
  return config.IsOff(rule) ? "off" : "on";
}

}  // namespace

std::string ValueText(double value, std::string_view unit) {
  if (unit == "bytes" && value >= 0) return FormatBytes(static_cast<std::uint64_t>(value));
  std::string number = std::fabs(value) >= 1000 || value == std::floor(value)
                           ? fmt::format("{:.0f}", value)
                           : fmt::format("{:.3g}", value);
  if (unit.empty()) return number;
  return number + (unit.starts_with('/') ? "" : " ") + std::string(unit);
}

std::string ReportText(const Report& report, const TextOptions& options) {
  return Printer(report, options).Print();
}

std::string RuleListText(const CheckConfig& config) {
  std::string text = fmt::format("{:>3}  {:<22} {:<3} {:<9} {:<5} {}\n", "row", "check", "use",
                                 "state", "priv", "what");
  for (const std::string_view resource : Resources()) {
    for (const Rule& rule : Rules()) {
      if (rule.resource != resource) continue;
      text +=
          fmt::format("{:>3}  {:<22} {:<3} {:<9} {:<5} {}\n", rule.number, rule.id, rule.use,
                      StateOf(rule, config), rule.privilege == 'r' ? "root" : "user", rule.title);
    }
  }
  return text;
}

std::string RuleListMarkdown() {
  std::string text =
      "# The checks of culprit check\n\n"
      "Printed by `culprit check --list --format markdown`. U utilization, S saturation, E errors. "
      "Sources of "
      "thresholds: nd\nnetdata, mx the node_exporter mixin, gp gpud, gcm Meta's GPU cluster "
      "monitoring, az Azure's node "
      "health checks, dc DCGM,\nnv NVIDIA, at atop; J: our judgement, measure before relying on "
      "it.\n\n"
      "| row | check | USE | what | formula | W / C | source | what fools it | advice | read by |\n"
      "|-|-|-|-|-|-|-|-|-|-|\n";
  const auto cell = [](std::string_view raw) {
    std::string safe;
    for (const char c : raw) {
      if (c == '|') safe += '\\';
      safe += c;
    }
    return safe;
  };
  const auto limit = [](const std::optional<double>& value, std::string_view unit) {
    return value ? ValueText(*value, unit) : std::string("-");
  };
  for (const std::string_view resource : Resources()) {
    for (const Rule& rule : Rules()) {
      if (rule.resource != resource) continue;
      std::string limits =
          limit(rule.warning_at, rule.unit) + " / " + limit(rule.critical_at, rule.unit);
      if (rule.low_is_bad) limits += " (floor)";
      if (rule.persist_s > 0) limits += fmt::format(", {:.0f} s", rule.persist_s);
      text += fmt::format("| {} | `{}` | {} {} | {} | {} | {} | {} | {} | {} | {} |\n", rule.number,
                          rule.id, rule.resource, rule.use, cell(rule.title), cell(rule.formula),
                          cell(limits), cell(rule.source), cell(rule.fooled_by), cell(rule.advice),
                          rule.privilege == 'r' ? "root" : "anybody");
    }
  }
  return text;
}

std::string RuleText(const Rule& rule, const CheckConfig& config) {
  const Thresholds thresholds = config.Of(rule);
  std::string limits = "none: it informs";
  if (thresholds.warning_at || thresholds.critical_at) {
    limits = fmt::format(
        "{}{}{}{}", rule.low_is_bad ? "at or below: " : "at or above: ",
        thresholds.warning_at ? "warning " + ValueText(*thresholds.warning_at, rule.unit) : "",
        thresholds.warning_at && thresholds.critical_at ? ", " : "",
        thresholds.critical_at ? "critical " + ValueText(*thresholds.critical_at, rule.unit) : "");
    if (rule.persist_s > 0)
      limits += fmt::format(", critical only when it lasts {:.0f} s", rule.persist_s);
  }
  return fmt::format(
      "{}: {}\n  resource    {} ({})\n  reads       {}\n  formula     {}\n  thresholds  {}\n"
      "  source      {}\n  fooled by   {}\n  advice      {}\n  privilege   {}\n  state       {}\n",
      rule.id, rule.title, rule.resource,
      rule.use == 'U'   ? "utilization"
      : rule.use == 'S' ? "saturation"
                        : "errors",
      rule.reads, rule.formula, limits, thresholds.source, rule.fooled_by, rule.advice,
      rule.privilege == 'r' ? "root or a capability" : "any user", StateOf(rule, config));
}

}  // namespace culprit::health
