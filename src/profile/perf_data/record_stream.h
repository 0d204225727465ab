// RecordStream: the records of perf.data one after the other, those in compressed records (zstd)
// too. Checks sizes, not contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace culprit::profile::perf_data {

struct Record {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::span<const std::byte> body;  // behind the header of 8 bytes
  std::uint64_t block = 0;          // see RecordStream::Release
};

class RecordStream {
 public:
  // `bytes` outlives the stream.
  explicit RecordStream(std::span<const std::byte> bytes);
  ~RecordStream();

  // Nothing at the end, or where the bytes stop making sense: then `damage` says where.
  std::optional<Record> Next();
  const std::string& damage() const { return damage_; }
  // How far in `bytes` it is.
  std::size_t position() const { return position_; }

  // Records of blocks before `block` are no longer looked at: unpacked ones are freed.
  void Release(std::uint64_t block);
  // The number of the block that the newest record may lie in.
  std::uint64_t block_number() const { return first_block_ + blocks_.size() - 1; }

 private:
  struct Decompressor;
  std::optional<Record> NextUnpacked();
  void Unpack(std::span<const std::byte> packed);
  void Damaged(std::string what);

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::string damage_;
  std::unique_ptr<Decompressor> decompressor_;
  // Unpacked bytes, whole records each; the unfinished rest goes to the front of the next one.
  std::deque<std::vector<std::byte>> blocks_;
  std::uint64_t first_block_ = 0;
  std::size_t in_block_ = 0;  // position in the last one
};

}  // namespace culprit::profile::perf_data
