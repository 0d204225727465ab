#include "profile/names.h"

#include <fmt/format.h>

namespace culprit::profile {

std::string_view ModuleLabel(std::string_view module) {
  const std::string_view base = module.substr(module.rfind('/') + 1);
  if (base.size() > 2 && base.front() == '[' && base.back() == ']') {
    return base.substr(1, base.size() - 2);
  }
  return base;
}

std::string UnknownName(std::string_view module, std::uint64_t address,
                        std::optional<std::uint64_t> offset, UnknownStyle style) {
  std::string_view label = ModuleLabel(module);
  if (label.empty()) label = "unknown";
  switch (style) {
    case UnknownStyle::kOffset:
      if (offset) return fmt::format("[{}+{:#x}]", label, *offset);
      break;
    case UnknownStyle::kAddress:
      return fmt::format("[{} <{:x}>]", label, address);
    case UnknownStyle::kModule:
      break;
  }
  return fmt::format("[{}]", label);
}

std::string ShownName(std::string_view name, const ReadOptions& options) {
  if (name.starts_with("_Z") || name.starts_with("_R")) {
    return symbols::Demangle(name, options.names);
  }
  if (options.names == symbols::NameStyle::kFull) return std::string(name);
  return symbols::ShortName(name);
}

std::optional<FrameKind> AnnotatedKind(std::string_view name) {
  if (name.ends_with("_[k]")) return FrameKind::kKernel;
  if (name.ends_with("_[i]")) return FrameKind::kInlined;
  if (name.ends_with("_[j]")) return FrameKind::kJit;
  return std::nullopt;
}

}  // namespace culprit::profile
