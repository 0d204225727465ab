#include "views/flame/flame_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/check.h"
#include "base/embedded_file.h"
#include "base/text.h"
#include "profile/kind_table.h"

namespace culprit::views {

extern const std::span<const EmbeddedFile> kPageFiles;

std::string_view PageFile(std::string_view name) {
  const auto file = std::ranges::find(kPageFiles, name, &EmbeddedFile::name);
  CULPRIT_CHECK(file != kPageFiles.end());
  return file->text;
}

std::string Subtitle(const FlameView& view) {
  std::string text = FormatTotal(view.tree, view.metric());
  if (view.profile.has_threads) {
    text += fmt::format(" of {} {}", FormatCount(view.tree.threads),
                        view.tree.threads == 1 ? "thread" : "threads");
  }
  return text;
}

std::string AxisNote(const FlameView& view) {
  if (view.changes != nullptr) {
    return "Width: the mean of before and after. Left to right is alphabetical, not time.";
  }
  const profile::Metric& metric = view.metric();
  return fmt::format("Width: share of {}. Left to right is alphabetical, not time; {}.",
                     metric.unit == "ns"      ? "time"
                     : metric.unit == "bytes" ? "bytes"
                     : metric.unit.empty()    ? metric.name
                                              : metric.unit,
                     view.inverted ? "calls go down" : "calls go up");
}

std::string ColourClass(const FlameView& view, std::uint32_t node) {
  if (view.changes != nullptr) {
    const profile::Diff::Side& change = (*view.changes)[node];
    const double larger = static_cast<double>(std::max(change.before, change.after));
    constexpr double kSame = 0.005;  // as in flame.js
    const auto grown = static_cast<double>(change.after - change.before);
    if (larger <= 0 || std::abs(grown) < kSame * larger) return "same";
    return grown > 0 ? "grow" : "shrink";
  }
  const auto kind = node == 0 ? profile::FrameKind::kGroup
                              : view.profile.frames[view.tree.nodes[node].frame].kind;
  return fmt::format("k{}", static_cast<int>(kind));
}

std::vector<LegendEntry> Legend(const FlameView& view) {
  if (view.changes != nullptr) {
    return {{"grow", "more after"}, {"shrink", "less after"}, {"same", "the same"}};
  }
  std::array<bool, profile::kFrameKinds> occurs{};
  for (std::uint32_t i = 1; i < view.tree.nodes.size(); ++i) {
    occurs[static_cast<std::size_t>(view.profile.frames[view.tree.nodes[i].frame].kind)] = true;
  }
  std::vector<LegendEntry> legend;
  for (std::size_t kind = 0; kind < occurs.size(); ++kind) {
    if (!occurs[kind]) continue;
    legend.push_back({fmt::format("k{}", kind),
                      std::string(profile::KindLabel(static_cast<profile::FrameKind>(kind)))});
  }
  return legend;
}

}  // namespace culprit::views
