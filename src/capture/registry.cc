#include "capture/registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"

namespace culprit::capture {
namespace {

constexpr std::string_view kSuffix = ".json";

// Makes `path` if needed; only a directory that is ours alone to write will do, since /tmp is
// everybody's.
Status UsePrivateDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoError("make", path, errno);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return ErrnoError("stat", path, errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return Error{path + " is not a directory that belongs to this user alone", "remove it"};
  }
  return {};
}

std::vector<std::string> Places() {
  std::vector<std::string> places;
  if (geteuid() == 0) places.emplace_back("/run/culprit");
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/') {
    places.push_back(std::string(runtime) + "/culprit");
  }
  places.push_back("/tmp/culprit-" + std::to_string(geteuid()));
  return places;
}

std::string ToJson(const RegistryEntry& entry) {
  const nlohmann::json json = {{"pid", entry.recorder.pid},
                               {"start_ticks", entry.recorder.start_ticks},
                               {"since_unix_s", entry.since_unix_s},
                               {"instance", entry.instance},
                               {"output", entry.output},
                               {"rotates", entry.rotates},
                               {"files", entry.files},
                               {"lost_events", entry.lost_events},
                               {"state", entry.state},
                               {"error", entry.error}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<RegistryEntry> FromJson(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  RegistryEntry entry;
  const auto get = [&json](const char* key, auto& value) {
    const auto it = json.find(key);
    using Value = std::remove_reference_t<decltype(value)>;
    if (it == json.end()) return;
    if constexpr (std::is_same_v<Value, std::string>) {
      if (it->is_string()) value = it->template get<std::string>();
    } else if constexpr (std::is_same_v<Value, bool>) {
      if (it->is_boolean()) value = it->template get<bool>();
    } else {
      if (it->is_number_integer()) value = it->template get<Value>();
    }
  };
  get("pid", entry.recorder.pid);
  get("start_ticks", entry.recorder.start_ticks);
  get("since_unix_s", entry.since_unix_s);
  get("instance", entry.instance);
  get("output", entry.output);
  get("rotates", entry.rotates);
  get("files", entry.files);
  get("lost_events", entry.lost_events);
  get("state", entry.state);
  get("error", entry.error);
  if (entry.recorder.pid <= 0) return std::nullopt;
  return entry;
}

}  // namespace

Result<Registry> Registry::Open(const std::string& directory) {
  std::vector<std::string> places = Places();
  if (!directory.empty()) places = {directory};
  Error last;
  for (const std::string& place : places) {
    const Status usable = UsePrivateDirectory(place);
    if (usable) return Registry(place);
    last = usable.error();
  }
  return last;
}

std::string Registry::PathOf(std::int32_t pid) const {
  return JoinPath(directory_, std::to_string(pid) + std::string(kSuffix));
}

Status Registry::Put(const RegistryEntry& entry) const {
  const std::string path = PathOf(entry.recorder.pid);
  const std::string temporary = path + ".new";
  {
    CULPRIT_ASSIGN(const UniqueFd fd,
                   OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
    if (const Status wrote = WriteAll(fd.get(), ToJson(entry), temporary); !wrote) {
      unlink(temporary.c_str());
      return wrote.error();
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoError("rename", path, errno);
  return {};
}

void Registry::Remove(std::int32_t pid) const { unlink(PathOf(pid).c_str()); }

std::vector<RegistryEntry> Registry::List() const {
  std::vector<RegistryEntry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(directory_.c_str()), closedir);
  while (const dirent* found = folder ? readdir(folder.get()) : nullptr) {
    const std::string_view name = found->d_name;
    if (!name.ends_with(kSuffix)) continue;
    const auto text = ReadFile(JoinPath(directory_, name));
    const auto entry = text ? FromJson(*text) : std::nullopt;
    if (!entry) continue;
    if (entry->state == "failed" || kernel::IsAlive(entry->recorder)) {
      entries.push_back(*entry);
    } else {
      Remove(entry->recorder.pid);
    }
  }
  std::ranges::sort(entries, {}, [](const RegistryEntry& entry) {
    return std::pair(entry.since_unix_s, entry.recorder.pid);
  });
  return entries;
}

}  // namespace culprit::capture
