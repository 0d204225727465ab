#include "views/explain/picture_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "views/flame/markup.h"

namespace culprit::views {
namespace {

using namespace analysis;  // NOLINT(google-build-using-namespace): this file is about its types

constexpr double kNameWidth = 210;
constexpr double kWidth = 1000;  // of the lanes, beside their names
constexpr double kLaneHeight = 22;
constexpr double kBarHeight = 16;
constexpr double kAxisHeight = 26;
constexpr double kTextWidth = 6.2;  // of a letter at 11 px
constexpr int kTicks = 5;
constexpr std::size_t kLongestName = 32;

std::string_view ClassOf(SegmentKind kind) {
  constexpr std::string_view kClasses[] = {"run",  "ready", "blocked", "sleep",
                                           "stop", "unkn",  "other",   "req"};
  return kClasses[static_cast<int>(kind)];
}

// The first `most` characters of valid UTF-8.
std::string Cut(const std::string& text, std::size_t most) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (begins && ++count > most) return text.substr(0, i) + "…";
  }
  return text;
}

}  // namespace

std::string PictureSvg(const Explanation& made, const Picture& picture) {
  const double length = static_cast<double>(std::max<std::int64_t>(picture.time.length(), 1));
  const auto x_of = [&](std::int64_t ts) {
    return kNameWidth + kWidth * static_cast<double>(ts - picture.time.begin) / length;
  };
  const double lanes = kLaneHeight * static_cast<double>(picture.lanes.size());
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\" xmlns=\"http://www.w3.org/2000/svg\">\n",
      kNameWidth + kWidth + 10, lanes + kAxisHeight);
  const auto out = std::back_inserter(svg);
  fmt::format_to(out, "<title>The wait of {} at {:.6f} s</title>\n",
                 FormatDuration({picture.wait.length()}),
                 static_cast<double>(picture.wait.begin - made.trace.begin) / 1e9);
  const Interval shown = Intersect(picture.wait, picture.time);
  fmt::format_to(out,
                 "<rect class=\"wait\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{:.0f}\"/>\n",
                 x_of(shown.begin), x_of(shown.end) - x_of(shown.begin), lanes);
  double y = 0;
  for (const PictureLane& lane : picture.lanes) {
    fmt::format_to(out, "<text class=\"name\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n",
                   kNameWidth - 8, y + 14, EscapeMarkup(Cut(PlainText(lane.name), kLongestName)));
    for (const PictureSegment& segment : lane.segments) {
      const double x = x_of(segment.time.begin);
      const double width = std::max(x_of(segment.time.end) - x, 0.4);
      const std::string label = PlainText(segment.label);
      fmt::format_to(
          out,
          "<g class=\"{}{}\"><title>{}, {} at {:.6f} s</title><rect x=\"{:.2f}\" y=\"{:.1f}\" "
          "width=\"{:.2f}\" height=\"{:.0f}\"/>",
          ClassOf(segment.kind), segment.is_culprit ? " culprit" : "", EscapeMarkup(label),
          FormatDuration({segment.time.length()}),
          static_cast<double>(segment.time.begin - made.trace.begin) / 1e9, x, y + 2, width,
          kBarHeight);
      const auto fits = static_cast<std::size_t>(width / kTextWidth);
      if (fits >= 5) {
        fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.1f}\">{}</text>", x + 3, y + 14,
                       EscapeMarkup(Cut(label, fits - 2)));
      }
      svg += "</g>\n";
    }
    y += kLaneHeight;
  }
  for (int i = 0; i <= kTicks; ++i) {
    const std::int64_t ts = picture.time.begin + picture.time.length() / kTicks * i;
    const std::string_view anchor = i == 0 ? "start" : i == kTicks ? "end" : "middle";
    fmt::format_to(out,
                   "<line class=\"axis\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"0\" y2=\"{1:.0f}\"/>"
                   "<text class=\"tick\" text-anchor=\"{2}\" x=\"{0:.2f}\" y=\"{3:.0f}\">{4:.6f} s"
                   "</text>\n",
                   x_of(ts), lanes, anchor, lanes + 16,
                   static_cast<double>(ts - made.trace.begin) / 1e9);
  }
  return svg + "</svg>\n";
}

}  // namespace culprit::views
