#include "profile/perf_data/record_stream.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "profile/perf_data/record_types.h"

namespace culprit::profile::perf_data {
namespace {

constexpr std::size_t kRecordHeaderBytes = 8;
// One compressed record holds at most 64 KB; what unpacks to more than this is no recording.
constexpr std::size_t kLargestUnpacked = std::size_t{64} << 20U;

struct RecordHeader {
  std::uint32_t type;
  std::uint16_t misc;
  std::uint16_t size;
};

RecordHeader ReadRecordHeader(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  RecordHeader header{};
  header.type = reader.Read<std::uint32_t>();
  header.misc = reader.Read<std::uint16_t>();
  header.size = reader.Read<std::uint16_t>();
  return header;
}

}  // namespace

struct RecordStream::Decompressor {
  ZSTD_DStream* stream = ZSTD_createDStream();
  Decompressor() { ZSTD_initDStream(stream); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { ZSTD_freeDStream(stream); }
};

RecordStream::RecordStream(std::span<const std::byte> bytes) : bytes_(bytes) {}
RecordStream::~RecordStream() = default;

void RecordStream::Damaged(std::string what) {
  damage_ = fmt::format("{} at byte {}: what follows is not read", what, position_);
  position_ = bytes_.size();
}

std::optional<Record> RecordStream::NextUnpacked() {
  if (blocks_.empty()) return std::nullopt;
  const std::span<const std::byte> block = blocks_.back();
  const std::span<const std::byte> rest = block.subspan(in_block_);
  if (rest.size() < kRecordHeaderBytes) return std::nullopt;
  const RecordHeader header = ReadRecordHeader(rest);
  if (header.size < kRecordHeaderBytes) {
    in_block_ = block.size();
    Damaged("a compressed record holds one without a size");
    return std::nullopt;
  }
  if (header.size > rest.size()) return std::nullopt;  // the next compressed record has the rest
  in_block_ += header.size;
  return Record{header.type, header.misc,
                rest.subspan(kRecordHeaderBytes, header.size - kRecordHeaderBytes), block_number()};
}

void RecordStream::Unpack(std::span<const std::byte> packed) {
  if (decompressor_ == nullptr) decompressor_ = std::make_unique<Decompressor>();
  std::vector<std::byte> out;
  std::size_t used = 0;
  if (!blocks_.empty()) {
    const auto& last = blocks_.back();
    out.assign(last.begin() + static_cast<std::ptrdiff_t>(in_block_), last.end());
    used = out.size();
  }
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  while (input.pos < input.size || used == out.size()) {
    if (used == out.size()) out.resize(std::max<std::size_t>(out.size() * 2, 128 * 1024));
    if (used > kLargestUnpacked) return Damaged("a compressed record unpacks to too much");
    ZSTD_outBuffer output{out.data(), out.size(), used};
    const std::size_t before = input.pos;
    const std::size_t status = ZSTD_decompressStream(decompressor_->stream, &output, &input);
    if (ZSTD_isError(status) != 0) return Damaged("a damaged compressed record");
    if (input.pos == before && output.pos == used) break;
    used = output.pos;
  }
  out.resize(used);
  blocks_.push_back(std::move(out));
  in_block_ = 0;
}

std::optional<Record> RecordStream::Next() {
  while (true) {
    if (auto record = NextUnpacked()) return record;
    const std::size_t left = bytes_.size() - position_;
    if (left == 0) return std::nullopt;
    if (left < kRecordHeaderBytes) {
      Damaged("the data ends within a record");
      return std::nullopt;
    }
    const RecordHeader header = ReadRecordHeader(bytes_.subspan(position_, kRecordHeaderBytes));
    if (header.size < kRecordHeaderBytes) {
      Damaged("a record without a size");
      return std::nullopt;
    }
    if (header.size > left) {
      Damaged("the data ends within a record");
      return std::nullopt;
    }
    const auto body =
        bytes_.subspan(position_ + kRecordHeaderBytes, header.size - kRecordHeaderBytes);
    position_ += header.size;
    // These two have more behind them than their size says.
    std::uint64_t behind = 0;
    if (header.type == kRecordTracingData) {
      behind = (static_cast<std::uint64_t>(ReadIntegerAt(body, 0, 4, false)) + 7) / 8 * 8;
    } else if (header.type == kRecordAuxtrace) {
      behind = static_cast<std::uint64_t>(ReadIntegerAt(body, 0, 8, false));
    }
    if (behind > bytes_.size() - position_) {
      Damaged("the data ends within a record");
      return std::nullopt;
    }
    position_ += behind;
    if (header.type == kRecordCompressed) {
      Unpack(body);
      continue;
    }
    if (header.type == kRecordCompressed2) {
      const auto size = static_cast<std::uint64_t>(ReadIntegerAt(body, 0, 8, false));
      if (body.size() >= 8) Unpack(body.subspan(8, std::min<std::uint64_t>(size, body.size() - 8)));
      continue;
    }
    return Record{header.type, header.misc, body, block_number()};
  }
}

void RecordStream::Release(std::uint64_t block) {
  while (blocks_.size() > 1 && first_block_ < block) {
    blocks_.pop_front();
    ++first_block_;
  }
}

}  // namespace culprit::profile::perf_data
