// ByteReader: the one bounds-checked way to read binary input. A read past the end yields zero and
// marks the reader bad; callers check ok() once at the end of a structure, not at each field.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace culprit {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  explicit ByteReader(std::string_view bytes)
      : bytes_(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()) {}

  bool ok() const { return ok_; }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  // An integer in the machine's byte order (traces are read where they were made, or on a machine
  // of the same order; a file of the other order is refused by its magic).
  template <class T>
  T Read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (!Take(sizeof(T))) return value;
    std::memcpy(&value, bytes_.data() + position_ - sizeof(T), sizeof(T));
    return value;
  }

  // The next `size` bytes; empty when there are fewer.
  std::span<const std::byte> ReadBytes(std::size_t size) {
    if (!Take(size)) return {};
    return bytes_.subspan(position_ - size, size);
  }

  std::string_view ReadText(std::size_t size) {
    const auto bytes = ReadBytes(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void Skip(std::size_t size) { static_cast<void>(Take(size)); }

 private:
  bool Take(std::size_t size) {
    if (!ok_ || size > remaining()) {
      ok_ = false;
      return false;
    }
    position_ += size;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

// The integer of `size` bytes (1, 2, 4 or 8) at `offset`, sign-extended when `is_signed`; zero when
// it does not lie wholly inside. For fields whose place is known only from a format file.
inline std::int64_t ReadIntegerAt(std::span<const std::byte> bytes, std::size_t offset,
                                  std::size_t size, bool is_signed) {
  if (size > bytes.size() || offset > bytes.size() - size) return 0;
  const std::byte* at = bytes.data() + offset;
  const auto load = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return static_cast<std::int64_t>(value);
  };
  switch (size) {
    case 1:
      return is_signed ? load(std::int8_t{}) : load(std::uint8_t{});
    case 2:
      return is_signed ? load(std::int16_t{}) : load(std::uint16_t{});
    case 4:
      return is_signed ? load(std::int32_t{}) : load(std::uint32_t{});
    case 8:
      return load(std::int64_t{});
    default:
      return 0;
  }
}

}  // namespace culprit
