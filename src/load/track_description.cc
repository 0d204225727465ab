#include "load/track_description.h"

#include "tracefile/proto_reader.h"

namespace culprit::load {

using tracefile::ProtoReader;

// Facts of the public protos: ThreadDescriptor has pid 1, tid 2, thread_name 5.
void ReadThreadDescriptor(std::string_view body, TrackDescription& track) {
  ProtoReader part(body);
  while (part.Next()) {
    if (part.id() == 1) track.thread_pid = part.i32();
    if (part.id() == 2) track.tid = part.i64();
    if (part.id() == 5) track.thread_name = part.bytes();
  }
}

// uuid 1, name 2, process 3 {pid 1, process_name 6}, thread 4, parent_uuid 5, counter 8 {unit 3,
// unit_multiplier 4, is_incremental 5}, static_name 10.
TrackDescription ReadTrackDescriptor(std::string_view body, std::uint64_t& uuid) {
  TrackDescription track;
  ProtoReader field(body);
  while (field.Next()) {
    ProtoReader part(field.bytes());
    switch (field.id()) {
      case 1:
        uuid = field.u64();
        break;
      case 2:
      case 10:
        track.name = field.bytes();
        break;
      case 3:
        while (part.Next()) {
          if (part.id() == 1) track.pid = part.i32();
          if (part.id() == 6) track.process_name = part.bytes();
        }
        break;
      case 4:
        ReadThreadDescriptor(field.bytes(), track);
        break;
      case 5:
        track.parent_uuid = field.u64();
        break;
      case 8:
        track.is_counter = true;
        while (part.Next()) {
          if (part.id() == 3) track.unit = part.u64();
          if (part.id() == 4 && part.i64() != 0) track.unit_multiplier = part.i64();
          if (part.id() == 5) track.is_incremental = part.boolean();
        }
        break;
      default:
        break;
    }
  }
  return track;
}

}  // namespace culprit::load
