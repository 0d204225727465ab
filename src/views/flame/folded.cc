// Folded stacks as stackcollapse-perf.pl writes and flamegraph.pl reads them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "views/flame/flame_view.h"

namespace culprit::views {
namespace {

using profile::FrameKind;

// ";" parts frames and a newline parts stacks, so neither can stay in a name.
void AppendName(std::string_view name, std::string& out) {
  if (name.empty()) {
    out += "[empty]";
    return;
  }
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += c == ';' ? ':' : (byte < 0x20 || byte == 0x7f) ? '?' : c;
  }
}

std::string_view Annotation(const Annotations& annotate, FrameKind kind, std::string_view name) {
  if (name.ends_with("_[k]") || name.ends_with("_[j]") || name.ends_with("_[i]")) return "";
  if (annotate.kernel && kind == FrameKind::kKernel) return "_[k]";
  if (annotate.jit && (kind == FrameKind::kJit || kind == FrameKind::kPython)) return "_[j]";
  if (annotate.inlined && kind == FrameKind::kInlined) return "_[i]";
  return "";
}

// Calls visit(path, node) for each node in preorder.
template <class Visit>
void ForEachPath(const profile::Profile& profile, const profile::CallTree& tree,
                 const Annotations& annotate, Visit visit) {
  std::string path;
  std::vector<std::size_t> ends = {0};  // of the path, by depth
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const auto& node = tree.nodes[i];
    ends.resize(node.depth);
    path.resize(ends.back());
    if (node.depth > 1) path += ';';
    const std::string_view name = profile.name(node.frame);
    AppendName(name, path);
    path += Annotation(annotate, profile.frames[node.frame].kind, name);
    ends.push_back(path.size());
    visit(path, i);
  }
  // Samples without any frame, merged: flamegraph.pl needs a name for them.
  path = "[empty]";
  visit(path, 0);
}

}  // namespace

std::string FlameFolded(const FlameView& view) {
  // Frames of one name and several kinds give the same line, so lines are summed.
  std::map<std::string, std::int64_t> lines;
  ForEachPath(view.profile, view.tree, view.annotate,
              [&](const std::string& path, std::uint32_t node) {
                const std::int64_t self = view.tree.nodes[node].self;
                if (self != 0) lines[path] += self;
              });
  std::string out;
  for (const auto& [stack, weight] : lines) out += fmt::format("{} {}\n", stack, weight);
  return out;
}

std::string FlameDiffFolded(const profile::Diff& diff) {
  std::map<std::string, profile::Diff::Side> lines;
  ForEachPath(diff.profile, diff.tree, {}, [&](const std::string& path, std::uint32_t node) {
    const profile::Diff::Side& self = diff.self[node];
    if (self.before == 0 && self.after == 0) return;
    lines[path].before += self.before;
    lines[path].after += self.after;
  });
  std::string out;
  for (const auto& [stack, side] : lines) {
    out += fmt::format("{} {} {}\n", stack, side.before, side.after);
  }
  return out;
}

}  // namespace culprit::views
