#include "load/flow_tracker.h"

namespace culprit::load {

void FlowTracker::Add(std::uint64_t flow, const OpenSlice& from, const OpenSlice& to) {
  const bool is_back = from.ts > to.ts;
  rows_.push_back({.slice_out = is_back ? to.row : from.row,
                   .slice_in = is_back ? from.row : to.row,
                   .trace_id = flow});
}

void FlowTracker::Begin(TrackId track, std::uint64_t flow) {
  const OpenSlice slice = slices_.Innermost(track);
  if (slice.row == kNone) {
    stats_.Add("flow_no_enclosing_slice");
  } else if (!under_way_.emplace(flow, slice).second) {
    stats_.Add("flow_duplicate_id");
  }
}

void FlowTracker::Step(TrackId track, std::uint64_t flow) {
  const OpenSlice slice = slices_.Innermost(track);
  const auto found = under_way_.find(flow);
  if (slice.row == kNone) {
    stats_.Add("flow_no_enclosing_slice");
  } else if (found == under_way_.end()) {
    stats_.Add("flow_step_without_start");
  } else {
    Add(flow, found->second, slice);
    found->second = slice;
  }
}

void FlowTracker::End(TrackId track, std::uint64_t flow) {
  const OpenSlice slice = slices_.Innermost(track);
  const auto found = under_way_.find(flow);
  if (slice.row == kNone) {
    stats_.Add("flow_no_enclosing_slice");
  } else if (found == under_way_.end()) {
    stats_.Add("flow_end_without_start");
  } else {
    Add(flow, found->second, slice);
  }
}

void FlowTracker::SliceBegan(TrackId track) {
  if (waiting_.empty()) return;
  const auto found = waiting_.find(track);
  if (found == waiting_.end()) return;
  const std::vector<std::uint64_t> flows = std::move(found->second);
  waiting_.erase(found);
  for (const std::uint64_t flow : flows) End(track, flow);
}

}  // namespace culprit::load
