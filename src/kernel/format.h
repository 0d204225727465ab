// Parsers of tracefs' layout files: events/GROUP/NAME/format, events/header_page and
// events/header_event. They say where the bytes of a record are; they read no records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::kernel {

// How the bytes of a field are to be read.
enum class FieldKind : std::uint8_t {
  kInteger,        // of `size` bytes: 1, 2, 4 or 8
  kPointer,        // an address
  kStringPointer,  // the address of a string of the kernel: printk_formats may have the text
  kFixedText,      // char[n]: up to the first NUL
  kTailText,       // char[] without a size: up to the first NUL or the record's end
  kDynamicText,    // __data_loc or __rel_loc char[]
  kArray,          // `size` / `element_bytes` integers
  kTailArray,      // integers up to the record's end
  kDynamicArray,   // __data_loc or __rel_loc of integers
  kBytes,          // a structure: no more is known than its bytes
};

struct FormatField {
  std::string name;  // "prev_comm"
  std::string type;  // as declared, without name and array: "char", "unsigned long", "dev_t"
  FieldKind kind = FieldKind::kInteger;
  std::uint32_t offset = 0;  // from the start of the record
  std::uint32_t size = 0;
  std::uint32_t element_bytes = 0;  // of an array's elements, 1 to 8
  bool is_signed = false;
  // For the kDynamic kinds: the place in the 32-bit word at `offset` counts from the word's end
  // (__rel_loc) instead of the record's start (__data_loc). The word is length << 16 | place.
  bool is_relative = false;
};

struct EventFormat {
  std::string name;
  std::uint16_t id = 0;             // what common_type holds
  std::vector<FormatField> common;  // common_type, common_flags, common_pid, ...
  std::vector<FormatField> fields;
  std::string print_fmt;

  const FormatField* Find(std::string_view field_name) const;  // among both; nothing if absent
};

// Where things are in a sub-buffer of the ring ("page").
struct PageLayout {
  std::uint32_t timestamp_offset = 0;
  std::uint32_t commit_offset = 8;
  std::uint32_t commit_bytes = 8;  // 4 on 32-bit kernels
  std::uint32_t data_offset = 16;
};

// Header of a record: one 32-bit word, type_len in the low bits, time_delta above.
struct RecordLayout {
  std::uint32_t type_len_bits = 5;
  std::uint32_t time_delta_bits = 27;
  std::uint32_t padding_type = 29;
  std::uint32_t time_extend_type = 30;
  std::uint32_t time_stamp_type = 31;
  std::uint32_t data_max_type_len = 28;
};

[[nodiscard]] Result<EventFormat> ParseEventFormat(std::string_view text);
[[nodiscard]] Result<PageLayout> ParseHeaderPage(std::string_view text);
[[nodiscard]] Result<RecordLayout> ParseHeaderEvent(std::string_view text);

}  // namespace culprit::kernel
