#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace culprit {
namespace {

std::string TemporaryName(const std::string& path, int attempt) {
  return path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(attempt);
}

bool IsSpecial(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temporary_path, UniqueFd fd)
    : path_(std::move(path)), temporary_path_(std::move(temporary_path)), fd_(std::move(fd)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      fd_(std::move(other.fd_)),
      direct_(other.direct_) {}

AtomicFile::~AtomicFile() {
  if (!direct_ && !temporary_path_.empty()) unlink(temporary_path_.c_str());
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, unsigned mode) {
  if (IsSpecial(path)) {
    CULPRIT_ASSIGN(auto fd, OpenFile(path, O_WRONLY));
    AtomicFile file(path, path, std::move(fd));
    file.direct_ = true;
    return file;
  }
  for (int attempt = 0;; ++attempt) {
    const std::string name = TemporaryName(path, attempt);
    UniqueFd fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (fd.valid()) return AtomicFile(path, name, std::move(fd));
    if (errno != EEXIST || attempt == 100) return ErrnoError("create", path, errno);
  }
}

Result<AtomicFile> AtomicFile::ReserveName(const std::string& path) {
  if (IsSpecial(path)) return Error{"create " + path + ": it is not a file", "name another"};
  // Made and removed again: an unwritable folder is better known before the work than after it.
  CULPRIT_ASSIGN(auto file, Create(path));
  file.fd_.Reset();
  if (unlink(file.temporary_path_.c_str()) != 0) return ErrnoError("remove", path, errno);
  return file;
}

Status AtomicFile::Commit() {
  if (direct_) return {};
  fd_.Reset();
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return ErrnoError("rename to", path_, errno);
  }
  temporary_path_.clear();
  return {};
}

}  // namespace culprit
