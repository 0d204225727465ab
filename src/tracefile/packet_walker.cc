#include "tracefile/packet_walker.h"

#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::tracefile {
namespace {

constexpr char kPacketTag = (Trace::kPacket << 3) | 2;

enum class Framing { kPacket, kOther, kBroken, kPastEnd };

struct Framed {
  Framing kind = Framing::kBroken;
  std::string_view body;
  std::size_t next = 0;
};

// The field of Trace at `position`.
Framed FieldAt(std::string_view trace, std::size_t position) {
  Framed framed;
  const char* at = trace.data() + position;
  const char* end = trace.data() + trace.size();
  std::uint64_t tag;
  const char* next = ReadVarint(at, end, tag);
  if (next == nullptr) {
    framed.kind = end - at < 10 ? Framing::kPastEnd : Framing::kBroken;
    return framed;
  }
  if ((tag >> 3) == 0 || tag > 0xFFFFFFFF) return framed;
  std::uint64_t size = 0;
  switch (tag & 7) {
    case 0: {
      std::uint64_t ignored;
      next = ReadVarint(next, end, ignored);
      break;
    }
    case 1:
      size = 8;
      break;
    case 2:
      next = ReadVarint(next, end, size);
      break;
    case 5:
      size = 4;
      break;
    default:
      return framed;
  }
  if (next == nullptr || size > static_cast<std::uint64_t>(end - next)) {
    framed.kind = Framing::kPastEnd;
    return framed;
  }
  framed.kind = tag == kPacketTag ? Framing::kPacket : Framing::kOther;
  framed.body = {next, static_cast<std::size_t>(size)};
  framed.next = static_cast<std::size_t>(next - trace.data()) + static_cast<std::size_t>(size);
  return framed;
}

// Wire type of the fields of TracePacket that tell it from other messages: -1 unknown.
int KnownWireType(std::uint32_t id) {
  switch (id) {
    case TracePacket::kTrustedUid:
    case TracePacket::kTimestamp:
    case TracePacket::kTrustedPacketSequenceId:
    case TracePacket::kSequenceFlags:
    case TracePacket::kIncrementalStateCleared:
    case TracePacket::kPreviousPacketDropped:
    case TracePacket::kTimestampClockId:
    case TracePacket::kTrustedPid:
    case TracePacket::kFirstPacketOnSequence:
    case TracePacket::kMachineId:
      return 0;
    case TracePacket::kFtraceEvents:
    case TracePacket::kProcessTree:
    case TracePacket::kClockSnapshot:
    case TracePacket::kSysStats:
    case TracePacket::kProcessStats:
    case TracePacket::kTrackEvent:
    case TracePacket::kInternedData:
    case TracePacket::kTraceConfig:
    case TracePacket::kFtraceStats:
    case TracePacket::kTraceStats:
    case TracePacket::kSynchronizationMarker:
    case TracePacket::kSystemInfo:
    case TracePacket::kCompressedPackets:
    case TracePacket::kTracePacketDefaults:
    case TracePacket::kTrackDescriptor:
    case TracePacket::kZstdCompressedPackets:
      return 2;
    default:
      return -1;
  }
}

}  // namespace

bool LooksLikePacket(std::string_view bytes) {
  ProtoReader fields(bytes);
  bool typical = false;
  while (fields.Next()) {
    const int wire_type = KnownWireType(fields.id());
    if (wire_type >= 0 && wire_type != static_cast<int>(fields.type())) return false;
    switch (fields.id()) {
      case TracePacket::kTrustedUid:
      case TracePacket::kTimestamp:
      case TracePacket::kTrustedPacketSequenceId:
      case TracePacket::kSynchronizationMarker:
      case TracePacket::kCompressedPackets:
      case TracePacket::kZstdCompressedPackets:
        typical = true;
        break;
      default:
        break;
    }
  }
  return fields.ok() && typical;
}

bool PacketWalker::Next() {
  while (position_ < trace_.size()) {
    const Framed framed = FieldAt(trace_, position_);
    switch (framed.kind) {
      case Framing::kPacket:
        packet_ = framed.body;
        position_ = framed.next;
        return true;
      case Framing::kOther:
        // A field of Trace that we do not know is skipped. Damage looks the same; a packet that
        // seems to begin behind it is what tells them apart.
        if (framed.next == trace_.size() || trace_[framed.next] == kPacketTag) {
          ++unknown_fields_;
          position_ = framed.next;
          continue;
        }
        break;
      case Framing::kBroken:
      case Framing::kPastEnd:
        break;
    }
    if (!Resync()) {
      is_cut_ = true;
      position_ = trace_.size();
      return false;
    }
  }
  return false;
}

// Moves to the next place where several packets in a row, or the last of the file, look right.
bool PacketWalker::Resync() {
  constexpr int kInARow = 3;
  const std::size_t start = position_;
  for (std::size_t at = start + 1; at < trace_.size(); ++at) {
    at = trace_.find(kPacketTag, at);
    if (at == std::string_view::npos) return false;
    std::size_t next = at;
    int good = 0;
    while (good < kInARow && next < trace_.size()) {
      const Framed framed = FieldAt(trace_, next);
      if (framed.kind != Framing::kPacket || !LooksLikePacket(framed.body)) break;
      next = framed.next;
      ++good;
    }
    if (good == kInARow || (good > 0 && next == trace_.size())) {
      skipped_bytes_ += at - start;
      position_ = at;
      return true;
    }
  }
  return false;
}

}  // namespace culprit::tracefile
