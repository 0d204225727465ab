// The HTML page: one file with the flame graph, the functions, callers and callees, and filters.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "profile/function_table.h"
#include "views/flame/flame_page.h"
#include "views/flame/flame_view.h"
#include "views/flame/markup.h"
#include "views/flame/page_data.h"

namespace culprit::views {
namespace {

// Without scripts the page is this table.
constexpr std::size_t kFunctionsWithoutScript = 200;

std::string PlainTable(const FlameView& view) {
  std::string out;
  const auto functions = profile::FunctionTable(view.profile, view.tree);
  const auto percent = [&](std::int64_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(view.tree.total);
  };
  for (std::size_t i = 0; i < std::min(functions.size(), kFunctionsWithoutScript); ++i) {
    const auto& row = functions[i];
    out += fmt::format(
        "<tr><td>{}</td><td>{:.2f} %</td><td>{}</td><td>{:.2f} %</td><td>{}</td></tr>\n",
        EscapeMarkup(FormatWeight(row.self, view.metric())), percent(row.self),
        EscapeMarkup(FormatWeight(row.total, view.metric())), percent(row.total),
        EscapeMarkup(view.profile.name(row.frame)));
  }
  return out;
}

}  // namespace

std::string FlameHtml(const FlameView& view) {
  const ShownNodes shown = ChooseNodes(view.tree, 0);
  std::string notes;
  for (const auto& note : view.profile.notes) {
    notes += fmt::format("<div class=\"hint\">{}{}</div>\n", note.is_loss ? "LOST: " : "",
                         EscapeMarkup(note.text));
  }
  std::string legend;
  for (const LegendEntry& entry : Legend(view)) {
    // The colours are those of the picture's own style.
    legend += fmt::format(
        "<svg class=\"flame\" style=\"display:inline;width:{}px\" height=\"16\"><rect class=\"{}\" "
        "y=\"2\" width=\"12\" height=\"12\" rx=\"2\"/><text class=\"note\" x=\"17\" y=\"12\">{}"
        "</text></svg>\n",
        20 + entry.label.size() * 8, entry.css_class, entry.label);
  }
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n",
      EscapeMarkup(view.title));
  out += PageFile("flame.css");
  out += PageFile("page.css");
  out += fmt::format(
      "</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n<div id=\"subtitle\">{} "
      "<span id=\"chosen\"></span></div>\n{}"
      "<div class=\"bar\">\n"
      "<button id=\"tab-flame\">flame graph</button>\n"
      "<button id=\"tab-functions\">functions</button>\n"
      "<button id=\"tab-sandwich\">callers and callees</button>\n"
      "<input id=\"find\" type=\"search\" placeholder=\"search: regular expression\">\n"
      "<select id=\"process\"></select>\n<select id=\"thread\"></select>\n"
      "<button id=\"reset\">reset</button>\n<span id=\"matched\"></span>\n</div>\n"
      "<div id=\"details\"></div>\n</header>\n<main>\n"
      "<section id=\"flame\"><svg id=\"picture\" class=\"flame\"></svg>\n"
      "<div class=\"legend\">{}<span id=\"axis\">{} A click zooms, with Shift it shows callers and "
      "callees; / searches, Esc resets.</span></div></section>\n"
      "<section id=\"functions\"><table><thead><tr id=\"head\"><th>self</th><th></th>"
      "<th>total</th><th></th><th>function</th></tr></thead><tbody id=\"body\">\n",
      EscapeMarkup(view.title), EscapeMarkup(Subtitle(view)), notes, legend,
      EscapeMarkup(AxisNote(view)));
  out += PlainTable(view);
  out +=
      "</tbody></table><p class=\"hint\" id=\"rest\"></p></section>\n"
      "<section id=\"sandwich\"><h2>callers of <span id=\"of\">(choose a function in the table, or "
      "click a frame with Shift)</span></h2>\n<svg id=\"callers\" class=\"flame\"></svg>\n"
      "<h2>what it calls</h2>\n<svg id=\"callees\" class=\"flame\"></svg></section>\n</main>\n"
      "<noscript><style>#functions{display:block!important}#flame,.bar{display:none!important}"
      "</style></noscript>\n<script id=\"flame-data\" type=\"application/json\">";
  out += PageJson({.view = view, .shown = shown, .with_leaves = true, .top_px = 4, .bottom_px = 4});
  out += "</script>\n<script>\n";
  out += PageFile("flame.js");
  out += PageFile("page.js");
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace culprit::views
