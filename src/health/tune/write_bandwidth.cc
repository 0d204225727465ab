// How fast the fastest mounted file system can be written, from what the kernel tells of the
// devices. An estimate, and said to be one: fio on the node knows better (--disk-bandwidth).
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "health/tune/node_facts.h"
#include "health/tune/sysctl_text.h"
#include "kernel/proc_disk.h"

namespace culprit::tune {
namespace {

constexpr double kRotationalBytesPerS = 200e6;  // outer tracks of current disks, in sequence
constexpr double kSataBytesPerS = 500e6;        // what 6 Gbit/s leave after 8b/10b and protocol
constexpr double kNvmeShareOfLink = 0.5;  // sustained writes of data centre drives reach about half
constexpr int kDeepestStack = 8;          // dm on md on partitions; a loop in a hostile tree ends

struct Device {
  double bytes_per_s = 0;  // 0: not known
  std::string how;
};

std::string ReadLine(const RootFiles& files, const std::string& path) {
  return OneLine(files.Read(path).text);
}

// "16.0 GT/s PCIe" and "4": payload bytes a second of a link, without its encoding's overhead.
double PcieBytesPerS(const std::string& speed, const std::string& width) {
  const auto words = SplitWords(speed);
  const double transfers = words.empty() ? 0 : ParseNumber(words.front()).value_or(0);
  const double lanes = ParseNumber(width).value_or(0);
  if (lanes < 1 || lanes > 32 || transfers <= 0 || transfers > 1000) return 0;
  const double encoding = transfers <= 5.0 ? 0.8 : 128.0 / 130.0;  // gen 1 and 2 are 8b/10b
  return transfers * 1e9 * encoding / 8 * lanes;
}

Device LeafDevice(const RootFiles& files, const std::string& name, const std::string& disk) {
  const std::string controller = name.substr(0, name.find('n', 4));
  if (name.starts_with("nvme")) {
    const std::string pci = "/sys/class/nvme/" + controller + "/device/";
    const double link = PcieBytesPerS(ReadLine(files, pci + "current_link_speed"),
                                      ReadLine(files, pci + "current_link_width"));
    if (link <= 0) return {};
    return {link * kNvmeShareOfLink,
            fmt::format("{}: half of its PCIe link of {:.1f} GB/s", name, link / 1e9)};
  }
  if (ReadLine(files, disk + "/queue/rotational") == "1") {
    // Virtual disks claim to be rotational by default: only a disk of a known bus is believed.
    if (!name.starts_with("sd") || ReadLine(files, disk + "/device/vendor").starts_with("QEMU")) {
      return {};
    }
    return {kRotationalBytesPerS, name + ": a rotational disk"};
  }
  if (name.starts_with("sd") && ReadLine(files, disk + "/device/vendor") == "ATA") {
    return {kSataBytesPerS, name + ": a SATA link"};
  }
  return {};
}

// `device`: the directory of a disk or partition in /sys.
Device EstimateDevice(const RootFiles& files, const std::string& device, const std::string& name,
                      int depth) {
  if (depth > kDeepestStack) return {};
  const auto members = files.List(device + "/slaves");
  if (members.empty()) {
    // The directory of a partition lies in that of its disk.
    const bool partition = files.Exists(device + "/partition");
    return LeafDevice(files, name, partition ? device + "/.." : device);
  }
  double sum = 0;
  double least = 0;
  double most = 0;
  for (const std::string& member : members) {
    const double speed =
        EstimateDevice(files, "/sys/class/block/" + member, member, depth + 1).bytes_per_s;
    if (speed <= 0) return {};  // one member that is not known leaves the whole unknown
    sum += speed;
    least = least == 0 ? speed : std::min(least, speed);
    most = std::max(most, speed);
  }
  const auto count = static_cast<double>(members.size());
  const std::string level = ReadLine(files, device + "/md/level");
  Device result;
  if (level == "raid0") result.bytes_per_s = sum;
  if (level == "raid1") result.bytes_per_s = least;
  if (level == "raid10") result.bytes_per_s = sum / 2;
  if (level == "raid4" || level == "raid5") result.bytes_per_s = least * (count - 1);
  if (level == "raid6") result.bytes_per_s = least * (count - 2);
  if (level.empty()) result.bytes_per_s = most;  // dm: crypt and linear keep one disk busy
  result.how = fmt::format("{}: {} of {} disk{}", name, level.empty() ? "device mapper" : level,
                           members.size(), members.size() == 1 ? "" : "s");
  return result;
}

bool IsNetworkFileSystem(std::string_view type) {
  constexpr std::string_view kTypes[] = {"nfs",    "nfs4", "ceph",  "lustre",
                                         "beegfs", "gpfs", "wekafs"};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

}  // namespace

std::optional<WriteBandwidth> EstimateWriteBandwidth(const RootFiles& files,
                                                     std::uint64_t link_bits_per_s) {
  std::vector<kernel::Mount> mounts;
  kernel::ParseMountInfo(files.Read("/proc/self/mountinfo").text, mounts);
  std::optional<WriteBandwidth> best;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  const auto offer = [&best](double speed, std::string how) {
    if (speed > 0 && (!best || speed > best->bytes_per_s)) best = {speed, std::move(how)};
  };
  for (const kernel::Mount& mount : mounts) {
    if (!seen.insert({mount.major, mount.minor}).second || mount.HasSuperOption("ro")) continue;
    if (IsNetworkFileSystem(mount.type)) {
      offer(static_cast<double>(link_bits_per_s) / 8,
            mount.mount_point + ": " + mount.type + " over the fastest link");
      continue;
    }
    const std::string device = fmt::format("/sys/dev/block/{}:{}", mount.major, mount.minor);
    if (mount.major == 0 || !files.Exists(device)) continue;
    // The uevent names the device, whatever the mount calls it (/dev/mapper/..., /dev/root).
    std::string name;
    const auto uevent = files.Read(device + "/uevent");
    for (const auto line : SplitLines(uevent.text)) {
      if (line.starts_with("DEVNAME=")) name = std::string(line.substr(8));
    }
    const Device estimate = EstimateDevice(files, device, name, 0);
    offer(estimate.bytes_per_s, mount.mount_point + " on " + estimate.how);
  }
  return best;
}

}  // namespace culprit::tune
