// What every profile decoder owes, whatever its input was: totals that add up, and outputs that can
// be written.
#pragma once

#include "base/check.h"
#include "profile/call_tree.h"
#include "profile/read.h"
#include "views/flame/flame_view.h"

namespace culprit {

inline void CheckProfile(Result<profile::Profile> profile) {
  if (!profile.ok()) return;
  for (const auto& sample : profile->samples) {
    CULPRIT_CHECK(sample.stack < profile->stacks.size());
    CULPRIT_CHECK(sample.thread < profile->threads.size());
    CULPRIT_CHECK(sample.metric < profile->metrics.size());
    CULPRIT_CHECK(sample.weight >= 0);
  }
  const auto tree = profile::BuildCallTree(*profile, {});
  if (!tree.ok()) return;
  std::int64_t self = 0;
  std::int64_t leaves = 0;
  for (const auto& node : tree->nodes) self += node.self;
  for (const auto& leaf : tree->leaves) leaves += leaf.weight;
  CULPRIT_CHECK(self == tree->total && leaves == tree->total && tree->nodes[0].total == self);
  const views::FlameView view{
      .profile = *profile, .tree = *tree, .title = "fuzz", .source = "fuzz"};
  CULPRIT_CHECK(!views::FlameFolded(view).empty());
  CULPRIT_CHECK(views::FlameSvg(view).find("</svg>") != std::string::npos);
  CULPRIT_CHECK(!views::FlameText(view).empty());
}

}  // namespace culprit
