// File systems and mounts: room, inodes, read-only by fault, mounts that do not answer.
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
    if (probe.Is(StuckProbe::End::kNotStarted)) {
      out.Unknown("no mount could be asked: " + probe.at);
      continue;
    }
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
    if (probe.Is(StuckProbe::End::kDied))
      reading.summary = fmt::format("the probe of {} died", probe.at);
  }
  if (!out.rows().empty()) return;
  if (!NeedStatfs(context, out)) return;
  std::size_t answered = 0;
  for (const Probed& row : ProbedMounts(context)) answered += row.asked ? 1 : 0;
  out.Value("", 0).summary = fmt::format("{} mounts answered", answered);
}

}  // namespace culprit::health
