#include "load/marker_tracker.h"

namespace culprit::load {

MarkerTracker::MarkerTracker(StringPool& strings, ThreadTracker& threads, TrackTable& tracks,
                             SliceTracker& slices, RowStream<CounterRow>& counters,
                             TraceStats& stats)
    : strings_(strings),
      threads_(threads),
      tracks_(tracks),
      slices_(slices),
      counters_(counters),
      stats_(stats),
      thread_type_(strings.Intern("thread_execution")),
      async_type_(strings.Intern("atrace_async_slice")),
      named_type_(strings.Intern("atrace_async_slice_for_track")),
      counter_type_(strings.Intern("atrace_counter")) {}

TrackId MarkerTracker::ThreadTrack(Utid utid) {
  if (utid >= thread_tracks_.size()) thread_tracks_.resize(threads_.threads().size(), kNone);
  TrackId& track = thread_tracks_[utid];
  if (track == kNone) track = tracks_.Get(TrackScope::kThread, utid, thread_type_, kNoString);
  return track;
}

// Kernel code and old libraries leave the tgid out; else it says which process the thread is of.
Utid MarkerTracker::WriterOf(std::int64_t tid, std::int64_t tgid) {
  return tgid == 0 ? threads_.GetThread(tid) : threads_.ThreadOfProcess(tid, tgid);
}

MarkerTracker::AsyncTracks& MarkerTracker::Async(Upid upid, StringId type, StringId name) {
  const TrackId first = tracks_.Get(TrackScope::kProcess, upid, type, name);
  AsyncTracks& all = async_[first];
  if (all.empty()) all.push_back({first, std::nullopt});
  return all;
}

void MarkerTracker::BeginAsync(std::int64_t ts, Upid upid, StringId type, StringId track_name,
                               StringId name, std::int64_t cookie, bool nests) {
  AsyncTracks& all = Async(upid, type, track_name);
  AsyncTrack* free = nullptr;
  for (AsyncTrack& track : all) {
    if (track.cookie == cookie) {
      // The cookie is open already: a second begin of a slice that cannot nest says nothing new.
      if (nests) slices_.Begin(ts, track.track, kNoString, name);
      return;
    }
    if (free == nullptr && !track.cookie.has_value()) free = &track;
  }
  if (free == nullptr) {
    all.push_back({tracks_.Add(TrackScope::kProcess, upid, type, track_name), std::nullopt});
    free = &all.back();
  }
  free->cookie = cookie;
  slices_.Begin(ts, free->track, kNoString, name);
}

void MarkerTracker::EndAsync(std::int64_t ts, Upid upid, StringId type, StringId track_name,
                             std::int64_t cookie) {
  for (AsyncTrack& track : Async(upid, type, track_name)) {
    if (track.cookie != cookie) continue;
    slices_.End(ts, track.track);
    if (!slices_.HasOpen(track.track)) track.cookie.reset();
    return;
  }
  stats_.Add("marker_ends_unmatched");
}

void MarkerTracker::Write(std::int64_t ts, std::uint32_t cpu, std::int64_t tid,
                          std::string_view text) {
  const auto marker = ParseMarker(text);
  if (!marker.has_value()) {
    stats_.Add("systrace_parse_failure");
    return;
  }
  const StringId name = marker->name.empty() ? kNoString : strings_.Intern(marker->name);
  switch (marker->phase) {
    case 'B': {
      const Utid utid = WriterOf(tid, marker->tgid);
      slices_.Begin(ts, ThreadTrack(utid), kNoString, name);
      SeenOn(utid, cpu);
      return;
    }
    case 'E': {
      // A thread that was never seen cannot have begun one.
      if (marker->tgid == 0 && threads_.FindThread(tid) == kNone) return;
      const Utid utid = WriterOf(tid, marker->tgid);
      if (slices_.End(ts, ThreadTrack(utid)).row == kNone) stats_.Add("marker_ends_unmatched");
      SeenOn(utid, cpu);
      return;
    }
    case 'I':
      slices_.Instant(ts, ThreadTrack(WriterOf(tid, marker->tgid)), kNoString, name);
      return;
    case 'S':
      BeginAsync(ts, threads_.GetProcess(marker->tgid), async_type_, name, name, marker->value,
                 false);
      return;
    case 'F':
      EndAsync(ts, threads_.GetProcess(marker->tgid), async_type_, name, marker->value);
      return;
    case 'G':
      BeginAsync(ts, threads_.GetProcess(marker->tgid), named_type_, strings_.Intern(marker->track),
                 name, marker->value, true);
      return;
    case 'H':
      EndAsync(ts, threads_.GetProcess(marker->tgid), named_type_, strings_.Intern(marker->track),
               marker->value);
      return;
    case 'N': {
      const Upid upid = threads_.GetProcess(marker->tgid);
      const TrackId track =
          tracks_.Get(TrackScope::kProcess, upid, named_type_, strings_.Intern(marker->track));
      slices_.Instant(ts, track, kNoString, name);
      return;
    }
    case 'C': {
      // Counters are of the process: threads of another one may write them.
      const Upid upid = threads_.GetProcess(marker->tgid);
      const TrackId track = tracks_.Get(TrackScope::kProcess, upid, counter_type_, name, true);
      counters_.Append(
          {.id = 0, .track_id = track, .ts = ts, .value = static_cast<double>(marker->value)});
      return;
    }
    default:
      return;
  }
}

void MarkerTracker::EventsLost(std::uint32_t cpu, const SchedTracker& sched) {
  for (const auto& [utid, marker_cpu] : last_cpu_) {
    const std::uint32_t ran_on = sched.LastCpu(utid);
    if ((ran_on == kNone ? marker_cpu : ran_on) == cpu || marker_cpu == cpu) {
      slices_.Cut(thread_tracks_[utid]);
    }
  }
}

}  // namespace culprit::load
