// TrackTable: the tracks that slices and counters lie on, each made when first named. A track is
// what it is about (a thread, a process, a CPU, the machine), its type and its name.
#pragma once

#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "load/string_pool.h"
#include "load/thread_tracker.h"

namespace culprit::load {

using TrackId = std::uint32_t;

enum class TrackScope : std::uint8_t { kGlobal, kCpu, kThread, kProcess };

struct Track {
  TrackScope scope = TrackScope::kGlobal;
  bool is_counter = false;
  std::uint32_t owner = kNone;  // CPU, utid or upid
  StringId type = kNoString;    // Perfetto's name of the kind: "cpu_frequency"
  StringId name = kNoString;
  StringId unit = kNoString;
  TrackId parent = kNone;
  std::uint32_t perf_session = kNone;  // of counters that came with samples
};

class TrackTable {
 public:
  // The track of this scope, owner, type and name; `unit` counts when it is new.
  TrackId Get(TrackScope scope, std::uint32_t owner, StringId type, StringId name,
              bool is_counter = false, StringId unit = kNoString);
  // One more track beside those with the same name.
  TrackId Add(TrackScope scope, std::uint32_t owner, StringId type, StringId name);

  void SetParent(TrackId track, TrackId parent) { tracks_[track].parent = parent; }
  void MakeCounter(TrackId track, StringId unit) {
    tracks_[track].is_counter = true;
    tracks_[track].unit = unit;
  }

  void SetPerfSession(TrackId track, std::uint32_t session) {
    tracks_[track].perf_session = session;
  }

  const std::vector<Track>& tracks() const { return tracks_; }

 private:
  struct Key {
    std::uint32_t scope;
    std::uint32_t owner;
    StringId type;
    StringId name;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = key.owner;
      hash = hash * 0x9E3779B97F4A7C15 + key.name;
      hash = hash * 0x9E3779B97F4A7C15 + key.type;
      hash = hash * 0x9E3779B97F4A7C15 + key.scope;
      return hash ^ (hash >> 29);
    }
  };
  std::vector<Track> tracks_;
  std::unordered_map<Key, TrackId, Hash> by_key_;
};

}  // namespace culprit::load
