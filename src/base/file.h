// RAII owners of file descriptors and mappings, and whole-file reads and writes that retry EINTR.
// Nothing here knows what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace culprit {

// Owns one file descriptor; -1 is "none".
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC added. The Error names the path.
[[nodiscard]] Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode = 0);

// A nameless file in `directory` (O_TMPFILE, or made and unlinked where that is missing): whatever
// kills us, nothing is left behind.
[[nodiscard]] Result<UniqueFd> OpenNamelessFile(const std::string& directory);

// The whole of a file; works for /proc and /sys, whose st_size is no guide. An Error past
// `max_bytes`.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path,
                                           std::size_t max_bytes = std::size_t{1} << 30);

// Reads from offset 0 of an open file into `text`, keeping its capacity: for files polled often.
[[nodiscard]] Status ReadAgain(int fd, std::string_view name, std::string& text);

// Writes all bytes, through EINTR and short writes. `name` is for the Error.
[[nodiscard]] Status WriteAll(int fd, std::string_view bytes, std::string_view name);

// Opens (not creating), writes `text` in one write(2) and closes: for control files.
[[nodiscard]] Status WriteControlFile(const std::string& path, std::string_view text);

bool PathExists(const std::string& path);

// "a/b" of directory "a" and name "b"; an absolute name stays below the directory.
std::string JoinPath(std::string_view directory, std::string_view name);

// A read-only private mapping of a whole file; empty for an empty file.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  static Result<MappedFile> OfFd(int fd, std::string_view name);

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace culprit
