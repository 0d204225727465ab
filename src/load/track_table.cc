#include "load/track_table.h"

namespace culprit::load {

TrackId TrackTable::Add(TrackScope scope, std::uint32_t owner, StringId type, StringId name) {
  tracks_.push_back({.scope = scope,
                     .is_counter = false,
                     .owner = owner,
                     .type = type,
                     .name = name,
                     .unit = kNoString,
                     .parent = kNone});
  return static_cast<TrackId>(tracks_.size() - 1);
}

TrackId TrackTable::Get(TrackScope scope, std::uint32_t owner, StringId type, StringId name,
                        bool is_counter, StringId unit) {
  const Key key{static_cast<std::uint32_t>(scope), owner, type, name};
  const auto [found, is_new] = by_key_.try_emplace(key, static_cast<TrackId>(tracks_.size()));
  if (is_new) {
    Add(scope, owner, type, name);
    tracks_.back().is_counter = is_counter;
    tracks_.back().unit = unit;
  }
  return found->second;
}

}  // namespace culprit::load
