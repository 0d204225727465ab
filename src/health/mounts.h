// The mounts that a node lives on, and their statfs, each that may hang in a child of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/child.h"
#include "kernel/proc_disk.h"

namespace culprit::health {

// What a mount's file system answers over: it decides who may hang and how.
enum class MountKind { kPseudo, kLocal, kMemory, kNetwork };
MountKind KindOfMount(const kernel::Mount& mount);

// The mounts worth a statfs: one a device (bind mounts and overlays of the same are left out), no
// pseudo file systems; in order of mounting.
std::vector<kernel::Mount> MountsToProbe(std::string_view mountinfo);

// The answer of statfs in a text that passes through a child: "@statfs/MOUNT_ID".
std::string StatfsKey(const kernel::Mount& mount);
void ProbeMount(const kernel::Mount& mount, ProbeOutput& output);

struct MountSpace {
  std::uint64_t size_bytes = 0, available_bytes = 0, free_bytes = 0;
  std::uint64_t inodes = 0, free_inodes = 0;
};
std::optional<MountSpace> ParseSpace(std::string_view text);

// The comm of the child that probes this mount: 15 bytes, the same in every run, so that a run sees
// that an earlier one's child is still stuck there.
std::string MountProbeComm(const kernel::Mount& mount);

}  // namespace culprit::health
