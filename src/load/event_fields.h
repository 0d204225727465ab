// EventFields: the fields of one typed ftrace event by their numbers in the trace format, whether
// they came from a protobuf payload or from a line of text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tracefile/proto_reader.h"

namespace culprit::load {

class EventFields {
 public:
  static constexpr std::size_t kMost = 8;
  static constexpr std::uint32_t kSlots = 16;  // higher numbers are for the raw table alone

  using Room = std::array<std::uint64_t, kMost + 1>;

  void Clear() { present_ = more_count_ = 0; }
  void Parse(std::string_view body) {
    Clear();
    tracefile::ProtoReader field(body);
    while (field.Next()) {
      if (field.is_bytes()) {
        SetText(field.id(), field.bytes());
      } else {
        AddNumber(field.id(), field.u64());
      }
    }
  }
  void SetNumber(std::uint32_t number, std::uint64_t value) {
    if (number >= kSlots) return;
    slots_[number] = {value, {}};
    present_ |= 1U << number;
  }
  void SetText(std::uint32_t number, std::string_view text) {
    if (number >= kSlots) return;
    slots_[number] = {0, text};
    present_ |= 1U << number;
  }

  // One value more of a repeated field; the format has one such field at most in an event.
  void AddNumber(std::uint32_t number, std::uint64_t value) {
    if (Has(number) && more_count_ < kMost) more_[more_count_++] = slots_[number].value;
    SetNumber(number, value);
  }
  // All values of the repeated field; `room` holds them.
  std::span<const std::uint64_t> Repeated(std::uint32_t number, Room& room) const {
    if (!Has(number)) return {};
    std::copy_n(more_.begin(), more_count_, room.begin());
    room[more_count_] = slots_[number].value;
    return {room.data(), more_count_ + 1U};
  }

  bool Has(std::uint32_t number) const { return number < kSlots && (present_ >> number & 1) != 0; }
  std::uint64_t u64(std::uint32_t number) const { return Has(number) ? slots_[number].value : 0; }
  std::int64_t i64(std::uint32_t number) const { return static_cast<std::int64_t>(u64(number)); }
  std::int32_t i32(std::uint32_t number) const { return static_cast<std::int32_t>(u64(number)); }
  std::uint32_t u32(std::uint32_t number) const { return static_cast<std::uint32_t>(u64(number)); }
  std::string_view text(std::uint32_t number) const {
    return Has(number) ? slots_[number].text : std::string_view();
  }

 private:
  struct Slot {
    std::uint64_t value;
    std::string_view text;
  };
  std::array<Slot, kSlots> slots_{};
  std::array<std::uint64_t, kMost> more_{};
  std::uint32_t present_ = 0;
  std::uint32_t more_count_ = 0;
};

}  // namespace culprit::load
