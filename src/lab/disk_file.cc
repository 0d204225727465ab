#include "lab/disk_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace culprit::lab {
namespace {

constexpr std::uint64_t kPiece = 1U << 20;

}  // namespace

std::optional<DiskFile> DiskFile::Make(Actor& actor, const std::string& folder,
                                       std::uint64_t number, std::uint64_t bytes) {
  auto fd = OpenFile(fmt::format("{}/file.{}", folder, number), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!fd) {
    actor.Fail(fd.error());
    return std::nullopt;
  }
  DiskFile file(actor, std::move(fd).value());
  file.buffer_.assign(kPiece, 'x');
  posix_fadvise(file.fd_.get(), 0, 0, POSIX_FADV_RANDOM);
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    file.Write(at, std::min(kPiece, bytes - at));
  }
  file.Sync();
  return file;
}

void DiskFile::Failed(const char* call) const {
  actor_->Fail(ErrnoError(call, "the scenario's file", errno));
}

void DiskFile::Write(std::uint64_t at, std::uint64_t bytes) const {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t size = std::min<std::uint64_t>(bytes - done, buffer_.size());
    const ssize_t wrote = pwrite(fd_.get(), buffer_.data(), size, static_cast<off_t>(at + done));
    if (wrote <= 0) return Failed("write");
    done += static_cast<std::uint64_t>(wrote);
  }
}

void DiskFile::Read(std::uint64_t at, std::uint64_t bytes) const {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t size = std::min<std::uint64_t>(bytes - done, buffer_.size());
    const ssize_t got = pread(fd_.get(), buffer_.data(), size, static_cast<off_t>(at + done));
    if (got <= 0) return Failed("read");
    done += static_cast<std::uint64_t>(got);
  }
}

void DiskFile::Sync() const {
  if (fsync(fd_.get()) != 0) Failed("fsync");
}

void DiskFile::Forget(std::uint64_t at, std::uint64_t bytes) const {
  posix_fadvise(fd_.get(), static_cast<off_t>(at), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

}  // namespace culprit::lab
