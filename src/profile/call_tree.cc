#include "profile/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "profile/frame_filter.h"
#include "profile/pair_map.h"

namespace culprit::profile {
namespace {

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view name, std::int32_t id) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return MatchesGlob(pattern, name) || ParseInteger<std::int32_t>(pattern) == id;
         });
}

std::string_view ProcessName(const Profile& profile, const Thread& thread) {
  return profile.strings.Get(thread.process != 0 ? thread.process : thread.comm);
}

// What stands above the stacks of a sample: the same text as stackcollapse-perf.pl has it.
std::string GroupLabel(const Profile& profile, const Thread& thread, std::int32_t cpu,
                       Grouping grouping) {
  const std::string pid = thread.pid < 0 ? "?" : fmt::format("{}", thread.pid);
  switch (grouping) {
    case Grouping::kMerged:
      return "";
    case Grouping::kComm:
      return std::string(profile.strings.Get(thread.comm));
    case Grouping::kProcess:
      return fmt::format("{}-{}", ProcessName(profile, thread), pid);
    case Grouping::kThread:
      return fmt::format("{}-{}/{}", profile.strings.Get(thread.comm), pid, thread.tid);
    case Grouping::kCpu:
      return cpu < 0 ? "CPU unknown" : fmt::format("CPU {:03}", cpu);
  }
  return "";
}

class Builder {
 public:
  Builder(Profile& profile, const Selection& selection)
      : profile_(profile), selection_(selection), filter_(profile, selection) {}

  Result<CallTree> Build() {
    const auto metric = selection_.metric ? selection_.metric : MainMetric(profile_);
    if (!metric) return Error{"there are no samples in it", ""};
    tree_.metric = *metric;
    ChooseThreads();
    NameFrames();
    AddSamples();
    if (tree_.samples == 0) {
      if (tree_.samples_left_out == 0) {
        return Error{"there are no samples of " + profile_.metrics[*metric].name + " in it", ""};
      }
      return Error{
          fmt::format("none of {} samples is selected", FormatCount(tree_.samples_left_out)),
          "loosen --thread, --process, --cpu, --from, --to, --state, --min-us, --filter"};
    }
    if (tree_.total == 0) return Error{"all selected samples weigh nothing", ""};
    Order();
    return std::move(tree_);
  }

 private:
  struct Key {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t value = ((std::uint64_t{key.a} << 32U) | key.b) * 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>(value ^ (value >> 29U));
    }
  };

  void ChooseThreads() {
    for (const Thread& thread : profile_.threads) {
      chosen_.push_back(
          MatchesAny(selection_.threads, profile_.strings.Get(thread.comm), thread.tid) &&
          MatchesAny(selection_.processes, ProcessName(profile_, thread), thread.pid));
    }
    tree_.first_ts = INT64_MAX;
    tree_.last_ts = INT64_MIN;
    for (const Sample& sample : profile_.samples) begin_ts_ = std::min(begin_ts_, sample.ts);
  }

  // Nodes are merged by name and kind: the same function in two modules is one box.
  void NameFrames() {
    std::unordered_map<Key, FrameId, KeyHash> first;
    for (FrameId id = 0; id < profile_.frames.size(); ++id) {
      const Frame& frame = profile_.frames[id];
      merged_.push_back(first.try_emplace({frame.name, static_cast<std::uint32_t>(frame.kind)}, id)
                            .first->second);
    }
  }

  // What of the sample lies between --from and --to: all or nothing of a moment, a part of a span.
  std::int64_t WeightInWindow(const Sample& sample) const {
    std::int64_t begin = sample.ts - begin_ts_;
    if (!profile_.metrics[sample.metric].is_span) {
      const bool is_out = (selection_.from && begin < selection_.from->value) ||
                          (selection_.to && begin >= selection_.to->value);
      return is_out ? 0 : sample.weight;
    }
    std::int64_t end = begin + sample.weight;
    if (selection_.from) begin = std::max(begin, selection_.from->value);
    if (selection_.to) end = std::min(end, selection_.to->value);
    return std::max<std::int64_t>(0, end - begin);
  }

  bool IsSelected(const Sample& sample) const {
    if (!chosen_[sample.thread] || sample.weight < selection_.min_weight) return false;
    if (!selection_.cpus.empty() &&
        std::ranges::find(selection_.cpus, sample.cpu) == selection_.cpus.end()) {
      return false;
    }
    if (!selection_.states.empty() && selection_.states.find(sample.state) == std::string::npos) {
      return false;
    }
    return filter_.Keeps(sample.stack);
  }

  void AddSamples() {
    tree_.nodes.push_back({});
    struct Sum {
      std::int64_t weight = 0;
      std::uint64_t samples = 0;
    };
    std::unordered_map<Key, Sum, KeyHash> sums;  // (node, thread)
    std::vector<bool> seen(profile_.threads.size());
    for (const Sample& sample : profile_.samples) {
      if (sample.metric != tree_.metric) continue;
      const std::int64_t weight = WeightInWindow(sample);
      const bool is_outside = weight == 0 && sample.weight != 0;
      if (is_outside || !IsSelected(sample)) {
        ++tree_.samples_left_out;
        continue;
      }
      Sum& sum = sums[{NodeOf(GroupOf(sample), filter_.Mapped(sample.stack)), sample.thread}];
      sum.weight += weight;
      ++sum.samples;
      ++tree_.samples;
      if (!seen[sample.thread]) ++tree_.threads;
      seen[sample.thread] = true;
      tree_.first_ts = std::min(tree_.first_ts, sample.ts);
      tree_.last_ts = std::max(tree_.last_ts, sample.ts);
    }
    tree_.leaves.reserve(sums.size());
    for (const auto& [key, sum] : sums) {
      tree_.nodes[key.a].self += sum.weight;
      tree_.total += sum.weight;
      tree_.leaves.push_back({key.a, key.b, sum.weight, sum.samples});
    }
  }

  // The node of a sample's group, below the root.
  std::uint32_t GroupOf(const Sample& sample) {
    if (selection_.grouping == Grouping::kMerged) return 0;
    const bool by_cpu = selection_.grouping == Grouping::kCpu;
    const auto id = by_cpu ? static_cast<std::uint32_t>(sample.cpu) : sample.thread;
    const auto [entry, added] = groups_.try_emplace(id, 0);
    if (added) {
      const std::string label =
          GroupLabel(profile_, profile_.threads[sample.thread], sample.cpu, selection_.grouping);
      if (label.empty()) return entry->second = 0;
      const FrameId frame = profile_.InternFrame(label, "", FrameKind::kGroup);
      entry->second = Child(0, frame);
    }
    return entry->second;
  }

  std::uint32_t Child(std::uint32_t parent, FrameId frame) {
    const std::uint32_t known = children_.Find(parent, frame);
    if (known != PairMap::kNone) return known;
    const auto node = static_cast<std::uint32_t>(tree_.nodes.size());
    children_.Set(parent, frame, node);
    tree_.nodes.push_back({.parent = parent,
                           .depth = tree_.nodes[parent].depth + 1,
                           .frame = frame,
                           .self = 0,
                           .total = 0});
    return node;
  }

  std::uint32_t NodeOf(std::uint32_t group, StackId stack) {
    if (stack == 0) return group;
    const std::uint32_t known = nodes_.Find(group, stack);
    if (known != PairMap::kNone) return known;
    // Up to the nearest caller that has a node, then down again. With `reverse` the innermost frame
    // comes first, and nothing is shared.
    path_.clear();
    std::uint32_t node = group;
    for (StackId at = stack; at != 0; at = filter_.Mapped(profile_.stacks[at].parent)) {
      const std::uint32_t of_caller = selection_.reverse ? PairMap::kNone : nodes_.Find(group, at);
      if (of_caller != PairMap::kNone) {
        node = of_caller;
        break;
      }
      path_.push_back(at);
    }
    if (!selection_.reverse) std::ranges::reverse(path_);
    for (const StackId at : path_) {
      node = Child(node, merged_[profile_.stacks[at].frame]);
      if (!selection_.reverse) nodes_.Set(group, at, node);
    }
    nodes_.Set(group, stack, node);
    return node;
  }

  // Siblings by name, descendants behind their node, totals from the leaves up.
  void Order() {
    const std::size_t count = tree_.nodes.size();
    std::vector<std::uint32_t> by_parent(count - 1);
    std::iota(by_parent.begin(), by_parent.end(), 1U);
    std::ranges::sort(by_parent, [this](std::uint32_t a, std::uint32_t b) {
      const CallTree::Node& x = tree_.nodes[a];
      const CallTree::Node& y = tree_.nodes[b];
      if (x.parent != y.parent) return x.parent < y.parent;
      if (x.frame == y.frame) return false;
      const int order = profile_.name(x.frame).compare(profile_.name(y.frame));
      return order != 0 ? order < 0 : profile_.frames[x.frame].kind < profile_.frames[y.frame].kind;
    });
    std::vector<std::uint32_t> first_child(count + 1, 0);
    for (const std::uint32_t node : by_parent) ++first_child[tree_.nodes[node].parent + 1];
    std::partial_sum(first_child.begin(), first_child.end(), first_child.begin());

    std::vector<std::uint32_t> place(count);  // old number -> new number
    std::vector<CallTree::Node> ordered;
    ordered.reserve(count);
    std::vector<std::uint32_t> open = {0};
    while (!open.empty()) {
      const std::uint32_t node = open.back();
      open.pop_back();
      place[node] = static_cast<std::uint32_t>(ordered.size());
      ordered.push_back(tree_.nodes[node]);
      ordered.back().parent = place[ordered.back().parent];
      for (std::uint32_t i = first_child[node + 1]; i-- > first_child[node];) {
        open.push_back(by_parent[i]);
      }
    }
    tree_.nodes = std::move(ordered);
    for (CallTree::Leaf& leaf : tree_.leaves) leaf.node = place[leaf.node];
    std::ranges::sort(tree_.leaves, [](const CallTree::Leaf& a, const CallTree::Leaf& b) {
      return a.node != b.node ? a.node < b.node : a.thread < b.thread;
    });
    for (std::size_t i = count; i-- > 0;) {
      CallTree::Node& node = tree_.nodes[i];
      node.total += node.self;
      if (i > 0) tree_.nodes[node.parent].total += node.total;
    }
  }

  Profile& profile_;
  const Selection& selection_;
  FrameFilter filter_;
  CallTree tree_;
  std::int64_t begin_ts_ = INT64_MAX;
  std::vector<bool> chosen_;     // by thread
  std::vector<FrameId> merged_;  // the first frame of that name and kind
  std::unordered_map<std::uint32_t, std::uint32_t> groups_;
  PairMap children_;  // (parent, frame)
  PairMap nodes_;     // (group, stack)
  std::vector<StackId> path_;
};

}  // namespace

std::optional<std::uint16_t> MainMetric(const Profile& profile) {
  if (profile.samples.empty()) return std::nullopt;
  return profile.samples.front().metric;
}

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<CallTree> BuildCallTree(Profile& profile, const Selection& selection) {
  return Builder(profile, selection).Build();
}

}  // namespace culprit::profile
