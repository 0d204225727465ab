// SyscallNames: the names of system calls by their numbers, for each architecture as `uname -m`
// calls it. Facts of the kernel's syscall tables; newer calls than those it knows have no name.
#pragma once

#include <string_view>
#include <vector>

namespace culprit::load {

// Without "sys_"; empty for a number that the architecture leaves out. Empty for a machine that is
// not known.
std::vector<std::string_view> SyscallNames(std::string_view machine);

}  // namespace culprit::load
