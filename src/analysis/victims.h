// Victims: whose time is explained. Chosen by what the user names, else by what holds a GPU, else
// by known names of training and serving programs, else the threads that waited most while having
// work.
#pragma once

#include <string>
#include <vector>

#include "analysis/explain.h"
#include "analysis/timeline.h"

namespace culprit::analysis {

// A thread's time in a window by what it did.
struct ThreadTotals {
  std::int64_t running_ns = 0;
  std::int64_t ready_ns = 0;    // R and R+
  std::int64_t blocked_ns = 0;  // D
  std::int64_t stopped_ns = 0;
  std::int64_t handed_ns = 0;  // asleep until another thread of its process woke it
  std::int64_t alive_ns = 0;

  // That it had work: what it did, and what kept it from doing it.
  std::int64_t work_ns() const { return running_ns + ready_ns + blocked_ns; }
};

std::vector<ThreadTotals> SumThreads(const Timeline& timeline, Interval window);

struct Victim {
  Utid utid = 0;
  VictimRole role = VictimRole::kThread;
  std::string why;
};

struct VictimChoice {
  std::string by = "auto";  // as Explanation::selected_by
  std::string selection;    // what the user said
  std::string reason;
  // Whether the user or the recording says that it matters what these threads wait for. Not so for
  // threads found by how much they waited: an idle server waits, too.
  bool is_certain = true;
  std::vector<Victim> victims;  // those with most work and waiting first
  std::vector<Victim> idle;     // of the same job, but with next to no work: not explained
};

// `slice_threads` are the threads with a slice that --slice asked for.
VictimChoice ChooseVictims(const Timeline& timeline, const std::vector<ThreadTotals>& totals,
                           const ExplainOptions& options, Interval window,
                           const std::vector<Utid>& slice_threads);

}  // namespace culprit::analysis
