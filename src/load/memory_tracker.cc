#include "load/memory_tracker.h"

#include <iterator>
#include <string>
#include <string_view>

namespace culprit::load {
namespace {

constexpr std::string_view kMembers[] = {"mem.rss.file", "mem.rss.anon", "mem.swap",
                                         "mem.rss.shmem", "mem.unreclaimable"};

// Rows that wait for the process of their thread are held in memory; a trace in which no process is
// ever named would hold all of them.
constexpr std::size_t kMostPending = std::size_t{1} << 20;

}  // namespace

// The event names memory by a hash and says whether it is the current thread's. Foreign memory
// (reclaim, ptrace, the end of an exec) is that of whoever last had the hash as its own.
Utid MemoryTracker::OwnerOf(const RssStat& event, Utid current) {
  if (!event.is_current.has_value() || !event.mm_id.has_value()) return current;
  if (*event.is_current) return owners_[*event.mm_id] = current;
  const auto owner = owners_.find(*event.mm_id);
  if (owner == owners_.end()) return kNone;
  if (threads_.IsAlive(owner->second)) return owner->second;
  owners_.erase(owner);
  return kNone;
}

TrackId MemoryTracker::TrackOf(Utid utid, StringId type, StringId name) {
  const Upid upid = threads_.upid_of(utid);
  if (upid != kNone) return tracks_.Get(TrackScope::kProcess, upid, type, name, true);
  const std::string fallback = std::string(strings_.Text(type)) + "_thread_fallback";
  return tracks_.Get(TrackScope::kThread, utid, strings_.Intern(fallback), name, true);
}

void MemoryTracker::Append(std::int64_t ts, Utid utid, StringId type, StringId name, double value) {
  CounterRow row{.id = 0, .track_id = 0, .ts = ts, .value = value};
  const Upid upid = threads_.upid_of(utid);
  const bool is_known = upid != kNone && !threads_.processes()[upid].is_guess;
  if (is_known || pending_.size() == kMostPending) {
    row.track_id = TrackOf(utid, type, name);
    counters_.Append(row);
    return;
  }
  pending_.push_back({counters_.Open(row), utid, type, name});
}

void MemoryTracker::Take(std::int64_t ts, Utid current, const RssStat& event) {
  if (event.member >= std::size(kMembers)) {
    stats_.Add("rss_stat_unknown_keys");
    return;
  }
  if (event.bytes < 0) {
    stats_.Add("rss_stat_negative_size");
    return;
  }
  const Utid owner = OwnerOf(event, current);
  if (owner == kNone) {
    stats_.Add("rss_stat_unknown_thread_for_mm_id");
    return;
  }
  Append(ts, owner, strings_.Intern("process_memory"), strings_.Intern(kMembers[event.member]),
         static_cast<double>(event.bytes));
}

void MemoryTracker::OomScore(std::int64_t ts, Utid utid, std::int64_t score) {
  const StringId name = strings_.Intern("oom_score_adj");
  Append(ts, utid, name, name, static_cast<double>(score));
}

void MemoryTracker::Settle() {
  for (const Pending& pending : pending_) {
    if (CounterRow* row = counters_.Find(pending.row); row != nullptr) {
      row->track_id = TrackOf(pending.utid, pending.type, pending.name);
    }
    counters_.Close(pending.row);
  }
  pending_.clear();
}

}  // namespace culprit::load
