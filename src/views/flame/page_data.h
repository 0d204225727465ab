// What the scripts of the SVG and the HTML page read: names and the tree as arrays, in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "views/flame/flame_view.h"

namespace culprit::views {

// Nodes that are written: all, or those of at least `smallest` weight (descendants weigh less).
struct ShownNodes {
  std::vector<std::uint32_t> nodes;  // in preorder
  std::size_t left_out = 0;
  std::uint32_t deepest = 0;
};
ShownNodes ChooseNodes(const profile::CallTree& tree, std::int64_t smallest);

struct PageData {
  const FlameView& view;
  const ShownNodes& shown;
  bool with_leaves = false;  // what each thread spent, for filters by thread
  int top_px = 0;            // room above and below the frames
  int bottom_px = 0;
};
std::string PageJson(const PageData& page);

}  // namespace culprit::views
