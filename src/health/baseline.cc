#include "health/baseline.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "health/mounts.h"
#include "health/nvml.h"

namespace culprit::health {

Result<Baseline> LoadBaseline(const std::string& path) {
  CULPRIT_ASSIGN(const std::string text, ReadFile(path, 1 << 22));
  Baseline baseline;
  std::size_t number = 0;
  for (const std::string_view line : SplitLines(text)) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const auto blank = line.find(' ');
    if (blank == line.npos) {
      return Error{path + ":" + std::to_string(number) + ": no value",
                   "write it with --save-baseline"};
    }
    baseline[std::string(line.substr(0, blank))] = line.substr(blank + 1);
  }
  return baseline;
}

Status SaveBaseline(const std::string& path, const Baseline& baseline) {
  std::string text = "# culprit check --save-baseline\n";
  for (const auto& [key, value] : baseline) text += key + " " + value + "\n";
  const std::string temporary = path + ".new";
  {
    CULPRIT_ASSIGN(const UniqueFd fd, OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    CULPRIT_TRY(WriteAll(fd.get(), text, temporary));
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return ErrnoError("rename to", path, errno);
  return {};
}

Baseline BaselineOf(const Moment& moment) {
  Baseline seen;
  moment.texts.Under("/sys/class/infiniband/", [&](auto path, auto text) {
    for (const std::string_view name : {"/state", "/phys_state", "/rate"}) {
      if (!path.ends_with(name)) continue;
      std::string key = "rdma";
      for (const auto part : Split(path.substr(22), '/')) {
        if (part != "ports") key += "." + std::string(part);
      }
      seen[key] = TrimBlanks(text);
    }
  });
  moment.texts.Under("/sys/class/net/", [&](auto path, auto text) {
    if (path.ends_with("/operstate"))
      seen["net." + std::string(path.substr(15, path.find('/', 15) - 15)) + ".operstate"] =
          TrimBlanks(text);
  });
  if (const auto gpus = ParseGpus(moment.texts); !gpus.empty()) {
    seen["gpu.count"] = std::to_string(gpus.size());
    for (const Gpu& gpu : gpus) {
      if (const auto uuid = gpu.after.find("uuid"); uuid != gpu.after.end())
        seen["gpu." + gpu.pci + ".uuid"] = uuid->second;
    }
  }
  std::vector<kernel::Mount> mounts;
  kernel::ParseMountInfo(moment.texts.Get("/proc/self/mountinfo"), mounts);
  for (const kernel::Mount& mount : mounts) {
    const MountKind kind = KindOfMount(mount);
    // A blank or newline in a mount point has no place in this file.
    if (kind == MountKind::kPseudo || mount.mount_point.find_first_of(" \n") != std::string::npos)
      continue;
    seen["fs." + mount.mount_point] =
        mount.HasOption("ro") || mount.HasSuperOption("ro") ? "ro" : "rw";
  }
  return seen;
}

}  // namespace culprit::health
