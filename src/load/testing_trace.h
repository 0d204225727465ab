// TestTrace: builds small traces in Perfetto's format for tests. Not part of the program.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tracefile/fields.h"

namespace culprit::load {

// A message under construction: M().Int(1, 5).Text(2, "x").Message(3, M().Int(1, 2)).
class M {
 public:
  M& Int(std::uint32_t field, std::int64_t value) {
    protozero::pbf_writer(bytes_).add_int64(field, value);
    return *this;
  }
  M& Text(std::uint32_t field, std::string_view text) {
    protozero::pbf_writer(bytes_).add_bytes(field, text.data(), text.size());
    return *this;
  }
  M& Message(std::uint32_t field, const M& message) { return Text(field, message.bytes_); }
  M& Packed(std::uint32_t field, const std::vector<std::int64_t>& values) {
    protozero::pbf_writer(bytes_).add_packed_int64(field, values.begin(), values.end());
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// An ftrace event: time, thread, number of the event, its payload.
inline M FtraceEventOf(std::int64_t ts, std::int64_t tid, std::uint32_t field, const M& payload) {
  namespace Event = tracefile::FtraceEvent;
  return M().Int(Event::kTimestamp, ts).Int(Event::kPid, tid).Message(field, payload);
}

inline M SwitchPayload(std::string_view prev, std::int64_t prev_tid, std::int64_t prev_state,
                       std::string_view next, std::int64_t next_tid) {
  return M()
      .Text(1, prev)
      .Int(2, prev_tid)
      .Int(3, 120)
      .Int(4, prev_state)
      .Text(5, next)
      .Int(6, next_tid)
      .Int(7, 120);
}
inline M WakingPayload(std::string_view comm, std::int64_t tid, std::int64_t target_cpu) {
  return M().Text(1, comm).Int(2, tid).Int(3, 120).Int(5, target_cpu);
}

class TestTrace {
 public:
  // A packet; a negative time is left out.
  TestTrace& Packet(std::int64_t ts, std::uint32_t field, const M& payload,
                    std::uint32_t sequence = 1) {
    M packet;
    if (ts >= 0) packet.Int(tracefile::TracePacket::kTimestamp, ts);
    packet.Int(tracefile::TracePacket::kTrustedPacketSequenceId, sequence);
    packet.Message(field, payload);
    return Raw(packet);
  }
  TestTrace& Raw(const M& packet) {
    trace_.Message(tracefile::Trace::kPacket, packet);
    return *this;
  }
  TestTrace& Bundle(std::int64_t cpu, const std::vector<M>& events) {
    M bundle;
    bundle.Int(tracefile::FtraceEventBundle::kCpu, cpu);
    for (const M& event : events) bundle.Message(tracefile::FtraceEventBundle::kEvent, event);
    return Packet(-1, tracefile::TracePacket::kFtraceEvents, bundle);
  }
  TestTrace& Kernel(std::string_view release) {
    return Packet(-1, tracefile::TracePacket::kSystemInfo,
                  M().Message(tracefile::SystemInfo::kUtsname,
                              M().Text(tracefile::Utsname::kRelease, release)));
  }
  const std::string& bytes() const { return trace_.bytes(); }

 private:
  M trace_;
};

}  // namespace culprit::load
