// FlameView: a call tree and how it is to be shown; the functions that write it in each format.
// Chooses nothing: what is selected is decided in profile/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/call_tree.h"
#include "profile/profile.h"

namespace culprit::views {

// "_[k]" and the like behind names in folded stacks, which FlameGraph's palettes read.
struct Annotations {
  bool kernel = false;
  bool jit = false;
  bool inlined = false;
};

// Of a comparison: what a node weighed on each side; its own weight is the mean of both, so that
// what is only in one side has a width, too.
struct Change {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct FlameView {
  const profile::Profile& profile;
  const profile::CallTree& tree;
  std::string title;      // "on-CPU: python3 train.py"
  std::string source;     // name of the input
  bool inverted = false;  // the root at the top
  Annotations annotate = {};
  const std::vector<Change>* changes = nullptr;  // beside the tree's nodes, in a comparison

  const profile::Metric& metric() const { return profile.metrics[tree.metric]; }
  std::string_view name(std::uint32_t node) const {
    return node == 0 ? std::string_view("all") : profile.name(tree.nodes[node].frame);
  }
};

// "12.3 s", "4.5 GiB", "12.3 G cycles", "1,548 samples".
std::string FormatWeight(std::int64_t weight, const profile::Metric& metric);

std::string FlameFolded(const FlameView& view);  // a line a stack, sorted
std::string FlameSvg(const FlameView& view);     // one file, which runs in any browser
std::string FlameHtml(const FlameView& view);    // with a table of functions, callers and callees
std::string FlameText(const FlameView& view);    // top functions and the tree, for people

}  // namespace culprit::views
