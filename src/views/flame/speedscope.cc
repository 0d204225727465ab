// The call tree in speedscope's JSON: shared frames, and one sampled profile a thread.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <unordered_map>

#include "views/flame/flame_view.h"
#include "views/flame/markup.h"

namespace culprit::views {
namespace {

std::string ThreadName(const profile::Profile& profile, profile::ThreadId id) {
  const profile::Thread& thread = profile.threads[id];
  const auto comm = profile.strings.Get(thread.comm);
  if (thread.tid < 0) return comm.empty() ? "all" : std::string(comm);
  return fmt::format("{} (pid {}, tid {})", comm, thread.pid, thread.tid);
}

}  // namespace

std::string FlameSpeedscope(const FlameView& view) {
  const auto& nodes = view.tree.nodes;
  std::unordered_map<profile::FrameId, std::size_t> numbers;
  std::vector<profile::FrameId> frames;
  std::map<profile::ThreadId, std::vector<const profile::CallTree::Leaf*>> by_thread;
  for (const auto& leaf : view.tree.leaves) by_thread[leaf.thread].push_back(&leaf);

  const profile::Metric& metric = view.metric();
  const std::string_view unit = metric.unit == "ns"      ? "nanoseconds"
                                : metric.unit == "bytes" ? "bytes"
                                                         : "none";
  std::string profiles;
  std::vector<std::size_t> path;
  for (const auto& [thread, leaves] : by_thread) {
    std::string samples;
    std::string weights;
    std::int64_t sum = 0;
    for (const auto* leaf : leaves) {
      path.clear();
      for (std::uint32_t node = leaf->node; node != 0; node = nodes[node].parent) {
        const auto frame = nodes[node].frame;
        if (view.profile.frames[frame].kind == profile::FrameKind::kGroup) continue;
        const auto [entry, added] = numbers.try_emplace(frame, frames.size());
        if (added) frames.push_back(frame);
        path.push_back(entry->second);
      }
      samples += samples.empty() ? "[" : ",[";
      for (std::size_t i = path.size(); i-- > 0;) {
        fmt::format_to(std::back_inserter(samples), "{}{}", path[i], i == 0 ? "" : ",");
      }
      samples += ']';
      fmt::format_to(std::back_inserter(weights), "{}{}", weights.empty() ? "" : ",", leaf->weight);
      sum += leaf->weight;
    }
    profiles +=
        profiles.empty() ? "{\"type\":\"sampled\",\"name\":" : ",\n{\"type\":\"sampled\",\"name\":";
    AppendScriptString(ThreadName(view.profile, thread), profiles);
    profiles += fmt::format(
        ",\"unit\":\"{}\",\"startValue\":0,\"endValue\":{},\n\"samples\":[{}],\n\"weights\":[{}]}}",
        unit, sum, samples, weights);
  }
  std::string out =
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"culprit\""
      ",\"name\":";
  AppendScriptString(view.title, out);
  out += ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[";
  for (std::size_t i = 0; i < frames.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",\n{\"name\":";
    AppendScriptString(view.profile.name(frames[i]), out);
    const auto module = view.profile.strings.Get(view.profile.frames[frames[i]].module);
    if (!module.empty()) {
      out += ",\"file\":";
      AppendScriptString(module, out);
    }
    out += '}';
  }
  out += "]},\n\"profiles\":[" + profiles + "]}\n";
  return out;
}

}  // namespace culprit::views
