// The packets that say where and how a trace was made: SystemInfo and the config.
#pragma once

#include <string>

#include "capture/record_config.h"

namespace culprit::capture {

// TracePacket with SystemInfo of this machine; `version` is culprit's.
std::string SystemInfoPacket(TraceClock clock, const std::string& version,
                             const std::string& root = "/");

// TracePacket with the TraceConfig; one made from what was asked for when flags described it.
std::string TraceConfigPacket(const RecordConfig& config);

}  // namespace culprit::capture
