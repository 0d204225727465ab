#include "health/texts.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/file.h"

namespace culprit::health {

const Text* Texts::Find(std::string_view path) const {
  const auto at = files_.find(path);
  return at == files_.end() ? nullptr : &at->second;
}

std::string_view Texts::Get(std::string_view path) const {
  const Text* found = Find(path);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

bool Texts::Has(std::string_view path) const {
  const Text* found = Find(path);
  return found != nullptr && found->error_number == 0;
}

std::string Texts::Reason(std::string_view path) const {
  const Text* found = Find(path);
  const int error_number = found == nullptr ? ENOENT : found->error_number;
  if (error_number == 0) return "";
  return std::string(path) + ": " + std::generic_category().message(error_number);
}

bool Texts::Denied(std::string_view path) const {
  const Text* found = Find(path);
  return found != nullptr && (found->error_number == EACCES || found->error_number == EPERM);
}

Text ReadText(const std::string& root, std::string_view path) {
  const std::string full = root.empty() ? std::string(path) : JoinPath(root, path);
  Text text;
  int fd;
  // O_NONBLOCK: a fifo in a captured tree must not hold us; regular and /proc files ignore it.
  do {
    fd = open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    text.error_number = errno;
    return text;
  }
  const UniqueFd owner(fd);
  std::size_t used = 0;
  std::size_t room = 1024;
  while (used < kMostFileBytes) {
    text.text.resize(used + room);
    const ssize_t got = read(fd, text.text.data() + used, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      text.error_number = errno;
      text.text.clear();
      return text;
    }
    used += static_cast<std::size_t>(got);
    // An attribute of sysfs comes whole in one read.
    const bool attribute = path.starts_with("/sys/") && !path.starts_with("/sys/fs/") &&
                           static_cast<std::size_t>(got) < room;
    if (got == 0 || attribute) break;
    room = std::max<std::size_t>(4096, used);
  }
  text.text.resize(std::min(used, kMostFileBytes));
  text.text.shrink_to_fit();
  return text;
}

std::vector<std::string> ListFolder(const std::string& path, int* error_number) {
  std::vector<std::string> names;
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) {
    if (error_number != nullptr) *error_number = errno;
    return names;
  }
  if (error_number != nullptr) *error_number = 0;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(folder);
  std::ranges::sort(names);
  return names;
}

namespace {

// "eth*" or "*_count" or "*": one star in a name.
bool NameMatches(std::string_view name, std::string_view pattern) {
  const auto star = pattern.find('*');
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

void Expand(const std::string& root, const std::string& done, std::string_view rest,
            std::vector<std::string>& found) {
  const auto star = rest.find('*');
  if (star == rest.npos) {
    found.push_back(done + std::string(rest));
    return;
  }
  const auto slash = rest.rfind('/', star);
  const auto next = rest.find('/', star);
  const std::string folder = done + std::string(rest.substr(0, slash));
  const std::string_view pattern =
      rest.substr(slash + 1, next == rest.npos ? rest.npos : next - slash - 1);
  const std::string_view behind = next == rest.npos ? std::string_view() : rest.substr(next);
  for (const std::string& name : ListFolder(root + folder)) {
    if (!NameMatches(name, pattern)) continue;
    Expand(root, folder + "/" + name, behind, found);
  }
}

}  // namespace

std::vector<std::string> ExpandPattern(const std::string& root, std::string_view pattern) {
  std::vector<std::string> found;
  Expand(root == "/" ? "" : root, "", pattern, found);
  return found;
}

}  // namespace culprit::health
