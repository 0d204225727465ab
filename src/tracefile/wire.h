// WireBuffer: protobuf's wire encoding at the speed that millions of small messages need, for hot
// paths where protozero's writers, made for convenience, cost too much. It checks no field numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace culprit::tracefile {

inline constexpr std::size_t kLongestVarint = 10;

constexpr std::size_t VarintBytes(std::uint64_t value) {
  std::size_t bytes = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

inline char* PutVarint(char* at, std::uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<char>(value);
  return at;
}

// The key of a field on the wire.
constexpr std::uint32_t VarintKey(std::uint32_t field) { return field << 3; }
constexpr std::uint32_t LengthKey(std::uint32_t field) { return field << 3 | 2; }
constexpr std::uint32_t Fixed64Key(std::uint32_t field) { return field << 3 | 1; }

// Bytes that grow and keep their capacity when cleared.
class WireBuffer {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_.get(), size_}; }
  void Clear() { size_ = 0; }
  void Truncate(std::size_t size) { size_ = size; }

  // Room for `bytes` more, to be written from the returned place on; Commit tells where they end.
  char* Reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) Grow(bytes);
    return data_.get() + size_;
  }
  void Commit(const char* end) { size_ = static_cast<std::size_t>(end - data_.get()); }

  void Append(std::string_view bytes) {
    char* at = Reserve(bytes.size());
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void Varint(std::uint64_t value) { Commit(PutVarint(Reserve(kLongestVarint), value)); }

  // Whole fields.
  void VarintField(std::uint32_t field, std::uint64_t value) {
    Commit(PutVarint(PutVarint(Reserve(2 * kLongestVarint), VarintKey(field)), value));
  }
  void SignedField(std::uint32_t field, std::int64_t value) {
    VarintField(field, static_cast<std::uint64_t>(value));
  }
  void DoubleField(std::uint32_t field, double value) {
    char* at = PutVarint(Reserve(kLongestVarint + sizeof(value)), Fixed64Key(field));
    std::memcpy(at, &value, sizeof(value));
    Commit(at + sizeof(value));
  }
  void BytesField(std::uint32_t field, std::string_view bytes) {
    Commit(PutVarint(PutVarint(Reserve(2 * kLongestVarint), LengthKey(field)), bytes.size()));
    Append(bytes);
  }

 private:
  void Grow(std::size_t bytes) {
    const std::size_t wanted = size_ + bytes;
    capacity_ = wanted < 512 ? 1024 : wanted * 2;
    auto larger = std::unique_ptr<char[]>(new char[capacity_]);
    if (size_ != 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
  }

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace culprit::tracefile
