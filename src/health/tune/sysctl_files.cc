#include "health/tune/sysctl_files.h"

#include <fnmatch.h>
#include <string.h>

#include <map>

#include "base/text.h"
#include "health/tune/sysctl_text.h"

namespace culprit::tune {
namespace {

// Highest precedence first.
constexpr std::string_view kDirectories[] = {"/etc/sysctl.d", "/run/sysctl.d",
                                             "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d",
                                             "/lib/sysctl.d"};
constexpr const char* kSysctlConf = "/etc/sysctl.conf";

const ConfigLine* Decide(const std::vector<ConfigLine>& lines, std::string_view key,
                         std::optional<bool> vendor) {
  const auto path = SysctlPath(key);
  if (!path) return nullptr;
  const ConfigLine* named = nullptr;
  const ConfigLine* by_pattern = nullptr;
  for (const ConfigLine& line : lines) {
    if (vendor && line.vendor != *vendor) continue;
    if (line.path == *path) named = &line;
    if (line.is_pattern && line.value &&
        fnmatch(line.path.c_str(), path->c_str(), FNM_PATHNAME) == 0) {
      by_pattern = &line;
    }
  }
  if (named != nullptr) return named->value ? named : nullptr;
  return by_pattern;
}

}  // namespace

std::vector<ConfigLine> ParseSysctlConfig(std::string_view text, const std::string& file) {
  std::vector<ConfigLine> lines;
  std::size_t number = 0;
  for (const auto whole : SplitLines(text)) {
    ++number;
    auto line = TrimBlanks(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const bool dash = line.front() == '-';
    if (dash) line.remove_prefix(1);
    const auto equals = line.find('=');
    if (equals == line.npos && !dash) continue;
    const auto path = SysctlPath(TrimBlanks(line.substr(0, equals)));
    if (!path) continue;
    ConfigLine parsed;
    parsed.path = *path;
    parsed.is_pattern = path->find_first_of("*?[") != path->npos;
    if (equals != line.npos) parsed.value = std::string(TrimBlanks(line.substr(equals + 1)));
    parsed.file = file;
    parsed.line = number;
    parsed.vendor = file.starts_with("/usr/") || file.starts_with("/lib/");
    lines.push_back(std::move(parsed));
  }
  return lines;
}

SysctlConfig SysctlConfig::Read(const RootFiles& files) {
  SysctlConfig config;
  std::map<std::string, std::string> by_name;  // sorted by name, whatever the directory
  for (const auto directory : kDirectories) {
    for (const std::string& name : files.List(std::string(directory))) {
      if (name.ends_with(".conf")) by_name.try_emplace(name, JoinPath(directory, name));
    }
  }
  bool links_sysctl_conf = false;
  for (const auto& [name, path] : by_name) {
    const std::string target = files.LinkTarget(path);
    if (target == "/dev/null") continue;
    if (target == kSysctlConf || target == "../sysctl.conf") links_sysctl_conf = true;
    const FileText file = files.Read(path);
    if (!file.ok()) {
      config.problems_.push_back(path + ": " + strerror(file.error_number));
      continue;
    }
    for (ConfigLine& line : ParseSysctlConfig(file.text, path)) {
      config.lines_.push_back(std::move(line));
    }
  }
  if (!links_sysctl_conf) {
    const FileText file = files.Read(kSysctlConf);
    if (file.ok()) config.sysctl_conf_ = ParseSysctlConfig(file.text, kSysctlConf);
    if (!file.ok() && !file.absent()) {
      config.problems_.push_back(std::string(kSysctlConf) + ": " + strerror(file.error_number));
    }
  }
  return config;
}

const ConfigLine* SysctlConfig::Deciding(std::string_view key) const {
  return Decide(lines_, key, std::nullopt);
}

const ConfigLine* SysctlConfig::Deciding(std::string_view key, bool vendor) const {
  return Decide(lines_, key, vendor);
}

const ConfigLine* SysctlConfig::OnlyInSysctlConf(std::string_view key) const {
  return Decide(sysctl_conf_, key, std::nullopt);
}

}  // namespace culprit::tune
