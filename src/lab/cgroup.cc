#include "lab/cgroup.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/text.h"

namespace culprit::lab {
namespace {

bool HasWord(std::string_view text, std::string_view word, char separator) {
  const auto words = Split(text, separator);
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::optional<CgroupHierarchy> FindHierarchy(std::string_view mounts, std::string_view controller) {
  std::optional<CgroupHierarchy> v2;
  for (const std::string_view line : SplitLines(mounts)) {
    const auto fields = SplitWords(line);  // device, mount point, type, options
    if (fields.size() < 4) continue;
    if (fields[2] == "cgroup" && HasWord(fields[3], controller, ',')) {
      return CgroupHierarchy{std::string(fields[1]), false};
    }
    if (fields[2] == "cgroup2" && !v2) v2 = CgroupHierarchy{std::string(fields[1]), true};
  }
  return v2;
}

std::vector<std::string> CgroupMounts() {
  std::vector<std::string> found;
  const auto mounts = ReadFile("/proc/self/mounts");
  if (!mounts) return found;
  for (const std::string_view line : SplitLines(*mounts)) {
    const auto fields = SplitWords(line);
    if (fields.size() > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2")) {
      found.emplace_back(fields[1]);
    }
  }
  return found;
}

Result<Cgroup> Cgroup::MakeIn(Caretaker& caretaker, const CgroupHierarchy& hierarchy) {
  CULPRIT_ASSIGN(const std::string name, PrivateName());
  const std::string path = JoinPath(hierarchy.mount, name);
  CULPRIT_TRY(caretaker.Promise(Thing::kCgroup, path));
  if (mkdir(path.c_str(), 0755) != 0) return ErrnoError("make the cgroup", path, errno);
  return Cgroup(path, "/" + name, hierarchy.v2);
}

Result<Cgroup> Cgroup::Make(Caretaker& caretaker, std::string_view controller) {
  if (geteuid() != 0) {
    return Error{fmt::format("a cgroup with a limit of {} needs root", controller), "run as root"};
  }
  CULPRIT_ASSIGN(const std::string mounts, ReadFile("/proc/self/mounts"));
  const auto hierarchy = FindHierarchy(mounts, controller);
  if (!hierarchy) {
    return Error{fmt::format("no cgroup hierarchy with the controller {} is mounted", controller),
                 "mount cgroup2 on /sys/fs/cgroup"};
  }
  if (hierarchy->v2) {
    CULPRIT_ASSIGN(const std::string enabled,
                   ReadFile(hierarchy->mount + "/cgroup.subtree_control"));
    if (!HasWord(TrimBlanks(enabled), controller, ' ')) {
      return Error{
          fmt::format("the controller {} is not enabled for children of {}", controller,
                      hierarchy->mount),
          fmt::format("echo +{} > {}/cgroup.subtree_control", controller, hierarchy->mount)};
    }
  }
  return MakeIn(caretaker, *hierarchy);
}

std::optional<Cgroup> Cgroup::MakeForPressure(Caretaker& caretaker) {
  const auto mounts = ReadFile("/proc/self/mounts");
  if (!mounts) return std::nullopt;
  const auto hierarchy = FindHierarchy(*mounts, "no controller of v1");
  if (!hierarchy) return std::nullopt;
  auto made = MakeIn(caretaker, *hierarchy);
  if (!made) return std::nullopt;
  return std::move(made).value();
}

Status Cgroup::Set(std::string_view file, std::string_view value) const {
  return WriteControlFile(JoinPath(path_, file), value);
}

std::int64_t Cgroup::Number(std::string_view file, std::string_view key) const {
  const auto text = ReadFile(JoinPath(path_, file));
  if (!text) return 0;
  for (const std::string_view line : SplitLines(*text)) {
    const auto words = SplitWords(line);
    if (words.size() == 2 && words[0] == key)
      return ParseInteger<std::int64_t>(words[1]).value_or(0);
  }
  return 0;
}

std::optional<std::int64_t> Cgroup::SomePressureNs(std::string_view resource) const {
  const auto text = ReadFile(fmt::format("{}/{}.pressure", path_, resource));
  if (!text) return std::nullopt;
  for (const std::string_view line : SplitLines(*text)) {
    const std::size_t total = line.find("total=");
    if (!line.starts_with("some ") || total == std::string_view::npos) continue;
    const auto us = ParseInteger<std::int64_t>(line.substr(total + 6));
    if (us) return *us * 1'000;
  }
  return std::nullopt;
}

}  // namespace culprit::lab
