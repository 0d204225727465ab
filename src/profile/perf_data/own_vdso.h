// The vdso of this kernel, out of this program's own memory.
#pragma once

#include <optional>
#include <string_view>

#include "symbols/elf_symbols.h"

namespace culprit::profile::perf_data {

// Its symbols, when it has that build id; nothing else, and nothing without one.
std::optional<symbols::SymbolFile> OpenOwnVdso(std::string_view build_id);

}  // namespace culprit::profile::perf_data
