// AsyncTracks: lines for slices of a process that overlap: one for each that is open at a time,
// used again once it is free. Knows no file format.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "load/slice_tracker.h"
#include "load/string_pool.h"
#include "load/track_table.h"

namespace culprit::load {

class AsyncTracks {
 public:
  AsyncTracks(TrackTable& tracks, const SliceTracker& slices) : tracks_(tracks), slices_(slices) {}

  // What overlaps on lines of this scope, owner, type and name.
  struct Key {
    TrackScope scope;
    std::uint32_t owner;
    StringId type;
    StringId name;
  };
  // The line of the open slices with that cookie; when there are none, a free one for them.
  TrackId ForBegin(const Key& key, std::uint64_t cookie);
  // The same for an end: kNone when nothing is open.
  TrackId ForEnd(const Key& key, std::uint64_t cookie);

 private:
  struct Line {
    TrackId track;
    std::uint64_t cookie;
  };
  std::vector<Line>& LinesOf(const Key& key, TrackId& first);

  TrackTable& tracks_;
  const SliceTracker& slices_;
  std::unordered_map<TrackId, std::vector<Line>> lines_;  // by their first track
};

}  // namespace culprit::load
