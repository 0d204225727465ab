// TrackDescription: what a TrackDescriptor packet says of a track of events that programs wrote.
// Texts lie in the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace culprit::load {

// What a TrackDescriptor says.
struct TrackDescription {
  std::string_view name;
  std::uint64_t parent_uuid = 0;
  std::optional<std::int64_t> pid;  // the track is of a process
  std::string_view process_name;
  std::optional<std::int64_t> tid;  // the track is of a thread
  std::int64_t thread_pid = 0;
  std::string_view thread_name;
  bool is_counter = false;
  std::uint64_t unit = 0;
  std::int64_t unit_multiplier = 1;
  bool is_incremental = false;
};

// From a TrackDescriptor; its number in `uuid`.
TrackDescription ReadTrackDescriptor(std::string_view body, std::uint64_t& uuid);
// From a ThreadDescriptor: the thread alone.
void ReadThreadDescriptor(std::string_view body, TrackDescription& track);

}  // namespace culprit::load
