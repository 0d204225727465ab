// FlowTracker: arrows from slice to slice that programs drew (Perfetto's flow table). Keeps its
// rows in memory; knows no file format.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "load/rows.h"
#include "load/slice_tracker.h"
#include "load/stats.h"
#include "load/track_table.h"

namespace culprit::load {

struct FlowRow {
  RowId slice_out = 0;
  RowId slice_in = 0;
  std::uint64_t trace_id = 0;  // the flow's number in the trace
};

// A flow goes from the slice where it begins through those of its steps; an end does not move it.
class FlowTracker {
 public:
  FlowTracker(SliceTracker& slices, TraceStats& stats) : slices_(slices), stats_(stats) {}

  // At the innermost slice of the track.
  void Begin(TrackId track, std::uint64_t flow);
  void Step(TrackId track, std::uint64_t flow);
  void End(TrackId track, std::uint64_t flow);
  // The flow ends at the next slice that begins on the track.
  void EndAtNext(TrackId track, std::uint64_t flow) { waiting_[track].push_back(flow); }
  // A slice began on the track: flows that waited for it end there.
  void SliceBegan(TrackId track);
  // A step, or the begin of a flow that is not under way.
  void BeginOrStep(TrackId track, std::uint64_t flow) {
    under_way_.contains(flow) ? Step(track, flow) : Begin(track, flow);
  }
  void EndAndForget(TrackId track, std::uint64_t flow) {
    End(track, flow);
    under_way_.erase(flow);
  }

  const std::vector<FlowRow>& rows() const { return rows_; }

 private:
  // The later slice is where the arrow points.
  void Add(std::uint64_t flow, const OpenSlice& from, const OpenSlice& to);

  SliceTracker& slices_;
  TraceStats& stats_;
  std::unordered_map<std::uint64_t, OpenSlice> under_way_;
  std::unordered_map<TrackId, std::vector<std::uint64_t>> waiting_;
  std::vector<FlowRow> rows_;
};

}  // namespace culprit::load
