// Block devices and mounts as text gives them: /proc/diskstats (also /sys/block/X/stat), mountinfo,
// /proc/self/mountstats. Nothing here calls statfs or takes a difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::kernel {

// A column that the kernel of that time did not have is absent, which is not 0.
using OptionalCount = std::optional<std::uint64_t>;

struct DiskStat {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string_view name;
  OptionalCount reads, reads_merged, sectors_read, read_ms;
  OptionalCount writes, writes_merged, sectors_written, write_ms;
  OptionalCount in_flight;    // a level, not a counter
  OptionalCount io_ms;        // time with at least one request ("io_ticks")
  OptionalCount weighted_ms;  // sum over requests of their time
  OptionalCount discards, discards_merged, sectors_discarded, discard_ms;  // 4.18
  OptionalCount flushes, flush_ms;                                         // 5.5
};
// Sectors are 512 bytes here, whatever the device says.
inline constexpr std::uint64_t kSectorBytes = 512;

bool ParseDiskStats(std::string_view text, std::vector<DiskStat>& disks);
// The columns alone, as in /sys/block/sda/stat.
bool ParseDiskStatColumns(std::string_view text, DiskStat& disk);

// A line of /proc/PID/mountinfo. Its \040 escapes are undone, hence strings.
struct Mount {
  std::uint32_t mount_id = 0;
  std::uint32_t parent_id = 0;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string root;         // the directory of the file system that is mounted
  std::string mount_point;  // where
  std::string mount_options;
  std::string type;  // "ext4", "nfs4", "fuse.sshfs"
  std::string source;
  std::string super_options;

  bool HasOption(std::string_view option) const;       // of the mount point
  bool HasSuperOption(std::string_view option) const;  // of the file system
};
bool ParseMountInfo(std::string_view text, std::vector<Mount>& mounts);

// "a\040b" -> "a b".
std::string UnescapeMountText(std::string_view text);

// Sum over the operations of an NFS mount of /proc/self/mountstats.
struct NfsMountStat {
  std::string mount_point;
  std::string source;
  std::uint64_t age_s = 0;
  std::uint64_t operations = 0;
  std::uint64_t transmissions = 0;  // more than operations: retransmitted
  std::uint64_t timeouts = 0;
  std::uint64_t queue_ms = 0;    // before sending
  std::uint64_t rtt_ms = 0;      // on the wire and in the server
  std::uint64_t execute_ms = 0;  // all of it
};
void ParseMountStats(std::string_view text, std::vector<NfsMountStat>& mounts);

// A software RAID of /proc/mdstat. Arrays without redundancy have no disks_wanted.
struct MdArray {
  std::string_view name;
  bool active = false;
  bool container = false;  // metadata of a firmware RAID: never active itself
  std::optional<std::uint64_t> disks_wanted, disks_working;  // "[8/7]"
  std::vector<std::string_view> faulty;                      // members marked (F)
  std::string_view action;  // "recovery", "resync", "reshape", "check", with its "=  8.5%"; or ""
};
void ParseMdStat(std::string_view text, std::vector<MdArray>& arrays);

}  // namespace culprit::kernel
