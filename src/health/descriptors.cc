#include "health/descriptors.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "health/texts.h"
#include "kernel/proc_scan.h"

namespace culprit::health {
namespace {

// "Max open files            1024                 4096                 files" -> 1024.
std::optional<std::uint64_t> SoftLimit(std::string_view limits) {
  constexpr std::string_view kName = "Max open files";
  kernel::LineCursor lines(limits);
  for (std::string_view line; lines.Next(line);) {
    if (line.starts_with(kName)) return kernel::WordCursor(line.substr(kName.size())).Number();
  }
  return std::nullopt;
}

}  // namespace

Descriptors ReadDescriptors(const std::string& root,
                            const std::map<std::int32_t, std::string>& names) {
  Descriptors all;
  // Since 6.2 the size of a folder of descriptors is their count: ours has some.
  struct stat own {};
  const bool sizes_count = root.empty() && stat("/proc/self/fd", &own) == 0 && own.st_size > 0;
  for (const auto& [pid, comm] : names) {
    const std::string process = "/proc/" + std::to_string(pid);
    struct stat info {};
    const std::string folder = root + process + "/fd";
    if (stat(folder.c_str(), &info) != 0) continue;
    auto open = static_cast<std::uint64_t>(info.st_size);
    if (!sizes_count) {
      int error_number = 0;
      open = ListFolder(folder, &error_number).size();
      if (error_number == EACCES || error_number == EPERM) ++all.denied;
      if (error_number != 0) continue;
    }
    ++all.seen;
    if (open < 16) continue;
    std::optional<std::uint64_t> limit;
    rlimit soft_hard{};
    if (root.empty() && prlimit(pid, RLIMIT_NOFILE, nullptr, &soft_hard) == 0) {
      limit = soft_hard.rlim_cur;
    } else {
      limit = SoftLimit(ReadText(root, process + "/limits").text);
    }
    if (!limit || *limit == 0) continue;
    all.fullest.push_back({pid, comm, open, *limit});
  }
  const auto share = [](const DescriptorRow& row) {
    return -static_cast<double>(row.open) / static_cast<double>(row.limit);
  };
  std::ranges::stable_sort(all.fullest, {}, share);
  if (all.fullest.size() > 10) all.fullest.resize(10);
  return all;
}

}  // namespace culprit::health
