// Notes on processes for those who explain a recording: who holds a GPU, whose cgroup has a CPU
// quota, which command was recorded. Rows of the table metadata, written as CulpritData.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/record_config.h"

namespace culprit::capture {

inline constexpr std::string_view kNoteGpu = "culprit_gpu_holder";   // "/dev/nvidia0"
inline constexpr std::string_view kNoteQuota = "culprit_cpu_quota";  // path of the cgroup
inline constexpr std::string_view kNoteTarget = "culprit_target";    // a command, or --pid
// Of no process: "254:0 vda".
inline constexpr std::string_view kNoteBlockDevice = "culprit_block_device";

struct ProcessNote {
  std::string_view kind;
  std::int32_t pid = 0;
  std::string text;
};

// Empty for no notes.
std::string ProcessNotesPacket(TraceClock clock, const std::vector<ProcessNote>& notes);

// Processes with a GPU's device file open, as far as we may look; one note a device. Looks at
// nothing where there is no such device.
std::vector<ProcessNote> FindGpuHolders(const std::string& root = "/");

// What the kernel calls the block devices that events tell by number.
std::vector<ProcessNote> ListBlockDevices(const std::string& root = "/");

}  // namespace culprit::capture
