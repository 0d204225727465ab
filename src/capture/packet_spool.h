// What a recording writes in trace format while it runs (process scans, polls): framed packets in a
// nameless file, to be copied into the trace file after the stop. With a limit it is a ring: the
// oldest packets go, except those that the others need. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"
#include "tracefile/writer.h"

namespace culprit::capture {

class PacketSpool {
 public:
  // `max_bytes` 0: no limit.
  static Result<std::unique_ptr<PacketSpool>> Create(const std::string& directory,
                                                     std::uint64_t max_bytes);

  // One serialised TracePacket. What the disk has no room for is counted, not an Error: a poll that
  // fails must not end the recording.
  void Append(std::string_view packet);
  // One that is kept whatever the limit: descriptors of tracks, the process tree at the start.
  void AppendLasting(std::string_view packet);

  std::uint64_t bytes() const;
  std::uint64_t dropped_packets() const;

  // All packets to the trace file: the lasting ones first, then the others in their order.
  [[nodiscard]] Status CopyTo(tracefile::TraceWriter& writer);

 private:
  explicit PacketSpool(UniqueFd fd, std::uint64_t max_bytes)
      : fd_(std::move(fd)), max_bytes_(max_bytes) {}
  void FlushBlock();

  struct Block {  // whole frames in the file
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t packets;
  };

  mutable std::mutex mutex_;
  UniqueFd fd_;
  std::uint64_t max_bytes_;
  std::string lasting_;
  std::string block_;  // not yet in the file
  std::uint64_t block_packets_ = 0;
  std::deque<Block> blocks_;
  std::uint64_t end_ = 0;          // of the file
  std::uint64_t block_bytes_ = 0;  // of the blocks in the file
  std::uint64_t dropped_ = 0;      // for want of room
};

}  // namespace culprit::capture
