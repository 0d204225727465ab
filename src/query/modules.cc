#include "query/modules.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/embedded_file.h"
#include "base/text.h"
#include "query/token.h"

namespace culprit::query {

extern const std::span<const EmbeddedFile> kModuleFiles;

namespace {

constexpr std::string_view kSuffix = ".sql";

std::string_view NameOf(const EmbeddedFile& file) {
  return file.name.substr(0, file.name.size() - kSuffix.size());
}

// The names behind CREATE ... TABLE, VIEW, FUNCTION and MACRO in a module, in lower case.
std::set<std::string, std::less<>> MadeBy(std::string_view text) {
  std::set<std::string, std::less<>> names;
  const Tokens tokens = Tokenize(text);
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    const Token& kind = tokens[i];
    const bool is_definition =
        (kind.Is("TABLE") || kind.Is("VIEW") || kind.Is("FUNCTION") || kind.Is("MACRO")) &&
        (tokens[i - 1].Is("PERFETTO") || tokens[i - 1].Is("VIRTUAL"));
    if (is_definition) names.insert(ToLower(tokens[i + 1].Name()));
  }
  return names;
}

}  // namespace

std::vector<Module> Modules() {
  std::vector<Module> modules;
  for (const EmbeddedFile& file : kModuleFiles) {
    if (NameOf(file) != kPreludeName) modules.push_back({NameOf(file), file.text});
  }
  std::sort(modules.begin(), modules.end(),
            [](const Module& a, const Module& b) { return a.name < b.name; });
  return modules;
}

std::string_view PreludeText() {
  for (const EmbeddedFile& file : kModuleFiles) {
    if (NameOf(file) == kPreludeName) return file.text;
  }
  return "";
}

bool PreludeMakes(std::string_view object) {
  static const auto names = MadeBy(PreludeText());
  return EqualsIgnoreCase(object, "extract_arg") || names.contains(ToLower(object));
}

std::vector<Module> FindModules(std::string_view name) {
  std::vector<Module> found;
  const bool is_pattern = name == "*" || name.ends_with(".*");
  const std::string_view prefix = is_pattern ? name.substr(0, name.size() - 1) : name;
  for (const Module& module : Modules()) {
    if (is_pattern ? module.name.starts_with(prefix) : module.name == name) found.push_back(module);
  }
  return found;
}

std::vector<std::string> NearModules(std::string_view name) {
  std::vector<std::string> names;
  for (const Module& module : Modules()) names.emplace_back(module.name);
  auto near = NearNames(name, names);
  if (!near.empty()) return near;
  // Of the same package, where the name is no typing mistake.
  const std::string_view package = name.substr(0, name.find('.'));
  std::erase_if(names,
                [&](const std::string& candidate) { return !candidate.starts_with(package); });
  if (names.size() > 3) names.resize(3);
  return names;
}

std::string_view ModuleWith(std::string_view object) {
  for (const Module& module : Modules()) {
    if (MadeBy(module.text).contains(ToLower(object))) return module.name;
  }
  return "";
}

}  // namespace culprit::query
