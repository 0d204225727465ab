#include "symbols/kallsyms.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace culprit::symbols {
namespace {

// No function is longer; an address further behind the last symbol before it belongs to nothing.
constexpr std::uint64_t kLongestFunctionBytes = 1U << 20;
constexpr std::size_t kLongestName = 1024;

// The next word of `line`, cut off it.
std::string_view TakeWord(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

}  // namespace

Result<KernelSymbols> KernelSymbols::Load(const std::string& root) {
  CULPRIT_ASSIGN(const std::string text, ReadFile(JoinPath(root, "proc/kallsyms")));
  return Parse(text);
}

// Lines are "ffffffff81000000 T _stext" or "ffffffffc0000000 t function\t[module]".
Result<KernelSymbols> KernelSymbols::Parse(std::string_view text) {
  KernelSymbols symbols;
  std::uint64_t hidden = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto address = ParseInteger<std::uint64_t>(TakeWord(line), 16);
    const std::string_view type = TakeWord(line);
    const std::string_view name = TakeWord(line);
    std::string_view module = TakeWord(line);
    if (!address || type.size() != 1 || name.empty() || name.size() > kLongestName) continue;
    if (std::string_view("tTwW").find(type[0]) == std::string_view::npos) continue;
    if (*address == 0) {
      ++hidden;
      continue;
    }
    if (module.size() > 2 && module.front() == '[' && module.back() == ']') {
      module = module.substr(1, module.size() - 2).substr(0, kLongestName);
    } else {
      module = {};
    }
    if (symbols.names_.size() > UINT32_MAX - 2 * kLongestName) break;
    if (name == "_stext") symbols.text_start_ = *address;
    symbols.entries_.push_back({*address, static_cast<std::uint32_t>(symbols.names_.size()),
                                static_cast<std::uint16_t>(name.size()),
                                static_cast<std::uint16_t>(module.size())});
    symbols.names_ += name;
    symbols.names_ += module;
  }
  // A few symbols of a real kernel are at zero (per-CPU ones on old kernels); all only when hidden.
  if (symbols.entries_.empty()) {
    if (hidden > 0) {
      return Error{"proc/kallsyms hides the kernel's addresses (kernel.kptr_restrict)",
                   "run as root, with kernel.kptr_restrict at 0 or 1"};
    }
    return Error{"proc/kallsyms has no functions in it", "a kernel with CONFIG_KALLSYMS is needed"};
  }
  std::stable_sort(symbols.entries_.begin(), symbols.entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.address < b.address; });
  return symbols;
}

std::optional<KernelSymbols::Symbol> KernelSymbols::Find(std::uint64_t address) const {
  auto above =
      std::upper_bound(entries_.begin(), entries_.end(), address,
                       [](std::uint64_t a, const Entry& entry) { return a < entry.address; });
  if (above == entries_.begin()) return std::nullopt;
  // Of several names of one address the kernel shows the first.
  auto found = std::prev(above);
  while (found != entries_.begin() && std::prev(found)->address == found->address) --found;
  const std::uint64_t offset = address - found->address;
  if (offset > kLongestFunctionBytes) return std::nullopt;
  const std::string_view names(names_);
  return Symbol{names.substr(found->name_at, found->name_length),
                names.substr(found->name_at + found->name_length, found->module_length), offset};
}

}  // namespace culprit::symbols
