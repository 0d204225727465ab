// A profile for a terminal: the functions with most time of their own, and the tree of calls.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "profile/function_table.h"
#include "views/flame/flame_page.h"
#include "views/flame/flame_view.h"

namespace culprit::views {
namespace {

constexpr std::size_t kTopFunctions = 30;
constexpr double kSmallestShare = 0.01;  // of the total: what the tree shows
constexpr std::uint32_t kDeepest = 64;   // indentation ends here; what is deeper is counted
constexpr std::size_t kLongestName = 100;

std::string Shown(std::string_view name) {
  std::string text = SafeForTerminal(name);
  if (text.size() <= kLongestName) return text;
  std::size_t cut = kLongestName - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0U) == 0x80U) --cut;
  return text.substr(0, cut) + "...";
}

double Percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void AppendTop(const FlameView& view, std::string& out) {
  const auto functions = profile::FunctionTable(view.profile, view.tree);
  out += fmt::format("{:>7}  {:>7}  {:>14}  function\n", "self", "total", "self");
  std::size_t shown = 0;
  for (const profile::FunctionRow& row : functions) {
    if (shown == kTopFunctions || row.self == 0) break;
    ++shown;
    const auto module = view.profile.strings.Get(view.profile.frames[row.frame].module);
    out += fmt::format("{:>6.2f}%  {:>6.2f}%  {:>14}  {}{}\n", Percent(row.self, view.tree.total),
                       Percent(row.total, view.tree.total), FormatWeight(row.self, view.metric()),
                       Shown(view.profile.name(row.frame)),
                       module.empty() ? "" : " (" + SafeForTerminal(module) + ")");
  }
  const auto with_self = static_cast<std::size_t>(
      std::ranges::count_if(functions, [](const auto& row) { return row.self != 0; }));
  if (with_self > shown) {
    std::int64_t rest = 0;
    for (std::size_t i = shown; i < functions.size(); ++i) rest += functions[i].self;
    out += fmt::format("{:>6.2f}%  {:>7}  {:>14}  in {} more functions\n",
                       Percent(rest, view.tree.total), "", FormatWeight(rest, view.metric()),
                       FormatCount(with_self - shown));
  }
}

void AppendTree(const FlameView& view, std::string& out) {
  const auto& nodes = view.tree.nodes;
  std::size_t hidden = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[i];
    if (Percent(node.total, view.tree.total) < 100 * kSmallestShare || node.depth > kDeepest) {
      ++hidden;
      continue;
    }
    out += fmt::format("{:>6.2f}%  {:>6.2f}%  {}{}\n", Percent(node.total, view.tree.total),
                       Percent(node.self, view.tree.total), std::string(node.depth * 2, ' '),
                       Shown(view.name(i)));
  }
  if (hidden > 0) {
    out += fmt::format("{} calls under {:.0f} % of the total, or deeper than {}, are not shown\n",
                       FormatCount(hidden), 100 * kSmallestShare, kDeepest);
  }
}

}  // namespace

std::string FlameText(const FlameView& view) {
  std::string out = SafeForTerminal(view.title) + "\n" + SafeForTerminal(Subtitle(view)) + "\n\n";
  AppendTop(view, out);
  out += fmt::format("\n{:>7}  {:>7}  call tree\n", "total", "self");
  AppendTree(view, out);
  return out;
}

}  // namespace culprit::views
