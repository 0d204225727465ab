#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace culprit {

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoError("open", path, errno);
  return UniqueFd(fd);
}

Result<UniqueFd> OpenNamelessFile(const std::string& directory) {
  int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return UniqueFd(fd);
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT) {
    return ErrnoError("open a temporary file in", directory, errno);
  }
  std::string path = JoinPath(directory, ".culprit-XXXXXX");
  fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return ErrnoError("open a temporary file in", directory, errno);
  unlink(path.c_str());
  return UniqueFd(fd);
}

namespace {

// Reads fd to its end, from offset 0 with pread or from the file position.
Status ReadToEnd(int fd, std::string_view name, bool from_start, std::size_t max_bytes,
                 std::string& text) {
  constexpr std::size_t kFirstRead = 4096;
  if (text.capacity() < kFirstRead) text.reserve(kFirstRead);
  std::size_t used = 0;
  for (;;) {
    text.resize(used < text.capacity() ? text.capacity() : text.capacity() * 2);
    const std::size_t room = text.size() - used;
    const ssize_t got = from_start ? pread(fd, text.data() + used, room, static_cast<off_t>(used))
                                   : read(fd, text.data() + used, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error_number = errno;
      text.clear();
      return ErrnoError("read", name, error_number);
    }
    used += static_cast<std::size_t>(got);
    if (used > max_bytes) {
      text.clear();
      return Error{
          "read " + std::string(name) + ": larger than " + std::to_string(max_bytes) + " bytes",
          ""};
    }
    if (got == 0) {
      text.resize(used);
      return {};
    }
  }
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  CULPRIT_ASSIGN(UniqueFd fd, OpenFile(path, O_RDONLY));
  std::string text;
  CULPRIT_TRY(ReadToEnd(fd.get(), path, false, max_bytes, text));
  return text;
}

Status ReadAgain(int fd, std::string_view name, std::string& text) {
  return ReadToEnd(fd, name, true, std::size_t{1} << 30, text);
}

Status WriteAll(int fd, std::string_view bytes, std::string_view name) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return ErrnoError("write", name, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status WriteControlFile(const std::string& path, std::string_view text) {
  CULPRIT_ASSIGN(UniqueFd fd, OpenFile(path, O_WRONLY));
  ssize_t wrote;
  do {
    wrote = write(fd.get(), text.data(), text.size());
  } while (wrote < 0 && errno == EINTR);
  if (wrote < 0) return ErrnoError("write", path, errno);
  if (static_cast<std::size_t>(wrote) != text.size()) return ErrnoError("write", path, EIO);
  return {};
}

bool PathExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string JoinPath(std::string_view directory, std::string_view name) {
  while (!name.empty() && name.front() == '/') name.remove_prefix(1);
  std::string path(directory);
  if (!path.empty() && path.back() != '/' && !name.empty()) path.push_back('/');
  return path.append(name);
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  CULPRIT_ASSIGN(UniqueFd fd, OpenFile(path, O_RDONLY));
  return OfFd(fd.get(), path);
}

Result<MappedFile> MappedFile::OfFd(int fd, std::string_view name) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoError("stat", name, errno);
  if (S_ISDIR(info.st_mode)) return ErrnoError("read", name, EISDIR);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return ErrnoError("mmap", name, errno);
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace culprit
