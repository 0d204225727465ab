#include "kernel/open_devices.h"

#include <dirent.h>
#include <unistd.h>

#include <memory>

#include "base/file.h"
#include "base/text.h"

namespace culprit::kernel {

std::optional<std::uint32_t> NvidiaMinor(std::string_view path) {
  constexpr std::string_view kDevice = "/dev/nvidia";
  if (!path.starts_with(kDevice)) return std::nullopt;
  return ParseInteger<std::uint32_t>(path.substr(kDevice.size()));
}

std::optional<std::set<std::string>> OpenPaths(
    const std::string& root, std::int32_t pid, std::size_t& budget,
    const std::function<bool(std::string_view)>& is_wanted) {
  std::set<std::string> paths;
  const std::string folder = JoinPath(root, "proc/" + std::to_string(pid) + "/fd");
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    if (budget == 0) return std::nullopt;
    --budget;
    char target[256];
    const ssize_t size = readlinkat(dirfd(directory.get()), entry->d_name, target, sizeof(target));
    if (size <= 0) continue;
    const std::string_view path(target, static_cast<std::size_t>(size));
    if (is_wanted(path)) paths.emplace(path);
  }
  return paths;
}

}  // namespace culprit::kernel
