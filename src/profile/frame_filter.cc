#include "profile/frame_filter.h"

#include <algorithm>

namespace culprit::profile {
namespace {

std::vector<bool> MatchFrames(const Profile& profile, const std::vector<Regex>& expressions) {
  std::vector<bool> matches(profile.frames.size());
  for (FrameId id = 0; id < profile.frames.size(); ++id) {
    const std::string name(profile.name(id));
    matches[id] = std::ranges::any_of(
        expressions, [&](const Regex& expression) { return expression.Matches(name); });
  }
  return matches;
}

}  // namespace

FrameFilter::FrameFilter(const Profile& profile, const Selection& selection) {
  const std::size_t count = profile.stacks.size();
  if (!selection.filter.empty()) {
    const std::size_t expressions = std::min<std::size_t>(selection.filter.size(), 64);
    std::vector<std::uint64_t> found(profile.frames.size());
    for (std::size_t i = 0; i < expressions; ++i) {
      const auto matches = MatchFrames(profile, {selection.filter[i]});
      for (FrameId id = 0; id < found.size(); ++id) {
        if (matches[id]) found[id] |= std::uint64_t{1} << i;
      }
      wanted_ |= std::uint64_t{1} << i;
    }
    kept_.resize(count);
    for (StackId id = 1; id < count; ++id) {
      kept_[id] = kept_[profile.stacks[id].parent] | found[profile.stacks[id].frame];
    }
  }
  if (selection.remove.empty() && selection.collapse.empty()) return;
  const auto removed = MatchFrames(profile, selection.remove);
  const auto collapsed = MatchFrames(profile, selection.collapse);
  mapped_.resize(count);
  std::vector<bool> below(count);  // a caller, or the frame itself, is collapsed
  for (StackId id = 1; id < count; ++id) {
    const Profile::Stack& stack = profile.stacks[id];
    const bool gone = removed[stack.frame] || below[stack.parent];
    mapped_[id] = gone ? mapped_[stack.parent] : id;
    below[id] = below[stack.parent] || collapsed[stack.frame];
  }
}

}  // namespace culprit::profile
