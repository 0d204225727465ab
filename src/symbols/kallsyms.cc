#include "symbols/kallsyms.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace culprit::symbols {
namespace {

// No function is longer; an address further behind the last symbol before it belongs to nothing.
constexpr std::uint64_t kLongestFunctionBytes = 1U << 20;
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kBlockBytes = 64 * 1024;

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

// Takes the file piece by piece: a kernel's list is some 10 MB, of which a quarter is kept.
class KernelSymbols::Parser {
 public:
  // Whole lines and the beginning of another; returns how much of it was taken.
  std::size_t Feed(std::string_view text) {
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos;
         end = text.find('\n', begin)) {
      AddLine(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return begin;
  }

  // Lines are "ffffffff81000000 T _stext" or "ffffffffc0000000 t function\t[module]".
  void AddLine(std::string_view line) {
    const auto address = ParseInteger<std::uint64_t>(TakeWord(line), 16);
    const std::string_view type = TakeWord(line);
    if (!address || type.size() != 1) return;
    if (std::string_view("tTwW").find(type[0]) == std::string_view::npos) return;
    const std::string_view name = TakeWord(line);
    std::string_view module = TakeWord(line);
    if (name.empty() || name.size() > kLongestName) return;
    if (*address == 0) {
      ++hidden_;
      return;
    }
    if (module.size() > 2 && module.front() == '[' && module.back() == ']') {
      module = module.substr(1, module.size() - 2).substr(0, kLongestName);
    } else {
      module = {};
    }
    if (symbols_.names_.size() > UINT32_MAX - 2 * kLongestName) return;
    if (name == "_stext") symbols_.text_start_ = *address;
    symbols_.entries_.push_back({*address, static_cast<std::uint32_t>(symbols_.names_.size()),
                                 static_cast<std::uint16_t>(name.size()),
                                 static_cast<std::uint16_t>(module.size())});
    symbols_.names_ += name;
    symbols_.names_ += module;
  }

  Result<KernelSymbols> Finish() {
    // A few symbols of a real kernel are at zero (per-CPU ones on old kernels); all only when
    // hidden.
    if (symbols_.entries_.empty()) {
      if (hidden_ > 0) {
        return Error{"proc/kallsyms hides the kernel's addresses (kernel.kptr_restrict)",
                     "run as root, with kernel.kptr_restrict at 0 or 1"};
      }
      return Error{"proc/kallsyms has no functions in it",
                   "a kernel with CONFIG_KALLSYMS is needed"};
    }
    std::stable_sort(symbols_.entries_.begin(), symbols_.entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.address < b.address; });
    return std::move(symbols_);
  }

 private:
  KernelSymbols symbols_;
  std::uint64_t hidden_ = 0;
};

Result<KernelSymbols> KernelSymbols::Load(const std::string& root) {
  const std::string path = JoinPath(root, "proc/kallsyms");
  CULPRIT_ASSIGN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  Parser parser;
  std::string block(kBlockBytes, '\0');
  std::size_t filled = 0;
  while (true) {
    const ssize_t got = ::read(fd.get(), block.data() + filled, block.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("read", path, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    const std::size_t taken = parser.Feed({block.data(), filled});
    std::memmove(block.data(), block.data() + taken, filled - taken);
    filled -= taken;
    if (filled == block.size()) break;  // a line as long as that is none of kallsyms
  }
  parser.AddLine({block.data(), filled});
  return parser.Finish();
}

Result<KernelSymbols> KernelSymbols::Parse(std::string_view text) {
  Parser parser;
  parser.AddLine(text.substr(parser.Feed(text)));
  return parser.Finish();
}

KernelSymbols::Symbol KernelSymbols::SymbolOf(const Entry& entry, std::uint64_t address) const {
  const std::string_view names(names_);
  return {names.substr(entry.name_at, entry.name_length),
          names.substr(entry.name_at + entry.name_length, entry.module_length),
          address - entry.address};
}

std::vector<KernelSymbols::Symbol> KernelSymbols::FindAliases(std::uint64_t address) const {
  const auto above =
      std::upper_bound(entries_.begin(), entries_.end(), address,
                       [](std::uint64_t a, const Entry& entry) { return a < entry.address; });
  if (above == entries_.begin()) return {};
  auto first = std::prev(above);
  if (address - first->address > kLongestFunctionBytes) return {};
  while (first != entries_.begin() && std::prev(first)->address == first->address) --first;
  std::vector<Symbol> aliases;
  for (; first != above; ++first) aliases.push_back(SymbolOf(*first, address));
  return aliases;
}

std::optional<KernelSymbols::Symbol> KernelSymbols::Find(std::uint64_t address) const {
  // Of several names of one address the kernel shows the first.
  const auto aliases = FindAliases(address);
  return aliases.empty() ? std::nullopt : std::optional(aliases.front());
}

std::optional<std::uint64_t> KernelSymbols::AddressOf(std::string_view name) const {
  for (const Entry& entry : entries_) {
    const std::string_view text(names_.data() + entry.name_at, entry.name_length);
    if (entry.module_length == 0 && text == name) return entry.address;
  }
  return std::nullopt;
}

}  // namespace culprit::symbols
