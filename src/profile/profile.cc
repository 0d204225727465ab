#include "profile/profile.h"

#include <algorithm>

namespace culprit::profile {
namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint64_t Mix(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15U;
  value ^= value >> 32U;
  return value * 0xd6e8feb86659fd93U;
}

std::size_t HashStack(StackId parent, FrameId frame) {
  return static_cast<std::size_t>(Mix((std::uint64_t{parent} << 32U) | frame) >> 16U);
}

}  // namespace

StringId StringTable::Intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const auto id = static_cast<StringId>(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), id);
  return id;
}

std::size_t Profile::FrameHash::operator()(const Frame& frame) const {
  return static_cast<std::size_t>(Mix((std::uint64_t{frame.name} << 32U) ^
                                      (std::uint64_t{frame.module} << 8U) ^
                                      static_cast<std::uint64_t>(frame.kind)));
}

FrameId Profile::InternFrame(const Frame& frame) {
  const auto [entry, added] = frame_ids_.try_emplace(frame, static_cast<FrameId>(frames.size()));
  if (added) frames.push_back(frame);
  return entry->second;
}

void Profile::GrowStackSlots() {
  stack_slots_.assign(std::max(kFirstSlots, stack_slots_.size() * 2), 0);
  const std::size_t mask = stack_slots_.size() - 1;
  for (StackId id = 1; id < stacks.size(); ++id) {
    std::size_t slot = HashStack(stacks[id].parent, stacks[id].frame) & mask;
    while (stack_slots_[slot] != 0) slot = (slot + 1) & mask;
    stack_slots_[slot] = id;
  }
}

StackId Profile::InternStack(StackId parent, FrameId frame) {
  if (stacks.size() * 2 > stack_slots_.size()) GrowStackSlots();
  const std::size_t mask = stack_slots_.size() - 1;
  std::size_t slot = HashStack(parent, frame) & mask;
  for (; stack_slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Stack& stack = stacks[stack_slots_[slot]];
    if (stack.parent == parent && stack.frame == frame) return stack_slots_[slot];
  }
  const auto id = static_cast<StackId>(stacks.size());
  stacks.push_back({parent, frame});
  stack_slots_[slot] = id;
  return id;
}

void Profile::GrowWholeSlots() {
  std::vector<WholeStack> old(std::max(kFirstSlots, whole_slots_.size() * 2));
  old.swap(whole_slots_);
  const std::size_t mask = whole_slots_.size() - 1;
  for (const WholeStack& whole : old) {
    if (whole.id == 0) continue;
    std::size_t slot = whole.first & mask;
    while (whole_slots_[slot].id != 0) slot = (slot + 1) & mask;
    whole_slots_[slot] = whole;
  }
}

StackId Profile::InternStack(std::span<const FrameId> chain) {
  if (chain.empty()) return 0;
  if ((whole_count_ + 1) * 2 > whole_slots_.size()) GrowWholeSlots();
  WholeStack whole{chain.size(), ~chain.size(), 0};
  for (const FrameId frame : chain) {
    whole.first = (whole.first ^ frame) * 0x9e3779b97f4a7c15U + (whole.first >> 29U);
    whole.second = (whole.second + frame) * 0xd6e8feb86659fd93U ^ (whole.second >> 31U);
  }
  whole.first = Mix(whole.first);
  const std::size_t mask = whole_slots_.size() - 1;
  std::size_t slot = whole.first & mask;
  for (; whole_slots_[slot].id != 0; slot = (slot + 1) & mask) {
    const WholeStack& known = whole_slots_[slot];
    if (known.first == whole.first && known.second == whole.second) return known.id;
  }
  for (const FrameId frame : chain) whole.id = InternStack(whole.id, frame);
  whole_slots_[slot] = whole;
  ++whole_count_;
  return whole.id;
}

ThreadId Profile::AddThread(const Thread& thread) {
  threads.push_back(thread);
  return static_cast<ThreadId>(threads.size() - 1);
}

std::optional<std::uint16_t> Profile::InternMetric(std::string_view name, std::string_view unit) {
  const auto found = std::ranges::find_if(
      metrics, [&](const Metric& metric) { return metric.name == name && metric.unit == unit; });
  if (found != metrics.end()) return static_cast<std::uint16_t>(found - metrics.begin());
  if (metrics.size() >= UINT16_MAX) return std::nullopt;
  metrics.push_back({std::string(name), std::string(unit)});
  return static_cast<std::uint16_t>(metrics.size() - 1);
}

std::size_t Profile::CountSamples(std::uint16_t metric) const {
  return static_cast<std::size_t>(std::ranges::count(samples, metric, &Sample::metric));
}

}  // namespace culprit::profile
