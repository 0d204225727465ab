// Chrome's and node's .cpuprofile: a tree of nodes, the node of each sample and the time to the
// next one in microseconds (V8's Profiler.Profile).
#include "profile/json_text.h"

#include <cmath>
#include <unordered_map>

#include "base/text.h"
#include "profile/names.h"
#include "profile/read.h"

namespace culprit::profile {
namespace {

constexpr double kLargestWeightNs = 1e15;

struct Node {
  FrameId frame = 0;
  std::int64_t parent = -1;  // index; -1: none
  StackId stack = 0;
  bool is_root = false;
  bool placed = false;
  std::uint64_t hits = 0;
};

class Decoder {
 public:
  Decoder() {
    profile_.format = ".cpuprofile";
    metric_ = profile_.InternMetric("time", "ns").value_or(0);
    thread_ = profile_.AddThread({});
  }

  Result<Profile> Read(simdjson::dom::element root) {
    // Within a trace of Chrome's the profile is one level down.
    if (const auto inner = Member(root, "profile")) root = *inner;
    const auto nodes = ArrayMember(root, "nodes");
    if (!nodes) return Error{"JSON without a cpuprofile's nodes", ""};
    for (const auto node : *nodes) AddNode(node);
    Link(*nodes);
    for (std::size_t i = 0; i < nodes_.size(); ++i) Place(i);
    const auto samples = ArrayMember(root, "samples");
    const auto deltas = ArrayMember(root, "timeDeltas");
    if (samples && deltas) {
      AddSamples(*samples, *deltas, NumberMember(root, "startTime").value_or(0),
                 NumberMember(root, "endTime"));
    } else {
      AddHits();
    }
    if (wrong_ > 0) {
      profile_.notes.push_back(
          {FormatCount(wrong_) + " samples name nodes that do not exist", true});
    }
    return std::move(profile_);
  }

 private:
  void AddNode(simdjson::dom::element node) {
    const auto call = Member(node, "callFrame").value_or(node);
    const std::string_view name = TextMember(call, "functionName");
    const std::string_view url = TextMember(call, "url");
    Node row;
    row.is_root = name == "(root)";
    // "(idle)", "(program)", "(garbage collector)" are V8's own.
    const FrameKind kind = name.starts_with('(') ? FrameKind::kRuntime : FrameKind::kJit;
    row.frame = profile_.InternFrame(name.empty() ? "(anonymous)" : name, url, kind);
    row.hits = static_cast<std::uint64_t>(
        std::clamp(NumberMember(node, "hitCount").value_or(0), 0.0, 1e9));
    const double id = NumberMember(node, "id").value_or(-1);
    index_.try_emplace(std::llround(std::clamp(id, -1e15, 1e15)), nodes_.size());
    nodes_.push_back(row);
  }

  std::optional<std::size_t> Find(simdjson::dom::element id) const {
    const auto number = NumberOf(id);
    if (!number) return std::nullopt;
    const auto found = index_.find(std::llround(std::clamp(*number, -1e15, 1e15)));
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }

  // Parents are told by a list of children, or each node tells its own.
  void Link(simdjson::dom::array nodes) {
    std::size_t i = 0;
    for (const auto node : nodes) {
      if (const auto children = ArrayMember(node, "children")) {
        for (const auto child : *children) {
          if (const auto found = Find(child); found && *found != i && nodes_[*found].parent < 0) {
            nodes_[*found].parent = static_cast<std::int64_t>(i);
          }
        }
      }
      if (const auto parent = Member(node, "parent")) {
        if (const auto found = Find(*parent); found && *found != i) {
          nodes_[i].parent = static_cast<std::int64_t>(*found);
        }
      }
      ++i;
    }
  }

  // Callers first; a chain that comes back to itself ends there.
  void Place(std::size_t start) {
    std::vector<std::size_t> path;
    std::int64_t at = static_cast<std::int64_t>(start);
    while (at >= 0 && !nodes_[static_cast<std::size_t>(at)].placed && path.size() < nodes_.size()) {
      path.push_back(static_cast<std::size_t>(at));
      at = nodes_[static_cast<std::size_t>(at)].parent;
    }
    StackId stack = at >= 0 ? nodes_[static_cast<std::size_t>(at)].stack : 0;
    for (std::size_t i = path.size(); i-- > 0;) {
      Node& node = nodes_[path[i]];
      if (node.placed) continue;
      if (!node.is_root) stack = profile_.InternStack(stack, node.frame);
      node.stack = stack;
      node.placed = true;
    }
  }

  // A sample's delta is the time since the one before: what ran until then is the one before.
  void AddSamples(simdjson::dom::array samples, simdjson::dom::array deltas, double start_us,
                  std::optional<double> end_us) {
    profile_.has_times = true;
    double now_us = start_us;
    std::optional<StackId> running;
    double since_us = now_us;
    auto delta = deltas.begin();
    for (const auto sample : samples) {
      if (!(delta != deltas.end())) break;
      now_us += NumberOf(*delta).value_or(0);
      ++delta;
      if (running) Add(*running, since_us, now_us - since_us);
      since_us = now_us;
      const auto found = Find(sample);
      if (!found) ++wrong_;
      running = found ? std::optional(nodes_[*found].stack) : std::nullopt;
    }
    if (running && end_us) Add(*running, since_us, *end_us - since_us);
  }

  void AddHits() {
    metric_ = profile_.InternMetric("samples", "samples").value_or(0);
    for (const Node& node : nodes_) {
      if (node.hits == 0) continue;
      profile_.samples.push_back({.weight = static_cast<std::int64_t>(node.hits),
                                  .stack = node.stack,
                                  .thread = thread_,
                                  .metric = metric_});
    }
  }

  void Add(StackId stack, double at_us, double weight_us) {
    const double weight_ns = weight_us * 1000;
    if (!(weight_ns > 0) || weight_ns > kLargestWeightNs) return;
    profile_.samples.push_back(
        {.ts = static_cast<std::int64_t>(std::clamp(at_us * 1000, 0.0, 9e18)),
         .weight = std::llround(weight_ns),
         .stack = stack,
         .thread = thread_,
         .metric = metric_});
  }

  Profile profile_;
  std::vector<Node> nodes_;
  std::unordered_map<std::int64_t, std::size_t> index_;  // of id
  std::uint16_t metric_ = 0;
  ThreadId thread_ = 0;
  std::size_t wrong_ = 0;
};

}  // namespace

Result<Profile> ReadCpuProfile(std::string_view json, const ReadOptions&) {
  simdjson::dom::parser parser;
  CULPRIT_ASSIGN(const auto root, ParseJson(parser, json));
  return Decoder().Read(root);
}

}  // namespace culprit::profile
