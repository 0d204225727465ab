// Frames out of names that the input brings along, as the options want them shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/read.h"

namespace culprit::profile {

// The last component of a path; "[kernel.kallsyms]" becomes "kernel.kallsyms".
std::string_view ModuleLabel(std::string_view module);

// "[libc.so.6+0x1234]" and the like; "[unknown]" when there is no module.
std::string UnknownName(std::string_view module, std::uint64_t address,
                        std::optional<std::uint64_t> offset, UnknownStyle style);

// A name as the input has it (demangled or not), shortened unless options say otherwise.
std::string ShownName(std::string_view name, const ReadOptions& options);

// "_[k]", "_[i]", "_[j]" at the end of a name, as FlameGraph's tools write them.
std::optional<FrameKind> AnnotatedKind(std::string_view name);

}  // namespace culprit::profile
