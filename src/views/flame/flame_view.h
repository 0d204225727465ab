// FlameView: a call tree and how it is to be shown; the functions that write it in each format.
// Chooses nothing: what is selected is decided in profile/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/call_tree.h"
#include "profile/diff.h"
#include "profile/profile.h"

namespace culprit::views {

// "_[k]" and the like behind names in folded stacks, which FlameGraph's palettes read.
struct Annotations {
  bool kernel = false;
  bool jit = false;
  bool inlined = false;
};

struct FlameView {
  const profile::Profile& profile;
  const profile::CallTree& tree;
  std::string title;      // "on-CPU: python3 train.py"
  std::string source;     // name of the input
  bool inverted = false;  // the root at the top
  Annotations annotate = {};
  // Of a comparison, beside the tree's nodes: what each weighed on both sides.
  const std::vector<profile::Diff::Side>* changes = nullptr;

  const profile::Metric& metric() const { return profile.metrics[tree.metric]; }
  std::string_view name(std::uint32_t node) const {
    return node == 0 ? std::string_view("all") : profile.name(tree.nodes[node].frame);
  }
};

// "12.3 s", "4.5 GiB", "12.3 G cycles", "1,548 samples".
std::string FormatWeight(std::int64_t weight, const profile::Metric& metric);

// "12.3 s in 1,234 samples"; only "1,234 samples" where these are what is counted.
std::string FormatTotal(const profile::CallTree& tree, const profile::Metric& metric);

std::string FlameFolded(const FlameView& view);  // a line a stack, sorted
std::string FlameSvg(const FlameView& view);     // one file, which runs in any browser
std::string FlameHtml(const FlameView& view);    // with a table of functions, callers and callees
std::string FlamePprof(const FlameView& view);   // profile.proto in gzip
std::string FlameSpeedscope(const FlameView& view);
std::string FlameText(const FlameView& view);  // top functions and the tree, for people

// Totals of a comparison and the functions that changed most, at most so many.
std::string FlameDiffText(const profile::Diff& diff, std::size_t most);
// "stack BEFORE AFTER" a line: what difffolded.pl writes and flamegraph.pl reads.
std::string FlameDiffFolded(const profile::Diff& diff);

}  // namespace culprit::views
