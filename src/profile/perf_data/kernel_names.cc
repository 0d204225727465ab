#include "profile/perf_data/kernel_names.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"

namespace culprit::profile::perf_data {
namespace {

// The build id in a list of ELF notes, as /sys/kernel/notes has it.
std::string BuildIdOfNotes(std::string_view notes) {
  constexpr std::uint32_t kBuildIdNote = 3;
  ByteReader reader(notes);
  while (reader.ok() && reader.remaining() >= 12) {
    const auto name_size = reader.Read<std::uint32_t>();
    const auto size = reader.Read<std::uint32_t>();
    const auto type = reader.Read<std::uint32_t>();
    const auto padded = [](std::uint32_t bytes) { return (std::size_t{bytes} + 3) / 4 * 4; };
    const std::string_view name = reader.ReadText(padded(name_size));
    const auto bytes = reader.ReadBytes(padded(size));
    if (reader.ok() && type == kBuildIdNote && name.starts_with("GNU")) {
      return BuildIdText(bytes.first(std::min<std::size_t>(size, bytes.size())));
    }
  }
  return "";
}

}  // namespace

KernelNames KernelNames::Load(const Header& header, const std::vector<Module>& modules,
                              const std::string& root) {
  KernelNames names;
  const auto core = std::ranges::find_if(modules, [](const Module& module) {
    return module.is_kernel && module.path.starts_with("[kernel");
  });
  if (core == modules.end()) {
    names.problem_ = "the recording does not say where its kernel was, so its code is not named";
    return names;
  }
  const auto notes = ReadFile(JoinPath(root, "sys/kernel/notes"));
  const std::string here = notes.ok() ? BuildIdOfNotes(*notes) : "";
  if (!core->build_id.empty() && core->build_id != here) {
    names.problem_ =
        "recorded under another kernel (the build id differs), whose code is not named here";
    return names;
  }
  auto symbols = symbols::KernelSymbols::Load(root);
  if (!symbols.ok()) {
    names.problem_ = "kernel code is not named: " + symbols.error().ToString();
    return names;
  }
  const auto reference = core->kernel_reference_name.empty()
                             ? std::nullopt
                             : symbols->AddressOf(core->kernel_reference_name);
  if (reference && core->kernel_reference != 0) {
    names.moved_by_ = *reference - core->kernel_reference;
  }
  if (core->build_id.empty()) {
    const auto release = ReadFile(JoinPath(root, "proc/sys/kernel/osrelease"));
    const bool same_release =
        header.os_release.empty() ||
        (release.ok() && TrimBlanks(SplitLines(*release).front()) == header.os_release);
    if (!reference || names.moved_by_ != 0 || !same_release) {
      names.problem_ =
          "no build id of the kernel in the recording and its addresses are not those of this "
          "one, so its code is not named";
      return names;
    }
  }
  names.symbols_ = std::move(symbols).value();
  return names;
}

std::optional<KernelNames::Name> KernelNames::Find(std::string_view module,
                                                   std::uint64_t address) const {
  if (!symbols_) return std::nullopt;
  const bool is_core = module.empty() || module.starts_with("[kernel");
  // Modules lie elsewhere after a reboot, whatever the kernel's own move was.
  if (!is_core && moved_by_ != 0) return std::nullopt;
  const auto aliases = symbols_->FindAliases(is_core ? address + moved_by_ : address);
  if (aliases.empty()) return std::nullopt;
  // Of several names of one place perf shows the last, which is __x64_sys_read and not
  // __ia32_sys_read.
  const auto* symbol = &aliases.back();
  Name name{symbol->name, symbol->module.empty() ? "" : "[" + std::string(symbol->module) + "]"};
  if (!is_core && name.module != module) return std::nullopt;
  return name;
}

}  // namespace culprit::profile::perf_data
