// A comparison for a terminal: totals, and the functions that changed most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "views/flame/flame_view.h"

namespace culprit::views {
namespace {

std::string Signed(std::int64_t value, const profile::Metric& metric) {
  return (value > 0 ? "+" : "") + FormatWeight(value, metric);
}

std::string Relative(const profile::Diff::Side& side) {
  if (side.before == 0) return "new";
  if (side.after == 0) return "gone";
  return fmt::format("{:+.1f} %", 100.0 * static_cast<double>(side.after - side.before) /
                                      static_cast<double>(side.before));
}

}  // namespace

std::string FlameDiffText(const profile::Diff& diff, std::size_t most) {
  const profile::Metric& metric = diff.profile.metrics.front();
  std::string out = fmt::format("before {}, after {}", FormatWeight(diff.before_total, metric),
                                FormatWeight(diff.after_total, metric));
  if (std::abs(diff.scale - 1) > 1e-9)
    out += fmt::format(" (its weights times {:.4g})", diff.scale);
  out += fmt::format("\n\n{:>14} {:>14} {:>14} {:>9}  {:>14}  function\n", "self before",
                     "self after", "change", "", "total change");
  const auto changes = profile::ChangedFunctions(diff);
  for (std::size_t i = 0; i < std::min(most, changes.size()); ++i) {
    const profile::FunctionChange& change = changes[i];
    out += fmt::format(
        "{:>14} {:>14} {:>14} {:>9}  {:>14}  {}\n", FormatWeight(change.self.before, metric),
        FormatWeight(change.self.after, metric),
        Signed(change.self.after - change.self.before, metric),
        Relative(change.self.before + change.self.after > 0 ? change.self : change.total),
        Signed(change.total.after - change.total.before, metric),
        SafeForTerminal(diff.profile.name(change.frame)));
  }
  if (changes.size() > most) {
    out += fmt::format("and {} more functions that changed\n", FormatCount(changes.size() - most));
  }
  if (changes.empty()) out += "no function changed\n";
  return out;
}

}  // namespace culprit::views
