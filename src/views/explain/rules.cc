// culprit explain --list-rules.
#include <fmt/format.h>

#include <iterator>

#include "analysis/sql_rules.h"
#include "analysis/walk_rule_table.h"
#include "views/explain/explain_view.h"

namespace culprit::views {

namespace {

struct RuleText {
  std::string_view id, kind, meaning, why, remedy, needs;
  double warn_share, critical_share;
  std::int64_t least_ns;
};

void Append(const RuleText& rule, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{}  ({})\n  {}\n", rule.id, rule.kind, rule.meaning);
  if (rule.warn_share >= analysis::kNever) {
    text += "  never more than info";
  } else {
    fmt::format_to(std::back_inserter(text),
                   "  warn from {:.0f} %, crit from {:.0f} % of a victim's time, and {} ms",
                   100 * rule.warn_share, 100 * rule.critical_share, rule.least_ns / 1'000'000);
  }
  fmt::format_to(std::back_inserter(text), ": {}\n  what to do: {}\n  needs: {}\n\n", rule.why,
                 rule.remedy, rule.needs);
}

}  // namespace

std::string ExplainRulesText() {
  std::string text;
  for (const analysis::WalkRule& rule : analysis::WalkRules()) {
    Append({rule.id, rule.kind, rule.meaning, rule.why, rule.remedy, rule.needs, rule.warn_share,
            rule.critical_share, rule.least_ns},
           text);
  }
  for (const analysis::SqlRule& rule : analysis::SqlRules()) {
    const analysis::SqlRuleHead head = analysis::HeadOf(rule);
    Append({rule.id, rule.kind, head.meaning, rule.why, head.remedy, head.needs, rule.warn_share,
            rule.critical_share, rule.least_ns},
           text);
  }
  return text;
}

}  // namespace culprit::views
