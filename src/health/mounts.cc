#include "health/mounts.h"

#include <fcntl.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "kernel/proc_scan.h"

namespace culprit::health {
namespace {

constexpr std::string_view kPseudoTypes[] = {
    "proc",    "sysfs",       "cgroup", "cgroup2",  "devpts",   "devtmpfs",  "tracefs",
    "debugfs", "securityfs",  "pstore", "bpf",      "mqueue",   "hugetlbfs", "configfs",
    "autofs",  "binfmt_misc", "nsfs",   "ramfs",    "efivarfs", "selinuxfs", "rpc_pipefs",
    "fusectl", "nfsd",        "rootfs", "squashfs", "iso9660",  "erofs",     "resctrl",
    "nullfs",  "fuse.lxcfs",  "bdev",   "sockfs"};
constexpr std::string_view kNetworkTypes[] = {
    "nfs",       "nfs4",     "cifs",   "smb3",   "ceph",    "lustre", "9p",
    "afs",       "gpfs",     "wekafs", "beegfs", "gfs2",    "ocfs2",  "virtiofs",
    "glusterfs", "orangefs", "pvfs2",  "fuse",   "fuseblk", "ncpfs",  "coda"};

template <class List>
bool Contains(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

MountKind KindOfMount(const kernel::Mount& mount) {
  const std::string_view type = mount.type;
  if (Contains(kPseudoTypes, type)) return MountKind::kPseudo;
  if (Contains(kNetworkTypes, type) || type.starts_with("fuse.")) return MountKind::kNetwork;
  if (type == "tmpfs") return MountKind::kMemory;
  // Another file system's files shown again; only as a container's root is it what fills up.
  if (type == "overlay" && mount.mount_point != "/") return MountKind::kPseudo;
  return MountKind::kLocal;
}

std::vector<kernel::Mount> MountsToProbe(std::string_view mountinfo) {
  std::vector<kernel::Mount> mounts, chosen;
  kernel::ParseMountInfo(mountinfo, mounts);
  std::set<std::pair<std::uint32_t, std::uint32_t>> devices;
  for (kernel::Mount& mount : mounts) {
    if (KindOfMount(mount) == MountKind::kPseudo) continue;
    if (!devices.insert({mount.major, mount.minor}).second) continue;
    chosen.push_back(std::move(mount));
  }
  return chosen;
}

std::string StatfsKey(const kernel::Mount& mount) {
  return "@statfs/" + std::to_string(mount.mount_id);
}

void ProbeMount(const kernel::Mount& mount, ProbeOutput& output) {
  output.Begin(mount.mount_point);
  struct statfs info {};
  if (statfs(mount.mount_point.c_str(), &info) != 0) {
    output.Put(StatfsKey(mount), "", errno);
    return;
  }
  const auto block = static_cast<std::uint64_t>(info.f_frsize > 0 ? info.f_frsize : info.f_bsize);
  std::string text;
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(info.f_blocks) * block,
        static_cast<std::uint64_t>(info.f_bavail) * block,
        static_cast<std::uint64_t>(info.f_bfree) * block, static_cast<std::uint64_t>(info.f_files),
        static_cast<std::uint64_t>(info.f_ffree)}) {
    text += std::to_string(value) + " ";
  }
  output.Put(StatfsKey(mount), text);
}

std::optional<MountSpace> ParseSpace(std::string_view text) {
  kernel::WordCursor words(text);
  MountSpace space;
  for (std::uint64_t* slot : {&space.size_bytes, &space.available_bytes, &space.free_bytes,
                              &space.inodes, &space.free_inodes}) {
    const auto value = words.Number();
    if (!value) return std::nullopt;
    *slot = *value;
  }
  return space;
}

std::string MountProbeComm(const kernel::Mount& mount) {
  return ("cpm:" + std::to_string(mount.major) + ":" + std::to_string(mount.minor)).substr(0, 15);
}

}  // namespace culprit::health
