#include "capture/trace_clock.h"

#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

struct Clock {
  std::uint32_t id;
  clockid_t kernel;
};
// BOOTTIME first and last would bracket the reading; one pass takes under a microsecond.
constexpr Clock kClocks[] = {
    {fields::BuiltinClock::kBoottime, CLOCK_BOOTTIME},
    {fields::BuiltinClock::kRealtime, CLOCK_REALTIME},
    {fields::BuiltinClock::kRealtimeCoarse, CLOCK_REALTIME_COARSE},
    {fields::BuiltinClock::kMonotonic, CLOCK_MONOTONIC},
    {fields::BuiltinClock::kMonotonicCoarse, CLOCK_MONOTONIC_COARSE},
    {fields::BuiltinClock::kMonotonicRaw, CLOCK_MONOTONIC_RAW},
};

std::uint64_t ReadNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint32_t BuiltinClockOf(TraceClock clock) {
  switch (clock) {
    case TraceClock::kBoottime:
      return fields::BuiltinClock::kBoottime;
    case TraceClock::kMonotonic:
      return fields::BuiltinClock::kMonotonic;
    case TraceClock::kMonotonicRaw:
      return fields::BuiltinClock::kMonotonicRaw;
  }
  return fields::BuiltinClock::kBoottime;
}

std::uint64_t NowNs(TraceClock clock) {
  const std::uint32_t id = BuiltinClockOf(clock);
  for (const Clock& known : kClocks) {
    if (known.id == id) return ReadNs(known.kernel);
  }
  return ReadNs(CLOCK_BOOTTIME);
}

tracefile::PacketHead HeadAt(TraceClock clock, std::uint64_t timestamp_ns,
                             std::uint32_t sequence_id) {
  tracefile::PacketHead head;
  head.timestamp_ns = timestamp_ns;
  head.sequence_id = sequence_id;
  if (clock != TraceClock::kBoottime) head.timestamp_clock_id = BuiltinClockOf(clock);
  return head;
}

std::string ClockSnapshotPacket(TraceClock clock) {
  std::uint64_t readings[std::size(kClocks)];
  for (std::size_t i = 0; i < std::size(kClocks); ++i) readings[i] = ReadNs(kClocks[i].kernel);
  std::string snapshot;
  protozero::pbf_writer message(snapshot);
  std::uint64_t timestamp_ns = 0;
  for (std::size_t i = 0; i < std::size(kClocks); ++i) {
    protozero::pbf_writer reading(message, fields::ClockSnapshot::kClocks);
    reading.add_uint32(fields::ClockSnapshot::Clock::kClockId, kClocks[i].id);
    reading.add_uint64(fields::ClockSnapshot::Clock::kTimestamp, readings[i]);
    if (kClocks[i].id == BuiltinClockOf(clock)) timestamp_ns = readings[i];
  }
  message.add_enum(fields::ClockSnapshot::kPrimaryTraceClock,
                   static_cast<std::int32_t>(BuiltinClockOf(clock)));
  std::string bytes;
  protozero::pbf_writer packet(bytes);
  WritePacketHead(packet, HeadAt(clock, timestamp_ns, fields::Sequence::kSession));
  packet.add_message(fields::TracePacket::kClockSnapshot, snapshot);
  return bytes;
}

}  // namespace culprit::capture
