#include "profile/perf_data/symbolizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "profile/kind_table.h"
#include "profile/names.h"
#include "profile/perf_data/kernel_names.h"
#include "profile/perf_data/own_vdso.h"
#include "symbols/elf_symbols.h"

namespace culprit::profile::perf_data {
namespace {

struct JitSymbol {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view name;
};

// "7f722d142778 40 Ljava/io/PrintStream;::print": begin and size in hexadecimal, and a name. Later
// lines are newer code at the same place.
std::vector<JitSymbol> ParsePerfMap(std::string_view text) {
  std::vector<JitSymbol> symbols;
  for (const std::string_view line : SplitLines(text)) {
    const std::size_t first = line.find(' ');
    const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view begin_text = line.substr(0, first);
    std::string_view size_text = line.substr(first + 1, second - first - 1);
    if (begin_text.starts_with("0x")) begin_text.remove_prefix(2);
    if (size_text.starts_with("0x")) size_text.remove_prefix(2);
    const auto begin = ParseInteger<std::uint64_t>(begin_text, 16);
    const auto size = ParseInteger<std::uint64_t>(size_text, 16);
    if (!begin || !size || *begin + *size < *begin) continue;
    symbols.push_back({*begin, *begin + *size, TrimBlanks(line.substr(second + 1))});
  }
  std::ranges::stable_sort(symbols, {}, &JitSymbol::begin);
  return symbols;
}

const JitSymbol* FindJit(const std::vector<JitSymbol>& symbols, std::uint64_t address) {
  auto after = std::ranges::upper_bound(symbols, address, {}, &JitSymbol::begin);
  constexpr int kOverlaps = 16;  // code that was made anew in the same place
  for (int i = 0; i < kOverlaps && after != symbols.begin(); ++i) {
    --after;
    if (address < after->end || (after->begin == after->end && address == after->begin)) {
      return &*after;
    }
  }
  return nullptr;
}

bool IsFile(const Module& module) { return module.path.starts_with('/'); }

}  // namespace

FrameId Symbolizer::Unknown(const Place& place) {
  const Module& module = modules_[place.module];
  const auto offset = place.module == 0 ? std::nullopt : std::optional(place.offset);
  const FrameKind kind = place.is_kernel ? FrameKind::kKernel : FrameKind::kUnknown;
  return profile_->InternFrame(UnknownName(module.path, place.address, offset, options_.unknown),
                               module.path, kind);
}

void Symbolizer::NameKernel(const std::vector<Place>& places, const Places& chosen) {
  const KernelNames kernel = KernelNames::Load(header_, modules_, options_.root);
  for (const std::uint32_t index : chosen) {
    const Place& place = places[index];
    const Module& module = modules_[place.module];
    FrameId frame = 0;
    if (!module.symbol.empty()) {
      frame = profile_->InternFrame(module.symbol, "[bpf]", FrameKind::kKernel);
    } else if (const auto name = kernel.Find(module.path, place.address)) {
      const std::string_view in =
          name->module.empty() ? std::string_view("[kernel.kallsyms]") : name->module;
      frame = profile_->InternFrame(name->name, in, KindOf(name->name, in));
    } else {
      frame = Unknown(place);
    }
    names_[index] = {frame};
  }
  if (!kernel.problem().empty()) profile_->notes.push_back({kernel.problem(), false});
}

void Symbolizer::NameJit(const std::vector<Place>& places, const Places& chosen,
                         const Module& module) {
  const auto text = ReadFile(JoinPath(options_.root, module.path));
  const auto symbols = text.ok() ? ParsePerfMap(*text) : std::vector<JitSymbol>();
  if (!text.ok()) missing_.push_back({module.path, Why::kMissing, chosen.size()});
  for (const std::uint32_t index : chosen) {
    const Place& place = places[index];
    const JitSymbol* symbol = FindJit(symbols, place.address);
    names_[index] = {symbol == nullptr
                         ? Unknown(place)
                         : profile_->InternFrame(ShownName(symbol->name, options_), module.path,
                                                 KindOf(symbol->name, module.path))};
  }
}

void Symbolizer::NameElf(const std::vector<Place>& places, const Places& chosen,
                         const Module& module) {
  std::optional<symbols::SymbolFile> file;
  bool replaced = false;
  const symbols::SymbolFileOptions open_options{.root = options_.root, .find_debug_files = true};
  const auto try_open = [&](const std::string& path) {
    auto opened = symbols::SymbolFile::Open(path, open_options);
    if (!opened.ok()) return;
    if (!module.build_id.empty() && opened->build_id() != module.build_id) {
      replaced = true;
      return;
    }
    file = std::move(opened).value();
  };
  if (module.path == "[vdso]") {
    file = OpenOwnVdso(module.build_id);
  } else if (IsFile(module)) {
    std::string path = module.path;
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    try_open(JoinPath(options_.root, path));
  }
  if (!file && !module.build_id.empty()) {
    for (const bool debug : {false, true}) {
      for (const std::string& path :
           symbols::FindByBuildId(module.build_id, debug, options_.root)) {
        if (!file) try_open(path);
      }
    }
  }
  if (!file) {
    missing_.push_back({module.path, replaced ? Why::kReplaced : Why::kMissing, chosen.size()});
  } else if (module.build_id.empty() && IsFile(module)) {
    ++unchecked_;
  }

  for (const std::uint32_t index : chosen) {
    const Place& place = places[index];
    const auto address = file ? file->AddressOfOffset(place.offset) : std::nullopt;
    if (!address) {
      names_[index] = {Unknown(place)};
      continue;
    }
    auto symbol = file->Lookup(*address);
    std::uint64_t inside = *address;
    // A return address lies behind its call. Where the call was the function's last instruction
    // (it never returns), that is the next function.
    if (place.is_caller && *address > 0) {
      --inside;
      if (symbol && symbol->offset == 0 && file->FollowsCall(*address)) {
        if (const auto caller = file->Lookup(inside)) symbol = caller;
      }
    }
    auto& frames = names_[index];
    frames = {symbol ? profile_->InternFrame(symbols::Demangle(symbol->name, options_.names),
                                             module.path, KindOf(symbol->name, module.path))
                     : Unknown(place)};
    if (!options_.inlines) continue;
    const auto inlined = file->Inlined(inside);
    for (std::size_t i = inlined.size(); i-- > 0;) {
      frames.push_back(profile_->InternFrame(symbols::Demangle(inlined[i].name, options_.names),
                                             module.path, FrameKind::kInlined));
    }
  }
}

void Symbolizer::NameModule(const std::vector<Place>& places, const Places& chosen,
                            const Module& module) {
  if (module.path.starts_with("/tmp/perf-") && module.path.ends_with(".map")) {
    return NameJit(places, chosen, module);
  }
  NameElf(places, chosen, module);
}

// One line for each reason, with the modules that most addresses lie in.
void Symbolizer::SayMissing() {
  std::ranges::stable_sort(missing_, std::greater<>(), &Missing::places);
  struct Reason {
    Why why;
    std::string_view text;
  };
  constexpr Reason kReasons[] = {
      {Why::kReplaced, "replaced since the recording (the build id differs), so not named"},
      {Why::kMissing, "not here or without symbols for the recorded build id, so not named"},
  };
  constexpr std::size_t kShown = 3;
  for (const Reason& reason : kReasons) {
    std::string names;
    std::size_t count = 0;
    for (const Missing& missing : missing_) {
      if (missing.why != reason.why) continue;
      if (count++ < kShown) names += (names.empty() ? "" : ", ") + missing.path;
    }
    if (count == 0) continue;
    if (count > kShown) names += fmt::format(" and {} more", count - kShown);
    profile_->notes.push_back({fmt::format("{}: {}", reason.text, names), false});
  }
  if (unchecked_ > 0) {
    profile_->notes.push_back(
        {fmt::format("{} files have no build id in the recording: that they are the same as then "
                     "could not be checked",
                     unchecked_),
         false});
  }
}

std::vector<std::vector<FrameId>> Symbolizer::Name(const std::vector<Place>& places,
                                                   Profile& profile) {
  profile_ = &profile;
  names_.assign(places.size(), {});
  std::map<ModuleId, Places> by_module;
  Places kernel;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (places[i].is_kernel) {
      kernel.push_back(i);
    } else if (places[i].module == 0) {
      names_[i] = {Unknown(places[i])};
    } else {
      by_module[places[i].module].push_back(i);
    }
  }
  if (!kernel.empty()) NameKernel(places, kernel);
  for (auto& [module, chosen] : by_module) {
    std::ranges::sort(chosen, {}, [&](std::uint32_t index) { return places[index].offset; });
    NameModule(places, chosen, modules_[module]);
  }
  SayMissing();
  return std::move(names_);
}

}  // namespace culprit::profile::perf_data
