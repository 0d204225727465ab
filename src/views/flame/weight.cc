#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"
#include "views/flame/flame_view.h"

namespace culprit::views {

std::string FormatWeight(std::int64_t weight, const profile::Metric& metric) {
  if (metric.unit == "ns") return FormatDuration({weight});
  if (metric.unit == "bytes" && weight >= 0) {
    return FormatBytes(static_cast<std::uint64_t>(weight));
  }
  const std::string_view unit = metric.unit.empty() ? metric.name : metric.unit;
  struct Scale {
    double factor;
    std::string_view letter;
  };
  constexpr std::array kScales = {Scale{1e12, "T"}, Scale{1e9, "G"}, Scale{1e6, "M"}};
  const auto value = static_cast<double>(weight);
  for (const Scale& scale : kScales) {
    if (std::abs(value) >= scale.factor) {
      return fmt::format("{:.2f} {} {}", value / scale.factor, scale.letter, unit);
    }
  }
  return fmt::format("{}{} {}", weight < 0 ? "-" : "",
                     FormatCount(static_cast<std::uint64_t>(std::abs(weight))), unit);
}

std::string FormatTotal(const profile::CallTree& tree, const profile::Metric& metric) {
  const std::string total = FormatWeight(tree.total, metric);
  if (metric.unit == "samples") return total;
  return fmt::format("{} in {} {}", total, FormatCount(tree.samples),
                     tree.samples == 1 ? "sample" : "samples");
}

}  // namespace culprit::views
