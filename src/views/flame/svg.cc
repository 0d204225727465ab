// A flame graph as one SVG file: drawn already, so that it can be read and printed without scripts,
// with the tree and a script beside it that draws it anew for any width, zoom and search.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/embedded_file.h"
#include "base/text.h"
#include "profile/kind_table.h"
#include "views/flame/flame_page.h"
#include "views/flame/flame_view.h"
#include "views/flame/markup.h"
#include "views/flame/page_data.h"

namespace culprit::views {
namespace {

constexpr int kWidthPx = 1200;
constexpr int kMarginPx = 10;
constexpr int kRowPx = 18;
constexpr double kCharPx = 7.25;
constexpr int kTopPx = 62;
constexpr int kBottomPx = 72;
// Drawn without a script: what is wide enough to be seen, and not too deep for paper.
constexpr double kNarrowestPx = 0.5;
constexpr std::uint32_t kDeepestDrawn = 400;
// In the tree for the script: up to so many nodes all of them, else those of this share.
constexpr std::size_t kManyNodes = 50'000;
constexpr std::int64_t kSmallestShare = 20'000;

std::string Clipped(std::string_view name, double width_px) {
  const auto room = static_cast<std::size_t>(std::max(0.0, (width_px - 6) / kCharPx));
  if (room < 3) return "";
  std::string text = PlainText(name);
  if (text.size() <= room) return EscapeMarkup(text);
  std::size_t cut = room - 2;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0U) == 0x80U) --cut;
  return EscapeMarkup(text.substr(0, cut) + "..");
}

class SvgWriter {
 public:
  explicit SvgWriter(const FlameView& view) : view_(view) {
    const auto& tree = view.tree;
    const std::int64_t smallest =
        tree.nodes.size() > kManyNodes ? std::max<std::int64_t>(1, tree.total / kSmallestShare) : 0;
    shown_ = ChooseNodes(tree, smallest);
    height_ =
        static_cast<int>(std::min(shown_.deepest, kDeepestDrawn) + 1) * kRowPx + kTopPx + kBottomPx;
  }

  std::string Write() {
    Begin();
    Frames();
    Footer();
    Script();
    return std::move(out_);
  }

 private:
  void Begin() {
    out_ = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" role=\"img\">\n<title>{2}</title>\n<style><![CDATA[\n",
        kWidthPx, height_, EscapeMarkup(view_.title));
    out_ += PageFile("flame.css");
    out_ += fmt::format(
        "]]></style>\n<rect id=\"background\" class=\"bg\" width=\"{}\" height=\"{}\"/>\n"
        "<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n"
        "<text class=\"note\" x=\"{}\" y=\"42\">{}</text>\n"
        "<text id=\"search\" class=\"control\" x=\"{}\" y=\"24\" text-anchor=\"end\" "
        "style=\"display:none\">search</text>\n"
        "<text id=\"reset\" class=\"control\" x=\"{}\" y=\"24\" text-anchor=\"end\" "
        "style=\"display:none\">reset</text>\n"
        "<text id=\"matched\" class=\"details\" x=\"{}\" y=\"42\" text-anchor=\"end\"></text>\n"
        "<text id=\"details\" class=\"details\" x=\"{}\" y=\"58\"></text>\n",
        kWidthPx, height_, kMarginPx, EscapeMarkup(view_.title), kMarginPx,
        EscapeMarkup(Subtitle(view_)), kWidthPx - kMarginPx, kWidthPx - kMarginPx - 70,
        kWidthPx - kMarginPx, kMarginPx);
  }

  void Frames() {
    out_ += "<g id=\"frames\">\n";
    const auto& nodes = view_.tree.nodes;
    const double scale = (kWidthPx - 2.0 * kMarginPx) / static_cast<double>(view_.tree.total);
    const std::uint32_t deepest = std::min(shown_.deepest, kDeepestDrawn);
    std::vector<std::int64_t> filled(shown_.deepest + 2);  // by depth: where the next one begins
    for (const std::uint32_t index : shown_.nodes) {
      const auto& node = nodes[index];
      const std::int64_t begin = filled[node.depth];
      filled[node.depth] += node.total;
      filled[node.depth + 1] = begin;
      const double width = static_cast<double>(node.total) * scale;
      if (width < kNarrowestPx || node.depth > deepest) continue;
      Box(index, kMarginPx + static_cast<double>(begin) * scale, width,
          view_.inverted ? kTopPx + static_cast<int>(node.depth) * kRowPx
                         : kTopPx + static_cast<int>(deepest - node.depth) * kRowPx);
    }
    out_ += "</g>\n";
  }

  void Box(std::uint32_t index, double x, double width, int y) {
    const auto& node = view_.tree.nodes[index];
    const std::string_view name = view_.name(index);
    out_ += fmt::format(
        "<g class=\"f\"><title>{}: {}, {:.2f} %</title><rect x=\"{:.2f}\" y=\"{}\" "
        "width=\"{:.2f}\" height=\"{}\" rx=\"2\" class=\"{}\"/>",
        EscapeMarkup(name), EscapeMarkup(FormatWeight(node.total, view_.metric())),
        100.0 * static_cast<double>(node.total) / static_cast<double>(view_.tree.total), x, y,
        width, kRowPx - 1, ColourClass(view_, index));
    if (const std::string text = Clipped(name, width); !text.empty()) {
      out_ += fmt::format("<text x=\"{:.2f}\" y=\"{}\">{}</text>", x + 3, y + 13, text);
    }
    out_ += "</g>\n";
  }

  // The legend, and what the axis says.
  void Footer() {
    out_ += fmt::format("<g id=\"footer\" transform=\"translate(0 {})\">\n", height_ - kBottomPx);
    double x = kMarginPx;
    for (const LegendEntry& entry : Legend(view_)) {
      out_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"10\" width=\"12\" height=\"12\" rx=\"2\" class=\"{}\"/>"
          "<text class=\"note\" x=\"{:.1f}\" y=\"20\">{}</text>\n",
          x, entry.css_class, x + 17, entry.label);
      x += 17 + static_cast<double>(entry.label.size()) * kCharPx + 18;
    }
    out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"40\">{}</text>\n", kMarginPx,
                        EscapeMarkup(AxisNote(view_)));
    std::string rest;
    if (shown_.left_out > 0) {
      rest = fmt::format("{} calls under 1/{} of the width are not in this file. ",
                         FormatCount(shown_.left_out), kSmallestShare);
    }
    if (shown_.deepest > kDeepestDrawn) {
      rest +=
          fmt::format("Without scripts {} of {} levels are drawn. ", kDeepestDrawn, shown_.deepest);
    }
    out_ += fmt::format(
        "<text class=\"note\" x=\"{}\" y=\"58\">{}<tspan id=\"help\"></tspan></text>\n</g>\n",
        kMarginPx, rest);
  }

  void Script() {
    out_ += "<script id=\"flame-data\" type=\"application/json\"><![CDATA[";
    out_ += PageJson({.view = view_,
                      .shown = shown_,
                      .with_leaves = false,
                      .top_px = kTopPx,
                      .bottom_px = kBottomPx});
    out_ += "]]></script>\n<script><![CDATA[\n";
    out_ += PageFile("flame.js");
    out_ += PageFile("svg.js");
    out_ += "]]></script>\n</svg>\n";
  }

  const FlameView& view_;
  ShownNodes shown_;
  int height_ = 0;
  std::string out_;
};

}  // namespace

std::string FlameSvg(const FlameView& view) { return SvgWriter(view).Write(); }

}  // namespace culprit::views
