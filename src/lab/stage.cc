#include "lab/stage.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace culprit::lab {

Result<std::string> Stage::Folder(std::uint64_t bytes, bool on_disk) {
  const std::string& parent = options_.directory;
  struct statfs file_system {};
  if (statfs(parent.c_str(), &file_system) != 0) return ErrnoError("statfs", parent, errno);
  const bool in_memory =
      file_system.f_type == TMPFS_MAGIC || file_system.f_type == static_cast<long>(RAMFS_MAGIC);
  if (on_disk && in_memory) {
    return Error{fmt::format("{} is memory, and this scenario needs a disk", parent),
                 "give a folder on a disk: --dir DIR"};
  }
  const auto block = static_cast<std::uint64_t>(file_system.f_bsize);
  const std::uint64_t room = file_system.f_bavail * block;
  const std::uint64_t spare = file_system.f_blocks * block / 10;
  if (room < bytes + std::min<std::uint64_t>(spare, std::uint64_t{4} << 30)) {
    return Error{fmt::format("{} has {} free, and the scenario takes up to {}", parent,
                             FormatBytes(room), FormatBytes(bytes)),
                 "give a folder with more room: --dir DIR"};
  }
  if (!folder_.empty()) return folder_;
  CULPRIT_ASSIGN(const std::string name, PrivateName());
  const std::string path = JoinPath(parent, name);
  CULPRIT_TRY(caretaker_.Promise(Thing::kTree, path));
  if (mkdir(path.c_str(), 0700) != 0) return ErrnoError("make", path, errno);
  folder_ = path;
  return folder_;
}

Status Stage::Run(Truth& truth) {
  CULPRIT_ASSIGN(truth.interrupted, crew_.Run(options_.duration));
  truth.begin = crew_.begin();
  truth.end = crew_.end();
  return {};
}

void AddVictims(Truth& truth, const std::vector<const Slot*>& slots) {
  for (const Slot* slot : slots) truth.victims.push_back(*slot);
}

std::vector<Party> PartiesOf(const std::vector<const Slot*>& slots) {
  std::vector<Party> parties;
  for (const Slot* slot : slots) {
    auto party = std::ranges::find(parties, slot->pid, &Party::pid);
    if (party == parties.end()) {
      parties.push_back({slot->pid, {}, slot->name});
      party = parties.end() - 1;
    }
    party->tids.push_back(slot->tid);
  }
  return parties;
}

void SetShare(Truth& truth, std::int64_t lost_ns) {
  std::int64_t window = 0;
  for (const Slot& slot : truth.victims) window += slot.wall_ns;
  truth.culprit.lost_ns = lost_ns;
  truth.culprit.share =
      window > 0 ? static_cast<double>(lost_ns) / static_cast<double>(window) : 0.0;
}

std::string DiskOf(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return "";
  const std::string number = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::error_code failed;
  const auto real = std::filesystem::canonical("/sys/dev/block/" + number, failed);
  if (failed) return number;
  // A partition lies below its disk.
  const bool partition = PathExists(real.string() + "/partition");
  return (partition ? real.parent_path() : real).filename().string();
}

}  // namespace culprit::lab
