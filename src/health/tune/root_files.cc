#include "health/tune/root_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/text.h"

namespace culprit::tune {
namespace {

constexpr std::size_t kLargestFile = std::size_t{4} << 20;
constexpr std::size_t kMostNames = 100'000;

struct PathParts {
  std::string directory;
  std::string name;
};

PathParts SplitPath(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// One fixed name, so that a killed run leaves at most one and the next run takes it over.
std::string TemporaryName(const std::string& name) { return "." + name + ".culprit-new"; }

int RetryRead(int fd, std::string& text) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kLargestFile) return EFBIG;
  }
}

}  // namespace

bool FileText::absent() const { return error_number == ENOENT || error_number == ENOTDIR; }

Result<RootFiles> RootFiles::Open(const std::string& root) {
  if (root.empty() || root == "/") return RootFiles(UniqueFd(), "/");
  auto fd = OpenFile(root, O_PATH | O_DIRECTORY);
  if (!fd.ok()) {
    return Error{fd.error().what, "--root takes the directory that holds proc, sys and etc"};
  }
  return RootFiles(std::move(fd).value(), root);
}

int RootFiles::OpenRaw(const std::string& path, int flags, unsigned mode) const {
  for (;;) {
    long fd;
    if (live()) {
      fd = openat(AT_FDCWD, path.c_str(), flags | O_CLOEXEC, mode);
    } else {
      open_how how{};
      how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
      how.mode = (flags & O_CREAT) != 0 ? mode : 0;
      how.resolve = RESOLVE_IN_ROOT;
      fd = syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how));
    }
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EINTR && errno != EAGAIN) return -errno;
  }
}

FileText RootFiles::Read(const std::string& path) const {
  // O_NONBLOCK: a FIFO opens at once instead of waiting for its writer.
  const int raw = OpenRaw(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (raw < 0) return {"", -raw};
  const UniqueFd fd(raw);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return {"", errno};
  if (S_ISDIR(info.st_mode)) return {"", EISDIR};
  if (!S_ISREG(info.st_mode)) return {"", EINVAL};
  FileText result;
  result.error_number = RetryRead(fd.get(), result.text);
  if (!result.ok()) result.text.clear();
  return result;
}

bool RootFiles::Exists(const std::string& path) const {
  const int fd = OpenRaw(path, O_PATH);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

int RootFiles::WhyNotWritable(const std::string& path) const {
  const int raw = OpenRaw(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  if (raw < 0) return -raw;
  const UniqueFd fd(raw);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return errno;
  return S_ISREG(info.st_mode) ? 0 : EINVAL;
}

int RootFiles::WriteValue(const std::string& path, std::string_view text) const {
  const int raw = OpenRaw(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  if (raw < 0) return -raw;
  const UniqueFd fd(raw);
  struct stat info {};
  struct statfs system {};
  if (fstat(fd.get(), &info) != 0 || fstatfs(fd.get(), &system) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  // A plain file of a captured tree is replaced: emptied and written it could be killed in between.
  if (system.f_type != PROC_SUPER_MAGIC && system.f_type != SYSFS_MAGIC) {
    return ReplaceFile(path, text, info.st_mode & 07777).ok() ? 0 : EIO;
  }
  ssize_t wrote;
  do {
    wrote = write(fd.get(), text.data(), text.size());
  } while (wrote < 0 && errno == EINTR);
  if (wrote < 0) return errno;
  return static_cast<std::size_t>(wrote) == text.size() ? 0 : EIO;
}

Status RootFiles::MakeDirectories(const std::string& path) const {
  std::string made = "/";
  for (const auto part : Split(path, '/')) {
    if (part.empty()) continue;
    const int raw = OpenRaw(made, O_RDONLY | O_DIRECTORY);
    if (raw < 0) return ErrnoError("open", Shown(made), -raw);
    const UniqueFd parent(raw);
    made = JoinPath(made, part);
    if (mkdirat(parent.get(), std::string(part).c_str(), 0755) != 0 && errno != EEXIST) {
      return ErrnoError("mkdir", Shown(made), errno);
    }
  }
  return {};
}

Result<UniqueFd> RootFiles::OpenDirectory(const std::string& path) const {
  const int raw = OpenRaw(path, O_RDONLY | O_DIRECTORY);
  if (raw < 0) return ErrnoError("open", Shown(path), -raw);
  return UniqueFd(raw);
}

Status RootFiles::ReplaceFile(const std::string& path, std::string_view text, unsigned mode) const {
  const PathParts parts = SplitPath(path);
  CULPRIT_TRY(MakeDirectories(parts.directory));
  CULPRIT_ASSIGN(const UniqueFd directory, OpenDirectory(parts.directory));
  const std::string temporary = TemporaryName(parts.name);
  unlinkat(directory.get(), temporary.c_str(), 0);
  const UniqueFd file(openat(directory.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file.valid()) return ErrnoError("create a file beside", Shown(path), errno);
  const auto finish = [&]() -> Status {
    if (fchmod(file.get(), mode) != 0) return ErrnoError("chmod", Shown(path), errno);
    CULPRIT_TRY(WriteAll(file.get(), text, Shown(path)));
    if (fsync(file.get()) != 0) return ErrnoError("fsync", Shown(path), errno);
    if (renameat(directory.get(), temporary.c_str(), directory.get(), parts.name.c_str()) != 0) {
      return ErrnoError("rename to", Shown(path), errno);
    }
    if (fsync(directory.get()) != 0 && errno != EINVAL) {
      return ErrnoError("fsync", Shown(parts.directory), errno);
    }
    return {};
  };
  const Status status = finish();
  if (!status.ok()) unlinkat(directory.get(), temporary.c_str(), 0);
  return status;
}

Status RootFiles::RemoveFile(const std::string& path) const {
  const PathParts parts = SplitPath(path);
  CULPRIT_ASSIGN(const UniqueFd directory, OpenDirectory(parts.directory));
  unlinkat(directory.get(), TemporaryName(parts.name).c_str(), 0);
  if (unlinkat(directory.get(), parts.name.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoError("remove", Shown(path), errno);
  }
  fsync(directory.get());
  return {};
}

std::vector<std::string> RootFiles::List(const std::string& path) const {
  std::vector<std::string> names;
  const int raw = OpenRaw(path, O_RDONLY | O_DIRECTORY);
  if (raw < 0) return names;
  DIR* opened = fdopendir(raw);
  if (opened == nullptr) {
    close(raw);
    return names;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opened, closedir);
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMostNames) break;
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string RootFiles::LinkTarget(const std::string& path) const {
  const int raw = OpenRaw(path, O_PATH | O_NOFOLLOW);
  if (raw < 0) return "";
  const UniqueFd fd(raw);
  std::array<char, 4096> target;
  const ssize_t length = readlinkat(fd.get(), "", target.data(), target.size());
  return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

std::vector<std::string> RootFiles::Match(const std::string& pattern) const {
  std::vector<std::string> found = {"/"};
  for (const auto part : Split(pattern, '/')) {
    if (part.empty()) continue;
    std::vector<std::string> next;
    for (const std::string& base : found) {
      if (part.find_first_of("*?[") == part.npos) {
        next.push_back(JoinPath(base, part));
        continue;
      }
      const std::string glob(part);
      for (const std::string& name : List(base)) {
        if (fnmatch(glob.c_str(), name.c_str(), 0) == 0) next.push_back(JoinPath(base, name));
      }
    }
    found = std::move(next);
  }
  std::erase_if(found, [this](const std::string& path) { return !Exists(path); });
  std::ranges::sort(found, [](const std::string& a, const std::string& b) {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return found;
}

}  // namespace culprit::tune
