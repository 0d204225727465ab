// SliceTracker: nested slices on tracks: what begins last ends first. Fills the slice table; knows
// neither markers nor interrupts.
#pragma once

#include <cstdint>
#include <vector>

#include "load/row_stream.h"
#include "load/rows.h"
#include "load/stats.h"
#include "load/track_table.h"

namespace culprit::load {

// What End found; row kNone: there was no such slice.
struct SliceEnd {
  RowId row = kNone;
  std::uint32_t arg_set_id = kNone;
};

// A slice on a track; row kNone: none.
struct OpenSlice {
  RowId row = kNone;
  std::int64_t ts = 0;
};

class SliceTracker {
 public:
  SliceTracker(RowStream<SliceRow>& slices, TraceStats& stats) : slices_(slices), stats_(stats) {}

  RowId Begin(std::int64_t ts, TrackId track, StringId category, StringId name,
              std::uint32_t arg_set_id = kNone);
  // Ends the newest open slice of that category and name (kNoString: any). One without arguments
  // gets the set `new_arg_set`.
  SliceEnd End(std::int64_t ts, TrackId track, StringId category = kNoString,
               StringId name = kNoString, std::uint32_t new_arg_set = kNone);
  RowId Instant(std::int64_t ts, TrackId track, StringId category, StringId name,
                std::uint32_t arg_set_id = kNone);
  // A slice of known duration.
  RowId Complete(std::int64_t ts, std::int64_t dur, TrackId track, StringId category, StringId name,
                 std::uint32_t arg_set_id = kNone);
  // A slice that does not nest: others on its track may overlap it. EndFree ends it.
  RowId BeginFree(std::int64_t ts, TrackId track, StringId category, StringId name);
  void EndFree(std::int64_t ts, RowId slice);

  // Whether a slice of known duration nests on the track, now that time is at `ts`.
  bool Fits(std::int64_t ts, std::int64_t dur, TrackId track);
  // The newest slice of the track that was not seen to end.
  OpenSlice Innermost(TrackId track) const {
    if (track >= tracks_.size() || tracks_[track].levels.empty()) return {};
    const Level& top = tracks_[track].levels.back();
    return {top.row, top.ts};
  }

  bool HasOpen(TrackId track) const { return track < tracks_.size() && tracks_[track].open > 0; }
  // Events are missing: what is open on the track keeps dur -1 for good. Returns how many.
  std::size_t Cut(TrackId track);

 private:
  struct Level {
    RowId row;
    std::int64_t ts;
    std::int64_t dur;
    StringId category;
    StringId name;
    std::uint32_t arg_set_id;
  };
  struct Stack {
    std::vector<Level> levels;
    std::size_t open = 0;  // levels whose end was not seen
  };
  static constexpr std::size_t kDeepest = 512;

  Stack& StackOf(TrackId track) {
    if (track >= tracks_.size()) tracks_.resize(track + 1);
    return tracks_[track];
  }
  // Takes off what ended before `ts`.
  static void TakeOffEnded(Stack& stack, std::int64_t ts, bool is_instant);
  RowId Push(Stack& stack, std::int64_t ts, std::int64_t dur, TrackId track, StringId category,
             StringId name, std::uint32_t arg_set_id);

  RowStream<SliceRow>& slices_;
  TraceStats& stats_;
  std::vector<Stack> tracks_;
};

}  // namespace culprit::load
