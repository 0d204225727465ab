// EventFields: the fields of one typed ftrace event by their numbers in the trace format, whether
// they came from a protobuf payload or from a line of text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tracefile/proto_reader.h"

namespace culprit::load {

class EventFields {
 public:
  static constexpr std::uint32_t kSlots = 16;  // higher numbers are for the raw table alone

  void Clear() { present_ = 0; }
  void Parse(std::string_view body) {
    present_ = 0;
    tracefile::ProtoReader field(body);
    while (field.Next()) {
      if (field.is_bytes()) {
        SetText(field.id(), field.bytes());
      } else {
        SetNumber(field.id(), field.u64());
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

  bool Has(std::uint32_t number) const { return (present_ >> number & 1) != 0; }
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
  std::uint32_t present_ = 0;
};

}  // namespace culprit::load
