// The clocks of a trace: the one that its timestamps are on, and the readings of all of them side
// by side that let a viewer convert.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "base/units.h"
#include "capture/record_config.h"
#include "tracefile/writer.h"

namespace culprit::capture {

// Now on the clock of the trace.
std::uint64_t NowNs(TraceClock clock);
// Its number in the trace format.
std::uint32_t BuiltinClockOf(TraceClock clock);

// The head of a packet with a time on the trace's clock.
tracefile::PacketHead HeadAt(TraceClock clock, std::uint64_t timestamp_ns,
                             std::uint32_t sequence_id);

// TracePacket with a ClockSnapshot of now.
std::string ClockSnapshotPacket(TraceClock clock);

}  // namespace culprit::capture
