// MemoryTracker: memory of processes as the kernel counts it (kmem/rss_stat, oom_score_adj_update):
// counters "mem.rss.anon" and its kin. Polled values are packet_importer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "load/row_stream.h"
#include "load/rows.h"
#include "load/stats.h"
#include "load/string_pool.h"
#include "load/thread_tracker.h"
#include "load/track_table.h"

namespace culprit::load {

struct RssStat {
  std::uint32_t member = 0;  // MM_FILEPAGES ... of the kernel's mm_types_task.h
  std::int64_t bytes = 0;
  // Kernels before 5.6 have neither: the memory is that of the current thread.
  std::optional<bool> is_current;      // whether it is the current thread's memory
  std::optional<std::uint64_t> mm_id;  // which memory: a hash of its address
};

class MemoryTracker {
 public:
  MemoryTracker(StringPool& strings, ThreadTracker& threads, TrackTable& tracks,
                RowStream<CounterRow>& counters, TraceStats& stats)
      : strings_(strings), threads_(threads), tracks_(tracks), counters_(counters), stats_(stats) {}

  // An event that happened in the thread `current`.
  void Take(std::int64_t ts, Utid current, const RssStat& event);
  void OomScore(std::int64_t ts, Utid utid, std::int64_t score);
  // A counter of the process of a thread, whichever that is.
  void Append(std::int64_t ts, Utid utid, StringId type, StringId name, double value);
  // At the end, after ThreadTracker::Settle: counters of threads whose process is known by now.
  void Settle();

 private:
  // Whose memory it is; kNone: not known.
  Utid OwnerOf(const RssStat& event, Utid current);
  TrackId TrackOf(Utid utid, StringId type, StringId name);

  struct Pending {
    RowId row;
    Utid utid;
    StringId type;
    StringId name;
  };
  StringPool& strings_;
  ThreadTracker& threads_;
  TrackTable& tracks_;
  RowStream<CounterRow>& counters_;
  TraceStats& stats_;
  std::unordered_map<std::uint64_t, Utid> owners_;  // by mm_id
  std::vector<Pending> pending_;
};

}  // namespace culprit::load
