#include "symbols/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstdlib>

#include "symbols/elf_image.h"
#include "symbols/inline_table.h"

namespace culprit::symbols {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::uint64_t kPageBytes = 4096;

std::size_t LeadingUnderscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

// Which of two names of one address is shown: as perf chooses, so that both tools agree.
bool IsBetter(const FunctionSymbol& a, const FunctionSymbol& b) {
  const bool a_sized = a.end > a.start;
  const bool b_sized = b.end > b.start;
  if (a_sized != b_sized) return a_sized;
  if ((a.binding == STB_WEAK) != (b.binding == STB_WEAK)) return b.binding == STB_WEAK;
  if ((a.binding == STB_GLOBAL) != (b.binding == STB_GLOBAL)) return a.binding == STB_GLOBAL;
  const std::size_t a_underscores = LeadingUnderscores(a.name);
  const std::size_t b_underscores = LeadingUnderscores(b.name);
  if (a_underscores != b_underscores) return a_underscores < b_underscores;
  return a.name.size() > b.name.size();  // of equals the first in the symbol table
}

}  // namespace

struct SymbolFile::State {
  std::vector<std::unique_ptr<ElfImage>> images;  // the file itself first
  ElfImage* dwarf_image = nullptr;
  bool dwarf_opened = false;
  std::unique_ptr<InlineTable> inlines;
  std::vector<FunctionSymbol> symbols;   // by start, one an address
  std::vector<std::uint32_t> enclosing;  // beside symbols: the nearest one before that ends later

  ElfImage& file() { return *images.front(); }

  void Add(ElfImage image) { images.push_back(std::make_unique<ElfImage>(std::move(image))); }

  void AddDebugFile(const std::string& root) {
    for (const std::string& path : FindByBuildId(file().build_id(), true, root)) {
      auto debug = ElfImage::Open(path);
      if (!debug.ok() || debug->build_id() != file().build_id()) continue;
      if (!debug->has_symtab() && !debug->HasSection(".debug_info")) continue;
      Add(std::move(debug).value());
      return;
    }
  }

  void ReadSymbols(const SymbolFileOptions& options) {
    const bool wants_debug_file = !file().has_symtab() || !file().HasSection(".debug_info");
    if (options.find_debug_files && wants_debug_file && !file().build_id().empty()) {
      AddDebugFile(options.root);
    }
    const auto with_symtab = std::find_if(images.begin(), images.end(),
                                          [](const auto& image) { return image->has_symtab(); });
    if (with_symtab != images.end()) {
      (*with_symtab)->AddSymbols(false, symbols);
    } else if (auto mini = file().MiniDebugInfo(); !mini.empty()) {
      auto image = ElfImage::OfBytes(std::move(mini), "the section .gnu_debugdata");
      if (image.ok()) {
        Add(std::move(image).value());
        images.back()->AddSymbols(false, symbols);
      }
    }
    // .dynsym names what .symtab may lack (it does after strip, and in mini debug info).
    if (!file().has_symtab()) file().AddSymbols(true, symbols);
    file().AddPltSymbols(symbols);
    const auto with_dwarf = std::find_if(images.begin(), images.end(), [](const auto& image) {
      return image->HasSection(".debug_info");
    });
    if (with_dwarf != images.end()) dwarf_image = with_dwarf->get();
    Order();
  }

  void Order() {
    std::stable_sort(symbols.begin(), symbols.end(),
                     [](const FunctionSymbol& a, const FunctionSymbol& b) {
                       return a.start != b.start ? a.start < b.start : IsBetter(a, b);
                     });
    symbols.erase(std::unique(symbols.begin(), symbols.end(),
                              [](const FunctionSymbol& a, const FunctionSymbol& b) {
                                return a.start == b.start;
                              }),
                  symbols.end());
    symbols.shrink_to_fit();
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      FunctionSymbol& symbol = symbols[i];
      if (symbol.end > symbol.start) continue;
      symbol.end = i + 1 < symbols.size() ? symbols[i + 1].start
                                          : symbol.start / kPageBytes * kPageBytes + 2 * kPageBytes;
    }
    enclosing.resize(symbols.size());
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < symbols.size(); ++i) {
      while (!open.empty() && symbols[open.back()].end <= symbols[i].start) open.pop_back();
      enclosing[i] = open.empty() ? kNone : open.back();
      open.push_back(i);
    }
  }
};

SymbolFile::SymbolFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SymbolFile::SymbolFile(SymbolFile&&) noexcept = default;
SymbolFile& SymbolFile::operator=(SymbolFile&&) noexcept = default;
SymbolFile::~SymbolFile() = default;

Result<SymbolFile> SymbolFile::Open(const std::string& path, const SymbolFileOptions& options) {
  auto state = std::make_unique<State>();
  CULPRIT_ASSIGN(auto image, ElfImage::Open(path));
  state->Add(std::move(image));
  state->ReadSymbols(options);
  return SymbolFile(std::move(state));
}

Result<SymbolFile> SymbolFile::OfImage(std::span<const std::byte> bytes) {
  auto state = std::make_unique<State>();
  CULPRIT_ASSIGN(auto image, ElfImage::OfBytes({bytes.begin(), bytes.end()}, "the image"));
  state->Add(std::move(image));
  state->ReadSymbols({.root = "/", .find_debug_files = false});
  return SymbolFile(std::move(state));
}

const std::string& SymbolFile::build_id() const { return state_->file().build_id(); }
std::size_t SymbolFile::symbol_count() const { return state_->symbols.size(); }

std::optional<std::uint64_t> SymbolFile::AddressOfOffset(std::uint64_t offset) const {
  for (const LoadSegment& segment : state_->file().segments()) {
    if (offset >= segment.offset && offset - segment.offset < segment.size) {
      return segment.address + (offset - segment.offset);
    }
  }
  return std::nullopt;
}

std::optional<SymbolFile::Symbol> SymbolFile::Lookup(std::uint64_t address) const {
  const auto& symbols = state_->symbols;
  const auto after = std::upper_bound(
      symbols.begin(), symbols.end(), address,
      [](std::uint64_t wanted, const FunctionSymbol& symbol) { return wanted < symbol.start; });
  if (after == symbols.begin()) return std::nullopt;
  auto index = static_cast<std::uint32_t>(after - symbols.begin() - 1);
  while (index != kNone && symbols[index].end <= address) index = state_->enclosing[index];
  if (index == kNone) return std::nullopt;
  return Symbol{symbols[index].name, address - symbols[index].start};
}

bool SymbolFile::FollowsCall(std::uint64_t address) const {
  constexpr std::uint64_t kLongestCall = 7;
  if (address < kLongestCall) return false;
  const auto code = state_->file().CodeAt(address - kLongestCall, kLongestCall);
  if (code.size() != kLongestCall) return false;
  const auto byte = [&code](std::size_t before_end) {
    return std::to_integer<unsigned>(code[kLongestCall - before_end]);
  };
  if (state_->file().machine() == EM_AARCH64) {
    const unsigned word = byte(4) | (byte(3) << 8U) | (byte(2) << 16U) | (byte(1) << 24U);
    return (word & 0xfc000000U) == 0x94000000U || (word & 0xfffffc1fU) == 0xd63f0000U;  // bl, blr
  }
  if (state_->file().machine() != EM_X86_64) return false;
  if (byte(5) == 0xe8) return true;  // call rel32
  // call r/m64: opcode ff with /2; 2, 3, 4, 6 or 7 bytes by the form of its operand.
  for (const std::size_t size : {2U, 3U, 4U, 6U, 7U}) {
    if (byte(size) == 0xff && ((byte(size - 1) >> 3U) & 7U) == 2) return true;
  }
  return false;
}

bool SymbolFile::has_dwarf() {
  if (!state_->dwarf_opened) {
    state_->dwarf_opened = true;
    if (state_->dwarf_image != nullptr) {
      state_->inlines = InlineTable::Open(state_->dwarf_image->handle());
    }
  }
  return state_->inlines != nullptr;
}

std::vector<SymbolFile::InlinedFrame> SymbolFile::Inlined(std::uint64_t address) {
  return has_dwarf() ? state_->inlines->Find(address) : std::vector<InlinedFrame>();
}

std::vector<std::string> FindByBuildId(std::string_view build_id, bool debug,
                                       const std::string& root) {
  if (build_id.size() < 4 ||
      build_id.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return {};
  }
  const std::string split =
      std::string(build_id.substr(0, 2)) + "/" + std::string(build_id.substr(2));
  std::vector<std::string> candidates;
  if (debug) candidates.push_back(JoinPath(root, "usr/lib/debug/.build-id/" + split + ".debug"));
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    const std::string folder(home);
    candidates.push_back(folder + "/.debug/.build-id/" + split + (debug ? "/debug" : "/elf"));
    const std::string cache =
        "/debuginfod_client/" + std::string(build_id) + (debug ? "/debuginfo" : "/executable");
    const char* xdg = std::getenv("XDG_CACHE_HOME");
    candidates.push_back((xdg != nullptr && *xdg == '/' ? std::string(xdg) : folder + "/.cache") +
                         cache);
    candidates.push_back(folder + "/.debuginfod_client_cache/" + std::string(build_id) +
                         (debug ? "/debuginfo" : "/executable"));
  }
  std::erase_if(candidates, [](const std::string& path) { return !PathExists(path); });
  return candidates;
}

}  // namespace culprit::symbols
