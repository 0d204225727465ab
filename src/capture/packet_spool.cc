#include "capture/packet_spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace culprit::capture {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

}  // namespace

Result<std::unique_ptr<PacketSpool>> PacketSpool::Create(const std::string& directory,
                                                         std::uint64_t max_bytes) {
  CULPRIT_ASSIGN(UniqueFd fd, OpenNamelessFile(directory));
  return std::unique_ptr<PacketSpool>(new PacketSpool(std::move(fd), max_bytes));
}

void PacketSpool::Append(std::string_view packet) {
  const std::lock_guard lock(mutex_);
  tracefile::AppendFrame(block_, packet);
  ++block_packets_;
  if (block_.size() >= kBlockBytes) FlushBlock();
}

void PacketSpool::AppendLasting(std::string_view packet) {
  const std::lock_guard lock(mutex_);
  tracefile::AppendFrame(lasting_, packet);
}

void PacketSpool::FlushBlock() {
  if (block_.empty()) return;
  std::size_t done = 0;
  while (done < block_.size()) {
    const ssize_t wrote = pwrite(fd_.get(), block_.data() + done, block_.size() - done,
                                 static_cast<off_t>(end_ + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (done == block_.size()) {
    blocks_.push_back({end_, done, block_packets_});
    end_ += done;
    block_bytes_ += done;
  } else {
    dropped_ += block_packets_;
    static_cast<void>(ftruncate(fd_.get(), static_cast<off_t>(end_)));
  }
  block_.clear();
  block_packets_ = 0;
  while (max_bytes_ > 0 && block_bytes_ > max_bytes_ && !blocks_.empty()) {
    const Block oldest = blocks_.front();
    blocks_.pop_front();
    block_bytes_ -= oldest.size;
    // A file system without holes keeps the bytes; they are never read again.
    static_cast<void>(fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(oldest.offset),
                                static_cast<off_t>(oldest.size)));
  }
}

std::uint64_t PacketSpool::bytes() const {
  const std::lock_guard lock(mutex_);
  return lasting_.size() + block_bytes_ + block_.size();
}

std::uint64_t PacketSpool::dropped_packets() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

Status PacketSpool::CopyTo(tracefile::TraceWriter& writer) {
  const std::lock_guard lock(mutex_);
  CULPRIT_TRY(writer.AppendFramed(lasting_));
  std::string text;
  for (const Block& block : blocks_) {
    text.resize(block.size);
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t got = pread(fd_.get(), text.data() + done, text.size() - done,
                                static_cast<off_t>(block.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return ErrnoError("read", "the packet spool", got < 0 ? errno : EIO);
      done += static_cast<std::size_t>(got);
    }
    CULPRIT_TRY(writer.AppendFramed(text));
  }
  return writer.AppendFramed(block_);
}

}  // namespace culprit::capture
