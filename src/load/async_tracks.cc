#include "load/async_tracks.h"

namespace culprit::load {

std::vector<AsyncTracks::Line>& AsyncTracks::LinesOf(const Key& key, TrackId& first) {
  first = tracks_.Get(key.scope, key.owner, key.type, key.name);
  return lines_[first];
}

TrackId AsyncTracks::ForBegin(const Key& key, std::uint64_t cookie) {
  TrackId first = kNone;
  std::vector<Line>& lines = LinesOf(key, first);
  Line* free = nullptr;
  for (Line& line : lines) {
    const bool is_open = slices_.HasOpen(line.track);
    if (is_open && line.cookie == cookie) return line.track;
    if (!is_open && free == nullptr) free = &line;
  }
  if (free == nullptr) {
    const TrackId track =
        lines.empty() ? first : tracks_.Add(key.scope, key.owner, key.type, key.name);
    free = &lines.emplace_back(Line{track, cookie});
  }
  free->cookie = cookie;
  return free->track;
}

TrackId AsyncTracks::ForEnd(const Key& key, std::uint64_t cookie) {
  TrackId first = kNone;
  for (const Line& line : LinesOf(key, first)) {
    if (line.cookie == cookie && slices_.HasOpen(line.track)) return line.track;
  }
  return kNone;
}

}  // namespace culprit::load
