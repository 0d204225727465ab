// Which kind of code a frame is, by its module and its name. Knows no symbols and no colours.
#pragma once

#include <string_view>

#include "profile/profile.h"

namespace culprit::profile {

// "[kernel.kallsyms]", "vmlinux", "[ext4]", "ext4.ko.xz": code that runs in the kernel.
bool IsKernelModule(std::string_view module);
// "/tmp/perf-123.map", "[anon]", "//anon", "jitted-1-2.so": code made at run time.
bool IsJitModule(std::string_view module);

// `module` is a path or a name in brackets, or empty. Never kInlined nor kGroup: those are known
// elsewhere.
FrameKind KindOf(std::string_view name, std::string_view module);

// "User code", "kernel": as a legend says it.
std::string_view KindLabel(FrameKind kind);

}  // namespace culprit::profile
