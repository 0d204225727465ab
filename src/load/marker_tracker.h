// MarkerTracker: what the markers of programs do: slices of threads and of processes, counters and
// instants. Parsing is marker.h, nesting is slice_tracker.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "load/marker.h"
#include "load/sched_tracker.h"
#include "load/slice_tracker.h"
#include "load/stats.h"
#include "load/string_pool.h"
#include "load/thread_tracker.h"
#include "load/track_table.h"

namespace culprit::load {

class MarkerTracker {
 public:
  MarkerTracker(StringPool& strings, ThreadTracker& threads, TrackTable& tracks,
                SliceTracker& slices, RowStream<CounterRow>& counters, TraceStats& stats);

  // A text that the thread `tid` wrote on `cpu`.
  void Write(std::int64_t ts, std::uint32_t cpu, std::int64_t tid, std::string_view text);

  // The track of slices of a thread.
  TrackId ThreadTrack(Utid utid);
  // A slice of a thread that is no marker began or ended on `cpu`.
  void SeenOn(Utid utid, std::uint32_t cpu) { last_cpu_[utid] = cpu; }

  // Events of `cpu` are missing: the slices of threads that were last there are cut.
  void EventsLost(std::uint32_t cpu, const SchedTracker& sched);

 private:
  // Async slices of one process and name: one track for each that is open at a time.
  struct AsyncTrack {
    TrackId track;
    std::optional<std::int64_t> cookie;  // of the open slice
  };
  using AsyncTracks = std::vector<AsyncTrack>;
  AsyncTracks& Async(Upid upid, StringId type, StringId name);
  Utid WriterOf(std::int64_t tid, std::int64_t tgid);
  void BeginAsync(std::int64_t ts, Upid upid, StringId type, StringId track_name, StringId name,
                  std::int64_t cookie, bool nests);
  void EndAsync(std::int64_t ts, Upid upid, StringId type, StringId track_name,
                std::int64_t cookie);

  StringPool& strings_;
  ThreadTracker& threads_;
  TrackTable& tracks_;
  SliceTracker& slices_;
  RowStream<CounterRow>& counters_;
  TraceStats& stats_;
  const StringId thread_type_;
  const StringId async_type_;
  const StringId named_type_;
  const StringId counter_type_;
  std::vector<TrackId> thread_tracks_;                    // by utid
  std::unordered_map<Utid, std::uint32_t> last_cpu_;      // of threads that have a track
  std::unordered_map<std::uint64_t, AsyncTracks> async_;  // by the first track's id
};

}  // namespace culprit::load
