// A Picture as inline SVG: lanes of coloured segments over one axis of time. Its colours are
// classes of page/explain.css; it runs no script.
#pragma once

#include <string>

#include "analysis/explanation.h"

namespace culprit::views {

std::string PictureSvg(const analysis::Explanation& made, const analysis::Picture& picture);

}  // namespace culprit::views
