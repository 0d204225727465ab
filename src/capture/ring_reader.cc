#include "capture/ring_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace culprit::capture {
namespace {

constexpr int kWantedPipeBytes = 1 << 20;

bool IsDiskFull(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

// What a ring without a page to give says; EIO and ENODEV come from a CPU that never was online.
bool IsNothingThere(int error_number) {
  return error_number == EAGAIN || error_number == ENODEV || error_number == EIO;
}

}  // namespace

Result<RingReader> RingReader::Open(const kernel::TraceDirectory& instance, int cpu,
                                    std::uint32_t page_bytes) {
  RingReader reader;
  reader.cpu_ = cpu;
  reader.page_bytes_ = page_bytes;
  reader.page_.resize(page_bytes);
  const std::string name = kernel::TraceDirectory::CpuFile(cpu, "trace_pipe_raw");
  CULPRIT_ASSIGN(reader.raw_, OpenFile(instance.PathOf(name), O_RDONLY | O_NONBLOCK));
  int fds[2];
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoError("make a pipe", "", errno);
  reader.pipe_read_.Reset(fds[0]);
  reader.pipe_write_.Reset(fds[1]);
  // Over the user's share of pipe memory the kernel refuses; the default size works as well.
  static_cast<void>(fcntl(fds[1], F_SETPIPE_SZ, kWantedPipeBytes));
  const int size = fcntl(fds[1], F_GETPIPE_SZ);
  // One pipe slot holds one sub-buffer, whatever its size: a slot a system page.
  const auto slots = static_cast<std::size_t>(std::max(size, 1 << 16)) /
                     static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  reader.pipe_bytes_ = slots * page_bytes;
  return reader;
}

Result<RingReader::Outcome> RingReader::MoveFullPages(SpoolFile& spool) {
  for (;;) {
    const ssize_t got = splice(raw_.get(), nullptr, pipe_write_.get(), nullptr, pipe_bytes_,
                               SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && !IsNothingThere(errno)) {
      return ErrnoError("splice", "trace_pipe_raw of CPU " + std::to_string(cpu_), errno);
    }
    if (got <= 0) return Outcome::kEmpty;
    CULPRIT_ASSIGN(const Outcome outcome, PipeToSpool(spool, static_cast<std::size_t>(got)));
    if (outcome == Outcome::kSpoolFull) return outcome;
  }
}

Result<RingReader::Outcome> RingReader::PipeToSpool(SpoolFile& spool, std::size_t bytes) {
  auto offset = static_cast<loff_t>(spool.bytes);
  int error_number = 0;
  while (bytes > 0 && error_number == 0) {
    ssize_t wrote;
    if (copies_) {
      wrote = read(pipe_read_.get(), page_.data(), std::min<std::size_t>(bytes, page_.size()));
      if (wrote > 0) {
        wrote = pwrite(spool.fd.get(), page_.data(), static_cast<std::size_t>(wrote), offset);
        if (wrote > 0) offset += wrote;
      }
    } else {
      wrote = splice(pipe_read_.get(), nullptr, spool.fd.get(), &offset, bytes, SPLICE_F_MOVE);
    }
    if (wrote > 0) {
      bytes -= static_cast<std::size_t>(wrote);
    } else if (wrote < 0 && errno == EINVAL && !copies_) {
      copies_ = true;
    } else if (wrote == 0 || errno != EINTR) {
      error_number = wrote == 0 ? ENOSPC : errno;
    }
  }
  const auto end = static_cast<std::uint64_t>(offset);
  spool.bytes = end - end % page_bytes_;
  if (error_number == 0) return Outcome::kEmpty;
  if (!IsDiskFull(error_number)) return ErrnoError("write", "the spool file", error_number);
  if (ftruncate(spool.fd.get(), static_cast<off_t>(spool.bytes)) != 0) {
    return ErrnoError("cut", "the spool file", errno);
  }
  // What the pipe still holds has no place to go.
  while (read(pipe_read_.get(), page_.data(), page_.size()) > 0) {
  }
  return Outcome::kSpoolFull;
}

Result<RingReader::Outcome> RingReader::MoveOpenPage(SpoolFile& spool) {
  ssize_t got;
  do {
    got = read(raw_.get(), page_.data(), page_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && !IsNothingThere(errno)) {
    return ErrnoError("read", "trace_pipe_raw of CPU " + std::to_string(cpu_), errno);
  }
  if (got <= 0) return Outcome::kEmpty;
  // The spool holds whole pages; beyond the committed length the decoder does not look.
  std::fill(page_.begin() + got, page_.end(), '\0');
  std::size_t done = 0;
  while (done < page_.size()) {
    const ssize_t wrote = pwrite(spool.fd.get(), page_.data() + done, page_.size() - done,
                                 static_cast<off_t>(spool.bytes + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      if (wrote < 0 && !IsDiskFull(errno)) return ErrnoError("write", "the spool file", errno);
      static_cast<void>(ftruncate(spool.fd.get(), static_cast<off_t>(spool.bytes)));
      return Outcome::kSpoolFull;
    }
    done += static_cast<std::size_t>(wrote);
  }
  spool.bytes += page_bytes_;
  return Outcome::kEmpty;
}

Result<RingReader::Outcome> RingReader::MoveAll(SpoolFile& spool) {
  for (;;) {
    CULPRIT_ASSIGN(Outcome outcome, MoveFullPages(spool));
    if (outcome == Outcome::kSpoolFull) return outcome;
    const std::uint64_t before = spool.bytes;
    CULPRIT_ASSIGN(outcome, MoveOpenPage(spool));
    if (outcome == Outcome::kSpoolFull || spool.bytes == before) return outcome;
  }
}

}  // namespace culprit::capture
