// ProtoReader: walks the fields of one protobuf message in memory, bounds-checked and without
// exceptions or allocations (protozero throws at each malformed field, and a trace is untrusted
// input). Knows wire types only; what a field means is the caller's business.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace culprit::tracefile {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One varint at `at`; returns the byte behind it, or nullptr when it is cut off or too long.
inline const char* ReadVarint(const char* at, const char* end, std::uint64_t& value) {
  if (at < end && static_cast<std::uint8_t>(*at) < 0x80) [[likely]] {
    value = static_cast<std::uint8_t>(*at);
    return at + 1;
  }
  std::uint64_t result = 0;
  for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*at++);
    result |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      value = result;
      return at;
    }
  }
  return nullptr;
}

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  // Steps to the next field; false at the end and at a malformed field (then ok() is false).
  bool Next() {
    if (at_ == end_) return false;
    std::uint64_t tag;
    const char* next = ReadVarint(at_, end_, tag);
    if (next == nullptr || (tag >> 3) == 0 || (tag >> 3) > kLargestId) return Fail();
    id_ = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        type_ = WireType::kVarint;
        next = ReadVarint(next, end_, value_);
        if (next == nullptr) return Fail();
        break;
      case 1:
        type_ = WireType::kFixed64;
        if (end_ - next < 8) return Fail();
        std::memcpy(&value_, next, 8);
        next += 8;
        break;
      case 2: {
        type_ = WireType::kBytes;
        std::uint64_t size;
        next = ReadVarint(next, end_, size);
        if (next == nullptr || size > static_cast<std::uint64_t>(end_ - next)) return Fail();
        bytes_ = {next, static_cast<std::size_t>(size)};
        next += size;
        break;
      }
      case 5: {
        type_ = WireType::kFixed32;
        if (end_ - next < 4) return Fail();
        std::uint32_t value;
        std::memcpy(&value, next, 4);
        value_ = value;
        next += 4;
        break;
      }
      default:
        return Fail();
    }
    at_ = next;
    return true;
  }

  bool ok() const { return ok_; }
  // Where the next field begins.
  const char* position() const { return at_; }

  std::uint32_t id() const { return id_; }
  WireType type() const { return type_; }
  bool is_bytes() const { return type_ == WireType::kBytes; }

  // The value of a field that is no bytes; zero for bytes, so that a wrong wire type is harmless.
  std::uint64_t u64() const { return is_bytes() ? 0 : value_; }
  std::int64_t i64() const { return static_cast<std::int64_t>(u64()); }
  std::uint32_t u32() const { return static_cast<std::uint32_t>(u64()); }
  std::int32_t i32() const { return static_cast<std::int32_t>(u64()); }
  bool boolean() const { return u64() != 0; }
  double real() const {
    return type_ == WireType::kFixed32 ? std::bit_cast<float>(static_cast<std::uint32_t>(value_))
                                       : std::bit_cast<double>(u64());
  }
  // The bytes of a string, bytes or message field; empty for any other.
  std::string_view bytes() const { return is_bytes() ? bytes_ : std::string_view(); }

 private:
  static constexpr std::uint64_t kLargestId = (1U << 29) - 1;

  bool Fail() {
    ok_ = false;
    at_ = end_;
    return false;
  }

  const char* at_;
  const char* end_;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
  std::uint32_t id_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

// The varints of a packed repeated field, one after the other.
class PackedVarints {
 public:
  PackedVarints() = default;
  explicit PackedVarints(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool at_end() const { return at_ == end_; }
  bool ok() const { return ok_; }
  // False at the end and at a varint that is cut off.
  bool Next(std::uint64_t& value) {
    if (at_ == end_) return false;
    const char* next = ReadVarint(at_, end_, value);
    if (next == nullptr) {
      ok_ = false;
      at_ = end_;
      return false;
    }
    at_ = next;
    return true;
  }

 private:
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace culprit::tracefile
