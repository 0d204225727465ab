#include "profile/function_table.h"

#include <algorithm>

namespace culprit::profile {

std::vector<FunctionRow> FunctionTable(const Profile& profile, const CallTree& tree) {
  std::vector<FunctionRow> rows(profile.frames.size());
  std::vector<std::uint32_t> open(profile.frames.size());  // how often on the current path
  std::vector<FrameId> path;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const CallTree::Node& node = tree.nodes[i];
    while (path.size() >= node.depth) {
      --open[path.back()];
      path.pop_back();
    }
    path.push_back(node.frame);
    FunctionRow& row = rows[node.frame];
    row.frame = node.frame;
    row.self += node.self;
    if (open[node.frame]++ == 0) row.total += node.total;
  }
  std::erase_if(rows, [&](const FunctionRow& row) {
    return row.total == 0 || profile.frames[row.frame].kind == FrameKind::kGroup;
  });
  std::ranges::sort(rows, [&](const FunctionRow& a, const FunctionRow& b) {
    if (a.self != b.self) return a.self > b.self;
    if (a.total != b.total) return a.total > b.total;
    const int order = profile.name(a.frame).compare(profile.name(b.frame));
    return order != 0 ? order < 0 : a.frame < b.frame;
  });
  return rows;
}

}  // namespace culprit::profile
