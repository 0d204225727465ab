#include "profile/perf_data/own_vdso.h"

#include <sys/auxv.h>

#include <cstdint>

#include "base/file.h"
#include "base/text.h"

namespace culprit::profile::perf_data {

std::optional<symbols::SymbolFile> OpenOwnVdso(std::string_view build_id) {
  const std::uint64_t begin = ::getauxval(AT_SYSINFO_EHDR);
  const auto maps = ReadFile("/proc/self/maps");
  if (begin == 0 || build_id.empty() || !maps.ok()) return std::nullopt;
  for (const std::string_view line : SplitLines(*maps)) {
    if (!line.ends_with("[vdso]")) continue;
    const std::size_t dash = line.find('-');
    const auto from = ParseInteger<std::uint64_t>(line.substr(0, dash), 16);
    const auto to =
        ParseInteger<std::uint64_t>(line.substr(dash + 1, line.find(' ') - dash - 1), 16);
    if (!from || !to || *from != begin || *to <= *from) continue;
    const std::span<const std::byte> image(
        reinterpret_cast<const std::byte*>(begin),  // NOLINT(performance-no-int-to-ptr)
        *to - *from);
    auto file = symbols::SymbolFile::OfImage(image);
    if (file.ok() && file->build_id() == build_id) return std::move(file).value();
  }
  return std::nullopt;
}

}  // namespace culprit::profile::perf_data
