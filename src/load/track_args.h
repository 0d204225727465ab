// The arguments that tell tracks of one type from each other (track.dimension_arg_set_id), under
// Perfetto's keys.
#pragma once

#include <cstdint>

#include "load/arg_sets.h"
#include "load/string_pool.h"
#include "load/track_table.h"

namespace culprit::load {

// Makes a set for every track, in their order; returns the first one's number.
std::uint32_t AddTrackArgs(const TrackTable& tracks, const StringPool& strings, ArgSets& args);

// Whether a track has such arguments at all.
bool HasTrackArgs(const Track& track, const StringPool& strings);

}  // namespace culprit::load
