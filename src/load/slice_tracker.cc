#include "load/slice_tracker.h"

namespace culprit::load {

void SliceTracker::TakeOffEnded(Stack& stack, std::int64_t ts, bool is_instant) {
  while (!stack.levels.empty()) {
    const Level& top = stack.levels.back();
    if (top.dur == kOpenDur) return;
    const std::int64_t end = top.ts + top.dur;
    // Instants at the same moment stack; anything else that ends where the next begins is over.
    if (end > ts || (end == ts && top.dur == 0 && is_instant)) return;
    stack.levels.pop_back();
  }
}

RowId SliceTracker::Push(Stack& stack, std::int64_t ts, std::int64_t dur, TrackId track,
                         StringId category, StringId name, std::uint32_t arg_set_id) {
  if (stack.levels.size() >= kDeepest) {
    stats_.Add("slice_max_depth_exceeded");
    return kNone;
  }
  const SliceRow row{.id = 0,
                     .track_id = track,
                     .ts = ts,
                     .dur = dur,
                     .category = category,
                     .name = name,
                     .parent_id = stack.levels.empty() ? kNone : stack.levels.back().row,
                     .arg_set_id = arg_set_id,
                     .depth = static_cast<std::uint32_t>(stack.levels.size())};
  const RowId id = dur == kOpenDur ? slices_.Open(row) : slices_.Append(row);
  stack.levels.push_back({id, ts, dur, category, name, arg_set_id});
  return id;
}

RowId SliceTracker::Begin(std::int64_t ts, TrackId track, StringId category, StringId name,
                          std::uint32_t arg_set_id) {
  Stack& stack = StackOf(track);
  TakeOffEnded(stack, ts, false);
  const RowId id = Push(stack, ts, kOpenDur, track, category, name, arg_set_id);
  if (id != kNone) ++stack.open;
  return id;
}

SliceEnd SliceTracker::End(std::int64_t ts, TrackId track, StringId category, StringId name,
                           std::uint32_t new_arg_set) {
  if (!HasOpen(track)) return {};
  Stack& stack = StackOf(track);
  TakeOffEnded(stack, ts, false);
  for (std::size_t i = stack.levels.size(); i-- > 0;) {
    Level& level = stack.levels[i];
    if (level.dur != kOpenDur) continue;
    if (category != kNoString && level.category != category) continue;
    if (name != kNoString && level.name != name) continue;
    level.dur = ts - level.ts;
    if (level.arg_set_id == kNone) level.arg_set_id = new_arg_set;
    const SliceEnd end{level.row, level.arg_set_id};
    if (SliceRow* row = slices_.Find(level.row); row != nullptr) {
      row->dur = level.dur;
      row->arg_set_id = level.arg_set_id;
    }
    slices_.Close(level.row);
    --stack.open;
    if (i + 1 == stack.levels.size()) stack.levels.pop_back();
    return end;
  }
  return {};
}

RowId SliceTracker::Instant(std::int64_t ts, TrackId track, StringId category, StringId name,
                            std::uint32_t arg_set_id) {
  return Complete(ts, 0, track, category, name, arg_set_id);
}

bool SliceTracker::Fits(std::int64_t ts, std::int64_t dur, TrackId track) {
  Stack& stack = StackOf(track);
  TakeOffEnded(stack, ts, dur == 0);
  if (stack.levels.empty() || stack.levels.back().dur == kOpenDur) return true;
  return ts + dur <= stack.levels.back().ts + stack.levels.back().dur;
}

RowId SliceTracker::Complete(std::int64_t ts, std::int64_t dur, TrackId track, StringId category,
                             StringId name, std::uint32_t arg_set_id) {
  Stack& stack = StackOf(track);
  TakeOffEnded(stack, ts, dur == 0);
  return Push(stack, ts, dur, track, category, name, arg_set_id);
}

RowId SliceTracker::BeginFree(std::int64_t ts, TrackId track, StringId category, StringId name) {
  return slices_.Open({.id = 0,
                       .track_id = track,
                       .ts = ts,
                       .dur = kOpenDur,
                       .category = category,
                       .name = name,
                       .parent_id = kNone,
                       .arg_set_id = kNone,
                       .depth = 0});
}

void SliceTracker::EndFree(std::int64_t ts, RowId slice) {
  if (slice == kNone) return;
  if (SliceRow* row = slices_.Find(slice); row != nullptr) row->dur = ts - row->ts;
  slices_.Close(slice);
}

std::size_t SliceTracker::Cut(TrackId track) {
  if (!HasOpen(track)) return 0;
  Stack& stack = StackOf(track);
  std::size_t cut = 0;
  for (const Level& level : stack.levels) {
    if (level.dur != kOpenDur) continue;
    slices_.Close(level.row);
    ++cut;
  }
  stack = Stack{};
  stats_.Add("slices_cut", static_cast<std::int64_t>(cut));
  return cut;
}

}  // namespace culprit::load
