// What the SVG and the HTML page share: texts around the picture, colours, the files of the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "views/flame/flame_view.h"

namespace culprit::views {

// A file of page/: CSS or JavaScript.
std::string_view PageFile(std::string_view name);

// "12.3 s in 1,234 samples of 8 threads".
std::string Subtitle(const FlameView& view);
// What widths and order mean.
std::string AxisNote(const FlameView& view);

// The class of page/flame.css for a node: its kind, or whether it grew.
std::string ColourClass(const FlameView& view, std::uint32_t node);

struct LegendEntry {
  std::string css_class;
  std::string label;
};
// Only what occurs.
std::vector<LegendEntry> Legend(const FlameView& view);

}  // namespace culprit::views
