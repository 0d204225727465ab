#include "profile/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace culprit::profile {
namespace {

constexpr double kLargestScale = 1e9;

// What one side contributes: its call tree's leaves, as samples of the common profile.
struct SideTree {
  Profile& profile;
  CallTree tree;
};

double Seconds(const CallTree& tree) {
  return static_cast<double>(tree.last_ts - tree.first_ts) / 1e9;
}

Result<double> ScaleOf(const SideTree& before, const SideTree& after, Normalize normalize,
                       double work_ratio) {
  double scale = 1;
  switch (normalize) {
    case Normalize::kTotal:
      scale = static_cast<double>(before.tree.total) / static_cast<double>(after.tree.total);
      break;
    case Normalize::kSamples:
      scale = static_cast<double>(before.tree.samples) / static_cast<double>(after.tree.samples);
      break;
    case Normalize::kTime:
      if (!before.profile.has_times || !after.profile.has_times || Seconds(before.tree) <= 0 ||
          Seconds(after.tree) <= 0) {
        return Error{"--normalize time needs the times of samples, which one of the inputs lacks",
                     "use --normalize total or samples"};
      }
      scale = Seconds(before.tree) / Seconds(after.tree);
      break;
    case Normalize::kWork:
      scale = work_ratio;
      break;
    case Normalize::kNone:
      break;
  }
  if (!(scale > 1 / kLargestScale && scale < kLargestScale)) {
    return Error{"the two inputs differ too much to be compared", ""};
  }
  return scale;
}

// Adds the leaves of a side; `sides` gets the node's stack in `common` for each.
void AddSide(const SideTree& side, Profile& common, std::uint16_t metric, ThreadId thread) {
  const auto& nodes = side.tree.nodes;
  std::vector<StackId> stacks(nodes.size());
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    const Frame& frame = side.profile.frames[nodes[i].frame];
    const FrameId id = common.InternFrame(side.profile.strings.Get(frame.name),
                                          side.profile.strings.Get(frame.module), frame.kind);
    stacks[i] = common.InternStack(stacks[nodes[i].parent], id);
    if (nodes[i].self != 0) {
      common.samples.push_back(
          {.weight = nodes[i].self, .stack = stacks[i], .thread = thread, .metric = metric});
    }
  }
  if (nodes[0].self != 0) {
    common.samples.push_back(
        {.weight = nodes[0].self, .stack = 0, .thread = thread, .metric = metric});
  }
}

}  // namespace

Result<Diff> MakeDiff(Profile before, Profile after, const Selection& selection,
                      Normalize normalize, double work_ratio) {
  CULPRIT_ASSIGN(auto before_tree, BuildCallTree(before, selection));
  // The second has the metric of that name, whatever its number is there.
  Selection of_after = selection;
  const Metric& metric = before.metrics[before_tree.metric];
  for (std::uint16_t i = 0; i < after.metrics.size(); ++i) {
    if (after.metrics[i].name == metric.name && after.metrics[i].unit == metric.unit) {
      of_after.metric = i;
    }
  }
  if (selection.metric && of_after.metric == selection.metric &&
      (*selection.metric >= after.metrics.size() ||
       after.metrics[*selection.metric].name != metric.name)) {
    return Error{"there is no " + metric.name + " in the second input", ""};
  }
  CULPRIT_ASSIGN(auto after_tree, BuildCallTree(after, of_after));
  const Metric& after_metric = after.metrics[after_tree.metric];
  if (after_metric.name != metric.name || after_metric.unit != metric.unit) {
    return Error{
        fmt::format("the first input counts {} and the second {}", metric.name, after_metric.name),
        "choose one that both have: --type counter:EVENT"};
  }
  SideTree first{before, std::move(before_tree)};
  SideTree second{after, std::move(after_tree)};
  CULPRIT_ASSIGN(const double scale, ScaleOf(first, second, normalize, work_ratio));

  Diff diff;
  diff.scale = scale;
  Profile& common = diff.profile;
  common.format = "comparison";
  common.metrics.push_back(metric);
  const ThreadId before_thread = common.AddThread({.comm = common.strings.Intern("before")});
  const ThreadId after_thread = common.AddThread({.comm = common.strings.Intern("after")});
  AddSide(first, common, 0, before_thread);
  AddSide(second, common, 0, after_thread);
  for (const auto& note : before.notes)
    common.notes.push_back({"before: " + note.text, note.is_loss});
  for (const auto& note : after.notes)
    common.notes.push_back({"after: " + note.text, note.is_loss});

  Selection all;
  all.grouping = Grouping::kMerged;  // groups are frames of the sides already
  CULPRIT_ASSIGN(diff.tree, BuildCallTree(common, all));
  CallTree& tree = diff.tree;
  diff.nodes.resize(tree.nodes.size());
  for (const CallTree::Leaf& leaf : tree.leaves) {
    Diff::Side& side = diff.nodes[leaf.node];
    if (leaf.thread == before_thread) {
      side.before += leaf.weight;
    } else {
      side.after += std::llround(static_cast<double>(leaf.weight) * scale);
    }
  }
  diff.self = diff.nodes;
  for (auto& node : tree.nodes) node.total = 0;
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    CallTree::Node& node = tree.nodes[i];
    node.self = (diff.self[i].before + diff.self[i].after + 1) / 2;
    node.total += node.self;
    if (i == 0) break;
    tree.nodes[node.parent].total += node.total;
    diff.nodes[node.parent].before += diff.nodes[i].before;
    diff.nodes[node.parent].after += diff.nodes[i].after;
  }
  tree.total = tree.nodes[0].total;
  tree.samples = first.tree.samples + second.tree.samples;
  diff.before_total = diff.nodes[0].before;
  diff.after_total = diff.nodes[0].after;
  return diff;
}

std::vector<FunctionChange> ChangedFunctions(const Diff& diff) {
  std::vector<FunctionChange> changes(diff.profile.frames.size());
  std::vector<std::uint32_t> open(changes.size());
  std::vector<FrameId> path;
  for (std::uint32_t i = 1; i < diff.tree.nodes.size(); ++i) {
    const CallTree::Node& node = diff.tree.nodes[i];
    while (path.size() >= node.depth) {
      --open[path.back()];
      path.pop_back();
    }
    path.push_back(node.frame);
    FunctionChange& change = changes[node.frame];
    change.frame = node.frame;
    change.self.before += diff.self[i].before;
    change.self.after += diff.self[i].after;
    if (open[node.frame]++ == 0) {
      change.total.before += diff.nodes[i].before;
      change.total.after += diff.nodes[i].after;
    }
  }
  std::erase_if(changes, [&](const FunctionChange& change) {
    return change.total.before == change.total.after && change.self.before == change.self.after;
  });
  std::erase_if(changes, [&](const FunctionChange& change) {
    return diff.profile.frames[change.frame].kind == FrameKind::kGroup;
  });
  const auto size = [](const Diff::Side& side) { return std::abs(side.after - side.before); };
  std::ranges::sort(changes, [&](const FunctionChange& a, const FunctionChange& b) {
    if (size(a.self) != size(b.self)) return size(a.self) > size(b.self);
    if (size(a.total) != size(b.total)) return size(a.total) > size(b.total);
    return diff.profile.name(a.frame) < diff.profile.name(b.frame);
  });
  return changes;
}

}  // namespace culprit::profile
