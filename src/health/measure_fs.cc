// File systems and mounts: room, inodes, read-only by fault, mounts that do not answer, NFS,
// Lustre, Ceph.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <system_error>

#include "base/text.h"
#include "health/measures.h"
#include "health/mounts.h"

namespace culprit::health {
namespace {

constexpr std::string_view kMountInfo = "/proc/self/mountinfo";

struct Probed {
  kernel::Mount mount;
  std::optional<MountSpace> space;
  int error_number = 0;
  bool asked = false;
};

std::vector<Probed> ProbedMounts(const Context& context) {
  std::vector<Probed> rows;
  for (kernel::Mount& mount : MountsToProbe(context.after.texts.Get(kMountInfo))) {
    const Text* text = context.after.texts.Find(StatfsKey(mount));
    Probed& row = rows.emplace_back();
    row.mount = std::move(mount);
    if (text == nullptr) continue;
    row.asked = true;
    row.error_number = text->error_number;
    if (text->error_number == 0) row.space = ParseSpace(text->text);
  }
  return rows;
}

bool NeedStatfs(const Context& context, Readings& out) {
  if (!context.node.live) {
    out.NotApplicable("a captured tree has no file system to ask");
    return false;
  }
  return context.NeedFile(out, kMountInfo);
}

std::string Where(const kernel::Mount& mount) {
  return fmt::format("{} {} on {}", mount.type, mount.source, mount.mount_point);
}

}  // namespace

void MeasureShm(const Context& context, Readings& out) {
  if (!NeedStatfs(context, out)) return;
  // The last one mounted there is the one that is seen.
  std::vector<kernel::Mount> all;
  kernel::ParseMountInfo(context.after.texts.Get(kMountInfo), all);
  const kernel::Mount* shm = nullptr;
  for (const auto& mount : all) {
    if (mount.mount_point == "/dev/shm") shm = &mount;
  }
  if (shm == nullptr) {
    out.NotApplicable("no /dev/shm");
    return;
  }
  const Text* text = context.after.texts.Find(StatfsKey(*shm));
  const auto space = text == nullptr ? std::nullopt : ParseSpace(text->text);
  if (!space || space->size_bytes == 0) {
    out.Unknown("statfs of /dev/shm gave nothing");
    return;
  }
  Reading& reading = out.Value("/dev/shm", 100 - 100 * static_cast<double>(space->available_bytes) /
                                                     static_cast<double>(space->size_bytes));
  reading.evidence.push_back(fmt::format("{} of {} free", FormatBytes(space->available_bytes),
                                         FormatBytes(space->size_bytes)));
}

void MeasureSpace(const Context& context, Readings& out) {
  if (!NeedStatfs(context, out)) return;
  for (const Probed& row : ProbedMounts(context)) {
    if (row.asked && row.error_number != 0) {
      out.Unknown(fmt::format("statfs {}: {}", row.mount.mount_point,
                              std::generic_category().message(row.error_number)),
                  row.error_number == EACCES && !context.node.is_root);
      continue;
    }
    // Without blocks it is no storage; a read-only one is as full as it was made.
    if (!row.space || row.space->size_bytes == 0 || row.mount.HasSuperOption("ro")) continue;
    Reading& reading =
        out.Value(row.mount.mount_point, 100 * static_cast<double>(row.space->available_bytes) /
                                             static_cast<double>(row.space->size_bytes));
    reading.evidence.push_back(
        fmt::format("{} left of {} ({} {})", FormatBytes(row.space->available_bytes),
                    FormatBytes(row.space->size_bytes), row.mount.type, row.mount.source));
    reading.advice = fmt::format("du -xh --max-depth=2 {} | sort -h | tail", row.mount.mount_point);
    // A fiftieth of a hundred terabytes is still plenty.
    constexpr std::uint64_t kEnoughBytes = std::uint64_t{200} << 30;
    if (row.space->available_bytes >= kEnoughBytes) reading.worst = FindingStatus::kOk;
  }
  if (out.rows().empty()) out.NotApplicable("no file system with room to watch");
}

void MeasureInodes(const Context& context, Readings& out) {
  if (!NeedStatfs(context, out)) return;
  for (const Probed& row : ProbedMounts(context)) {
    // btrfs and the like make inodes as they need them and say 0.
    if (!row.space || row.space->inodes == 0 || row.mount.HasSuperOption("ro")) continue;
    Reading& reading =
        out.Value(row.mount.mount_point, 100 * static_cast<double>(row.space->free_inodes) /
                                             static_cast<double>(row.space->inodes));
    reading.evidence.push_back(fmt::format("{} of {} inodes free",
                                           FormatCount(row.space->free_inodes),
                                           FormatCount(row.space->inodes)));
    reading.advice =
        fmt::format("many small files: du -x --inodes --max-depth=2 {} | sort -n | tail",
                    row.mount.mount_point);
  }
  if (out.rows().empty()) out.NotApplicable("no file system with a fixed number of inodes");
}

void MeasureReadOnly(const Context& context, Readings& out) {
  if (!context.NeedFile(out, kMountInfo)) return;
  // What fstab wants: mount point -> read-only.
  std::map<std::string, bool> wanted_ro;
  const std::string_view fstab = context.after.texts.Get("/etc/fstab");
  for (const std::string_view line : SplitLines(fstab)) {
    kernel::WordCursor words(line);
    const std::string_view source = words.Word();
    const std::string_view point = words.Word();
    words.Word();
    if (source.empty() || source.starts_with('#')) continue;
    const auto options = Split(words.Word(), ',');
    wanted_ro[kernel::UnescapeMountText(point)] = std::ranges::find(options, "ro") != options.end();
  }
  std::vector<kernel::Mount> mounts;
  kernel::ParseMountInfo(context.after.texts.Get(kMountInfo), mounts);
  std::size_t seen = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told;
  for (const kernel::Mount& mount : mounts) {
    const MountKind kind = KindOfMount(mount);
    if (kind != MountKind::kLocal && kind != MountKind::kNetwork && kind != MountKind::kMemory)
      continue;
    ++seen;
    const bool super_ro = mount.HasSuperOption("ro");
    const bool mount_ro = mount.HasOption("ro");
    if (!super_ro && !mount_ro) continue;
    const auto fstab_says = wanted_ro.find(mount.mount_point);
    std::string why;
    if (super_ro && !mount_ro && kind == MountKind::kLocal) {
      why =
          "it was mounted for writing and its file system turned read-only: the kernel does that "
          "after an error";
    } else if (fstab_says != wanted_ro.end() && !fstab_says->second) {
      why = "/etc/fstab wants it writable";
    } else if (context.baseline != nullptr) {
      const auto saved = context.baseline->find("fs." + mount.mount_point);
      if (saved != context.baseline->end() && saved->second == "rw")
        why = "the saved baseline has it writable";
    }
    if (why.empty() || !told.insert({mount.major, mount.minor}).second) continue;
    Reading& reading = out.Value(mount.mount_point, 1);
    reading.status = FindingStatus::kCritical;
    reading.summary = fmt::format("{} is read-only now", mount.mount_point);
    reading.evidence.push_back(why);
    reading.evidence.push_back(Where(mount));
  }
  if (out.rows().empty()) {
    out.Value("", 0).summary =
        fmt::format("none of {} mounts is read-only against its fstab", seen);
  }
}

void MeasureHungMounts(const Context& context, Readings& out) {
  for (const StuckProbe& probe : context.stuck) {
    if (probe.probe != "mount") continue;
    Reading& reading = out.Value(probe.at, probe.after_s);
    reading.status = FindingStatus::kCritical;
    reading.summary = fmt::format("{} does not answer: statfs did not come back within {:.1f} s",
                                  probe.at, probe.after_s);
    reading.age_s = probe.after_s;
    std::vector<kernel::Mount> mounts;
    kernel::ParseMountInfo(context.after.texts.Get(kMountInfo), mounts);
    for (const kernel::Mount& mount : mounts) {
      if (mount.mount_point != probe.at) continue;
      reading.evidence.push_back(Where(mount));
      if (mount.type.starts_with("nfs"))
        reading.advice =
            "is the server up: showmount -e, rpcinfo; then umount -f, or umount -l, and mount "
            "again";
      if (mount.type.starts_with("fuse")) {
        reading.advice = fmt::format(
            "is its server stopped or dead? echo 1 > /sys/fs/fuse/connections/{}/abort frees who "
            "waits, then umount -l",
            mount.minor);
      }
      break;
    }
    if (probe.died) reading.summary = fmt::format("the probe of {} died", probe.at);
  }
  if (!out.rows().empty()) return;
  if (!NeedStatfs(context, out)) return;
  std::size_t answered = 0;
  for (const Probed& row : ProbedMounts(context)) answered += row.asked ? 1 : 0;
  out.Value("", 0).summary = fmt::format("{} mounts answered", answered);
}

void MeasureNfs(const Context& context, Readings& out) {
  std::vector<kernel::NfsMountStat> before, after;
  kernel::ParseMountStats(context.before.texts.Get("/proc/self/mountstats"), before);
  kernel::ParseMountStats(context.after.texts.Get("/proc/self/mountstats"), after);
  if (after.empty()) {
    out.NotApplicable("no NFS mount");
    return;
  }
  if (!context.NeedTwo(out)) return;
  for (const auto& now : after) {
    const auto old = std::ranges::find(before, now.mount_point, &kernel::NfsMountStat::mount_point);
    if (old == before.end()) continue;
    const auto operations = Delta(old->operations, now.operations);
    const auto sent = Delta(old->transmissions, now.transmissions);
    const auto rtt = Delta(old->rtt_ms, now.rtt_ms);
    if (!operations || !sent || !rtt) continue;
    if (*operations == 0) {
      out.Value(now.mount_point, 0).evidence.push_back("idle");
      continue;
    }
    const double rtt_ms = *rtt / *operations;
    Reading& reading =
        out.Value(now.mount_point, 100 * std::max(0.0, *sent - *operations) / *operations);
    reading.evidence.push_back(fmt::format("{:.0f} operations/s, round trip {:.1f} ms, server {}",
                                           *operations / context.seconds, rtt_ms, now.source));
    if (*operations < 10) reading.worst = FindingStatus::kOk;
    if (rtt_ms >= 50 && *operations >= 10) {
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("the NFS server of {} answers in {:.0f} ms on average",
                                    now.mount_point, rtt_ms);
    }
  }
}

void MeasureLustreCeph(const Context& context, Readings& out) {
  const auto imports = [&](std::string_view prefix) {
    context.after.texts.Under(prefix, [&](auto path, auto text) {
      if (!path.ends_with("/import")) return;
      for (const std::string_view line : SplitLines(text)) {
        kernel::WordCursor words(line);
        if (words.Word() != "state:") continue;
        const std::string state(words.Word());
        const auto folder = path.substr(0, path.rfind('/'));
        Reading& reading =
            out.Value(std::string(folder.substr(folder.rfind('/') + 1)), state == "FULL" ? 0 : 1);
        reading.summary = "Lustre import is " + state;
        // IDLE is a connection that was let go for want of use.
        if (state != "FULL" && state != "IDLE") reading.status = FindingStatus::kCritical;
      }
    });
  };
  imports("/proc/fs/lustre/");
  imports("/sys/kernel/debug/lustre/");
  context.after.texts.Under("/sys/kernel/debug/ceph/", [&](auto path, auto text) {
    // Lines of requests in flight begin with their id; one that is there in both samples is old.
    std::set<std::string_view> ids;
    for (const std::string_view line : SplitLines(context.before.texts.Get(path))) {
      if (const auto id = kernel::WordCursor(line).Word(); ParseInteger<std::uint64_t>(id))
        ids.insert(id);
    }
    std::size_t same = 0;
    for (const std::string_view line : SplitLines(text))
      same += ids.contains(kernel::WordCursor(line).Word()) ? 1 : 0;
    const std::string name(path.substr(23));
    const double age_s = context.HeldFor("ceph " + name, context.two && same > 0);
    Reading& reading = out.Value(name, static_cast<double>(same));
    reading.summary =
        fmt::format("{} requests to the Ceph servers are the same as a sample ago", same);
    if (same > 0) reading.age_s = age_s;
    if (same > 0 && age_s >= 30) reading.status = FindingStatus::kCritical;
  });
  if (out.rows().empty())
    out.NotApplicable("no Lustre or Ceph client (Ceph's requests need debugfs and root)");
}

}  // namespace culprit::health
