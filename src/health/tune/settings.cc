#include "health/tune/settings.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "health/tune/sysctl_text.h"

namespace culprit::tune {
namespace {

constexpr int kDeepestInclude = 16;  // of tuned profiles; a loop ends

std::string Place(const std::string& file, std::size_t line) {
  return file + ":" + std::to_string(line);
}

std::string_view Unquote(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

struct IniLine {
  std::string section;
  std::string name;
  std::string value;
  std::size_t line = 0;
};

std::vector<IniLine> ParseIni(std::string_view text) {
  std::vector<IniLine> lines;
  std::string section;
  std::size_t number = 0;
  for (const auto whole : SplitLines(text)) {
    ++number;
    const auto line = TrimBlanks(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = std::string(line.substr(1, line.size() - 2));
      continue;
    }
    const auto equals = line.find('=');
    if (equals == line.npos) continue;
    lines.push_back({section, std::string(TrimBlanks(line.substr(0, equals))),
                     std::string(Unquote(TrimBlanks(line.substr(equals + 1)))), number});
  }
  return lines;
}

// The files of a drop-in directory set, in the order of their names; the first directory that has
// a name wins.
std::vector<std::string> DropIns(const RootFiles& files,
                                 std::initializer_list<std::string_view> directories) {
  std::map<std::string, std::string> by_name;
  for (const auto directory : directories) {
    for (const std::string& name : files.List(std::string(directory))) {
      if (name.ends_with(".conf")) by_name.try_emplace(name, JoinPath(directory, name));
    }
  }
  std::vector<std::string> paths;
  for (const auto& [name, path] : by_name) paths.push_back(path);
  return paths;
}

// The value of a word "NAME=value" of the kernel command line, the last one; dashes and underscores
// of a name are the same to the kernel.
std::optional<std::string> BootParameter(std::string_view command_line, std::string_view name) {
  const auto plain = [](std::string_view text) {
    std::string result(text);
    std::ranges::replace(result, '-', '_');
    return result;
  };
  std::optional<std::string> value;
  for (const auto word : SplitWords(command_line)) {
    if (word == "--") break;  // the rest is init's
    const auto equals = word.find('=');
    if (equals == word.npos || plain(word.substr(0, equals)) != plain(name)) continue;
    value = std::string(Unquote(word.substr(equals + 1)));
  }
  return value;
}

}  // namespace

std::string_view OriginName(OriginKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {
      "sysctl_file", "tuned",          "tmpfiles",      "command_line",
      "limits_file", "kernel_default", "sized_at_boot", "run_time"};
  return kNames[static_cast<std::size_t>(kind)];
}

Settings Settings::Read(const RootFiles& files, std::string command_line) {
  Settings settings;
  settings.sysctl_ = SysctlConfig::Read(files);
  settings.command_line_ = std::move(command_line);
  settings.ReadTuned(files);
  settings.ReadTmpfiles(files);
  settings.ReadLimits(files);
  return settings;
}

void Settings::ReadTuned(const RootFiles& files) {
  tuned_profile_ = OneLine(files.Read("/etc/tuned/active_profile").text);
  for (const IniLine& line : ParseIni(files.Read("/etc/tuned/tuned-main.conf").text)) {
    if (line.name == "reapply_sysctl")
      sysctl_over_tuned_ = line.value != "0" && line.value != "False";
  }
  // Several profiles may be active: a later one wins.
  for (const auto profile : SplitWords(tuned_profile_)) {
    ReadTunedProfile(files, std::string(profile), 0);
  }
}

void Settings::ReadTunedProfile(const RootFiles& files, const std::string& profile, int depth) {
  if (depth > kDeepestInclude || profile.empty() || profile.find('/') != profile.npos) return;
  FileText text;
  std::string path;
  for (const char* base :
       {"/etc/tuned/profiles/", "/etc/tuned/", "/usr/lib/tuned/profiles/", "/usr/lib/tuned/"}) {
    path = base + profile + "/tuned.conf";
    text = files.Read(path);
    if (text.ok()) break;
  }
  if (!text.ok()) return;
  const auto lines = ParseIni(text.text);
  for (const IniLine& line : lines) {  // what is included comes first: the profile's own lines win
    if (line.section != "main" || line.name != "include") continue;
    std::string names = line.value;
    std::ranges::replace(names, ',', ' ');
    for (const auto name : SplitWords(names)) ReadTunedProfile(files, std::string(name), depth + 1);
  }
  for (const IniLine& line : lines) {
    std::string name = line.section + "." + line.name;
    if (line.section == "sysctl") name = "sysctl." + SysctlPath(line.name).value_or("");
    if (line.section == "sysfs") name = line.name;
    auto value = std::string_view(line.value);
    // "=>5" and "=<5" set it only when that raises or lowers it.
    if (value.starts_with('>') || value.starts_with('<')) value.remove_prefix(1);
    tuned_.push_back({name, std::string(TrimBlanks(value)), Place(path, line.line)});
  }
}

// tmpfiles.d(5): "w /sys/... - - - - value", also "w+" and with modifiers such as "w!".
void Settings::ReadTmpfiles(const RootFiles& files) {
  for (const std::string& path :
       DropIns(files, {"/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d",
                       "/usr/lib/tmpfiles.d"})) {
    const FileText text = files.Read(path);
    std::size_t number = 0;
    for (const auto line : SplitLines(text.text)) {
      ++number;
      const auto words = SplitWords(line);
      if (words.size() < 7 || !words[0].starts_with('w')) continue;
      tmpfiles_.push_back({std::string(words[1]), std::string(words[6]), Place(path, number)});
    }
  }
}

void Settings::ReadLimits(const RootFiles& files) {
  std::vector<std::string> systemd = {"/etc/systemd/system.conf"};
  if (!files.Exists(systemd.front())) systemd.front() = "/usr/lib/systemd/system.conf";
  for (auto& path :
       DropIns(files, {"/etc/systemd/system.conf.d", "/run/systemd/system.conf.d",
                       "/usr/local/lib/systemd/system.conf.d", "/usr/lib/systemd/system.conf.d"})) {
    systemd.push_back(std::move(path));
  }
  for (const std::string& path : systemd) {
    for (const IniLine& line : ParseIni(files.Read(path).text)) {
      if (line.section == "Manager" && line.name.starts_with("DefaultLimit")) {
        limits_.push_back({line.name, line.value, Place(path, line.line)});
      }
    }
  }
  // limits.conf(5): "domain type item value"; the files of limits.d come after it.
  std::vector<std::string> pam = {"/etc/security/limits.conf"};
  for (auto& path : DropIns(files, {"/etc/security/limits.d"})) pam.push_back(std::move(path));
  for (const std::string& path : pam) {
    const FileText text = files.Read(path);
    std::size_t number = 0;
    for (const auto line : SplitLines(text.text)) {
      ++number;
      const auto words = SplitWords(line.substr(0, line.find('#')));
      if (words.size() != 4) continue;
      const std::string who = std::string(words[0]) + " " + std::string(words[1]);
      limits_.push_back(
          {std::string(words[2]), std::string(words[3]) + " (" + who + ")", Place(path, number)});
    }
  }
}

std::vector<Setting> Settings::For(const SettingTarget& target) const {
  std::vector<Setting> found;
  const auto add_last = [&found](const std::vector<Line>& lines, OriginKind kind, auto&& matches) {
    const auto last = std::ranges::find_if(lines.rbegin(), lines.rend(), matches);
    if (last != lines.rend()) found.push_back({kind, last->value, last->place});
  };
  const auto add_sysctl = [&](bool vendor) {
    const ConfigLine* line = sysctl_.Deciding(target.key, vendor);
    if (line != nullptr) found.push_back({OriginKind::kSysctlFile, *line->value, line->Place()});
  };
  if (!target.limits_item.empty()) {
    const auto named = [&](const Line& line) {
      return line.name == target.limits_item || line.name == target.systemd_setting;
    };
    for (const Line& line : limits_) {
      if (named(line)) found.push_back({OriginKind::kLimitsFile, line.value, line.place});
    }
    return found;
  }
  if (target.path.empty()) {  // a sysctl
    const std::string tuned = "sysctl." + SysctlPath(target.key).value_or("?");
    const auto in_tuned = [&](const Line& line) { return line.name == tuned; };
    // tuned writes after systemd-sysctl, then lets the site's own files win (not those of
    // packages).
    if (!sysctl_over_tuned_) add_last(tuned_, OriginKind::kTuned, in_tuned);
    add_sysctl(false);
    if (sysctl_over_tuned_) add_last(tuned_, OriginKind::kTuned, in_tuned);
    if (found.empty()) {
      add_sysctl(true);
    } else if (const ConfigLine* line = sysctl_.Deciding(target.key);
               line != nullptr && line->vendor && found.front().kind != OriginKind::kTuned) {
      // A package's file whose name sorts behind the site's decides after all.
      found.insert(found.begin(), {OriginKind::kSysctlFile, *line->value, line->Place()});
    }
    if (const ConfigLine* line = sysctl_.OnlyInSysctlConf(target.key); line != nullptr) {
      found.push_back({OriginKind::kSysctlFile, *line->value,
                       line->Place() + " (read by sysctl --system, not by systemd)"});
    }
    for (const std::string& name :
         {"sysctl." + std::string(target.key), "sysctl." + SysctlPath(target.key).value_or("?")}) {
      if (auto value = BootParameter(command_line_, name)) {
        found.push_back({OriginKind::kCommandLine, *value, name + " on the kernel command line"});
        break;
      }
    }
  } else {
    const std::string path(target.path);
    const auto same_file = [&](const Line& line) {
      return line.name == target.path ||
             fnmatch(line.name.c_str(), path.c_str(), FNM_PATHNAME) == 0;
    };
    add_last(tuned_, OriginKind::kTuned, [&](const Line& line) {
      return (!target.tuned_option.empty() && line.name == target.tuned_option) || same_file(line);
    });
    add_last(tmpfiles_, OriginKind::kTmpfiles, same_file);
  }
  if (!target.boot_parameter.empty()) {
    if (auto value = BootParameter(command_line_, target.boot_parameter)) {
      found.push_back({OriginKind::kCommandLine, *value,
                       std::string(target.boot_parameter) + " on the kernel command line"});
    }
  }
  return found;
}

Origin Settings::Explain(const SettingTarget& target, std::string_view current,
                         std::string_view kernel_default) const {
  Origin origin;
  const auto settings = For(target);
  const auto same = std::ranges::find_if(
      settings, [&](const Setting& setting) { return SameValue(setting.value, current); });
  const bool is_default =
      std::ranges::any_of(Split(kernel_default, '|'),
                          [&](std::string_view value) { return SameValue(value, current); });
  if (same != settings.end()) {
    origin.set_by = *same;
  } else if (is_default) {
    origin.set_by = {OriginKind::kKernelDefault, std::string(current), ""};
  } else if (kernel_default.empty()) {
    origin.set_by = {OriginKind::kSizedAtBoot, std::string(current), ""};
  } else {
    origin.set_by = {OriginKind::kRunTime, std::string(current), ""};
  }
  const bool limits = !target.limits_item.empty();  // each is for other users and units
  if (!limits && !settings.empty() && !SameValue(settings.front().value, current)) {
    origin.at_boot = settings.front();
  }
  return origin;
}

}  // namespace culprit::tune
