#include "views/flame/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "profile/kind_table.h"
#include "views/flame/markup.h"

namespace culprit::views {
namespace {

// "name":[...]: an array of what `value` gives for each element.
template <class Range, class Value>
void AppendArray(std::string_view name, const Range& range, Value value, std::string& out) {
  out += fmt::format(",\n\"{}\":[", name);
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    if constexpr (std::is_same_v<decltype(value(element)), std::string_view>) {
      AppendScriptString(value(element), out);
    } else {
      fmt::format_to(std::back_inserter(out), "{}", value(element));
    }
  }
  out += ']';
}

std::string ThreadLabel(const profile::Profile& profile, const profile::Thread& thread) {
  const auto comm = profile.strings.Get(thread.comm);
  return thread.tid < 0 ? std::string(comm) : fmt::format("{} {}", comm, thread.tid);
}

std::string ProcessLabel(const profile::Profile& profile, const profile::Thread& thread) {
  const auto name = profile.strings.Get(thread.process != 0 ? thread.process : thread.comm);
  return thread.pid < 0 ? std::string(name) : fmt::format("{} {}", name, thread.pid);
}

}  // namespace

ShownNodes ChooseNodes(const profile::CallTree& tree, std::int64_t smallest) {
  ShownNodes shown;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (i > 0 && tree.nodes[i].total < smallest) {
      ++shown.left_out;
      continue;
    }
    shown.nodes.push_back(i);
    shown.deepest = std::max(shown.deepest, tree.nodes[i].depth);
  }
  return shown;
}

std::string PageJson(const PageData& page) {
  const FlameView& view = page.view;
  const auto& nodes = view.tree.nodes;
  // Only frames that are shown, numbered as they come.
  std::unordered_map<profile::FrameId, int> numbers;
  std::vector<profile::FrameId> frames;
  for (const std::uint32_t node : page.shown.nodes) {
    if (node == 0) continue;
    const auto frame = nodes[node].frame;
    if (numbers.try_emplace(frame, static_cast<int>(frames.size())).second) frames.push_back(frame);
  }
  const profile::Metric& metric = view.metric();
  std::string out = "{\"title\":";
  AppendScriptString(view.title, out);
  out += ",\"unit\":{\"name\":";
  AppendScriptString(metric.unit.empty() ? metric.name : metric.unit, out);
  out += fmt::format(",\"scale\":\"{}\"}}", metric.unit == "ns"      ? "ns"
                                            : metric.unit == "bytes" ? "bytes"
                                                                     : "count");
  out += fmt::format(",\"inverted\":{},\"top\":{},\"bottom\":{},\"leftOut\":{}", view.inverted,
                     page.top_px, page.bottom_px, page.shown.left_out);
  AppendArray(
      "names", frames, [&](auto frame) { return view.profile.name(frame); }, out);
  AppendArray(
      "kinds", frames,
      [&](auto frame) { return static_cast<int>(view.profile.frames[frame].kind); }, out);
  AppendArray(
      "depth", page.shown.nodes, [&](auto node) { return nodes[node].depth; }, out);
  AppendArray(
      "frame", page.shown.nodes,
      [&](auto node) { return node == 0 ? -1 : numbers[nodes[node].frame]; }, out);
  AppendArray(
      "total", page.shown.nodes, [&](auto node) { return nodes[node].total; }, out);
  AppendArray(
      "self", page.shown.nodes, [&](auto node) { return nodes[node].self; }, out);
  if (view.changes != nullptr) {
    AppendArray(
        "before", page.shown.nodes, [&](auto node) { return (*view.changes)[node].before; }, out);
    AppendArray(
        "after", page.shown.nodes, [&](auto node) { return (*view.changes)[node].after; }, out);
  }
  if (page.with_leaves) {
    AppendArray(
        "modules", frames,
        [&](auto frame) { return view.profile.strings.Get(view.profile.frames[frame].module); },
        out);
    std::vector<int> kinds(profile::kFrameKinds);
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<int>(i);
    AppendArray(
        "kindLabels", kinds,
        [](int kind) { return profile::KindLabel(static_cast<profile::FrameKind>(kind)); }, out);
    std::vector<std::string> threads;
    std::vector<std::string> processes;
    for (const auto& thread : view.profile.threads) {
      threads.push_back(ThreadLabel(view.profile, thread));
      processes.push_back(ProcessLabel(view.profile, thread));
    }
    const auto text = [](const std::string& label) { return std::string_view(label); };
    AppendArray("threads", threads, text, out);
    AppendArray("processes", processes, text, out);
    const auto& leaves = view.tree.leaves;
    AppendArray(
        "leafNode", leaves, [](const auto& leaf) { return leaf.node; }, out);
    AppendArray(
        "leafThread", leaves, [](const auto& leaf) { return leaf.thread; }, out);
    AppendArray(
        "leafWeight", leaves, [](const auto& leaf) { return leaf.weight; }, out);
  }
  out += "}\n";
  return out;
}

}  // namespace culprit::views
