// The threads and processes of the machine, read from /proc and written as ProcessTree and
// ProcessStats packets. A task that ends while it is read is left out; that is no failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "capture/record_config.h"

namespace culprit::capture {

using PacketSink = std::function<void(std::string_view packet)>;

// What a scan writes; ProcessStats are the numbers, ProcessTree names and kinship.
struct ScanParts {
  bool tree = true;
  bool thread_names = true;  // of the tree: every thread, not only the processes
  bool stats = true;
};

// Several packets where there are many processes. Returns how many processes there were.
std::size_t ScanProcesses(TraceClock clock, const ScanParts& parts, const PacketSink& sink,
                          const std::string& root = "/");

}  // namespace culprit::capture
