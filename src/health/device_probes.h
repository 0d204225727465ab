// Questions that only a driver answers, for children with a deadline: rings and pause counters of
// network cards by ethtool ioctls, the health log of NVMe drives by admin commands.
#pragma once

#include <string>
#include <string_view>

#include "health/child.h"

namespace culprit::health {

// "@ring/eth0" -> "RX-MAX RX", "@ethstats/eth0" -> "name value" lines of the pause counters.
void ProbeEthtool(ProbeOutput& output);

// "@nvme/nvme0" -> "name value" lines of the SMART log and of identify's temperatures.
void ProbeNvme(ProbeOutput& output);

// The 512 bytes of log page 2 and the 4096 of identify controller (may be empty) as that text.
std::string NvmeHealthText(std::string_view log, std::string_view identify);

}  // namespace culprit::health
