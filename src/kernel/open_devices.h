// Which device files a process holds open, by the links of /proc/PID/fd. Reads nothing that takes a
// lock of a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace culprit::kernel {

// Bounds what a look at the open files of all processes may cost.
inline constexpr std::size_t kMostDescriptors = 50'000;

// "/dev/nvidia3" -> 3; nvidiactl, nvidia-uvm and the like are of no one GPU.
std::optional<std::uint32_t> NvidiaMinor(std::string_view path);

// The paths that a process has open and `is_wanted` takes; none where we may not look. Each
// descriptor is taken off `budget`; nothing is returned once that is used up.
std::optional<std::set<std::string>> OpenPaths(
    const std::string& root, std::int32_t pid, std::size_t& budget,
    const std::function<bool(std::string_view)>& is_wanted);

}  // namespace culprit::kernel
