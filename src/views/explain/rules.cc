// culprit explain --list-rules.
#include <fmt/format.h>

#include <iterator>

#include "analysis/walk_rule_table.h"
#include "views/explain/explain_view.h"

namespace culprit::views {

std::string ExplainRulesText() {
  std::string text;
  for (const analysis::WalkRule& rule : analysis::WalkRules()) {
    const bool is_info = rule.warn_share >= analysis::kNever;
    fmt::format_to(std::back_inserter(text), "{}  ({})\n  {}\n", rule.id, rule.kind, rule.meaning);
    if (is_info) {
      text += "  never more than info";
    } else {
      fmt::format_to(std::back_inserter(text),
                     "  warn from {:.0f} %, crit from {:.0f} % of a victim's time, and {} ms",
                     100 * rule.warn_share, 100 * rule.critical_share, rule.least_ns / 1'000'000);
    }
    fmt::format_to(std::back_inserter(text), ": {}\n  what to do: {}\n  needs: {}\n\n", rule.why,
                   rule.remedy, rule.needs);
  }
  return text;
}

}  // namespace culprit::views
