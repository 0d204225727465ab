#include "capture/encode_fields.h"

#include <cstring>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

using kernel::FieldKind;
using kernel::FormatField;
using tracefile::FieldType;
using tracefile::WireBuffer;
using Record = std::span<const std::byte>;

// What a generic event may hold of one array or structure.
constexpr std::size_t kMostElements = 64;
constexpr std::size_t kMostHexBytes = 256;

// The bytes that an array, text or structure takes in the record; nothing when they are not in it.
std::optional<Record> BytesOf(const FormatField& field, Record record) {
  std::size_t offset = field.offset;
  std::size_t size = field.size;
  switch (field.kind) {
    case FieldKind::kDynamicText:
    case FieldKind::kDynamicArray: {
      if (record.size() < 4 || offset > record.size() - 4) return std::nullopt;
      const auto word = static_cast<std::uint64_t>(ReadIntegerAt(record, offset, 4, false));
      offset = (field.is_relative ? offset + 4 : 0) + (word & 0xffff);
      size = word >> 16;
      break;
    }
    case FieldKind::kTailText:
    case FieldKind::kTailArray:
      if (offset > record.size()) return std::nullopt;
      size = record.size() - offset;
      break;
    default:
      break;
  }
  if (offset > record.size() || size > record.size() - offset) return std::nullopt;
  return record.subspan(offset, size);
}

std::string_view UpToNul(Record bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

std::string_view AsText(Record bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsText(FieldKind kind) {
  return kind == FieldKind::kFixedText || kind == FieldKind::kTailText ||
         kind == FieldKind::kDynamicText;
}

bool IsScalar(FieldKind kind) {
  return kind == FieldKind::kInteger || kind == FieldKind::kPointer ||
         kind == FieldKind::kStringPointer;
}

std::int64_t ScalarOf(const FormatField& field, Record record) {
  return ReadIntegerAt(record, field.offset, field.size, field.is_signed);
}

// The value on the wire: 32-bit unsigned fields are cut, as the format wants them.
std::uint64_t WireValue(FieldType type, std::int64_t value) {
  if (type == FieldType::kUint32) return static_cast<std::uint32_t>(value);
  if (type == FieldType::kInt32) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  }
  return static_cast<std::uint64_t>(value);
}

void AppendHex(Record bytes, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kMostHexBytes))) {
    if (!out.empty()) out.push_back(' ');
    out.push_back(kDigits[static_cast<unsigned>(byte) >> 4]);
    out.push_back(kDigits[static_cast<unsigned>(byte) & 15]);
  }
}

namespace Generic = tracefile::GenericFtraceEvent;

// GenericFtraceEvent.field { name, str_value }.
void AddTextField(std::string_view encoded_name, std::string_view text, WireBuffer& out) {
  const std::size_t value_bytes = 1 + tracefile::VarintBytes(text.size()) + text.size();
  out.Varint(tracefile::LengthKey(Generic::kField));
  out.Varint(encoded_name.size() + value_bytes);
  out.Append(encoded_name);
  out.BytesField(Generic::Field::kStrValue, text);
}

// GenericFtraceEvent.field { name, int_value or uint_value }.
void AddNumberField(std::string_view encoded_name, std::int64_t value, bool is_signed,
                    WireBuffer& out) {
  const auto bits = static_cast<std::uint64_t>(value);
  out.Varint(tracefile::LengthKey(Generic::kField));
  out.Varint(encoded_name.size() + 1 + tracefile::VarintBytes(bits));
  out.Append(encoded_name);
  out.VarintField(is_signed ? Generic::Field::kIntValue : Generic::Field::kUintValue, bits);
}

void AddArray(const FieldPlan& field, Record bytes, WireBuffer& out) {
  const std::size_t element_bytes = field.source.element_bytes;
  if (element_bytes == 1 || field.source.kind == FieldKind::kBytes) {
    std::string hex;
    AppendHex(bytes, hex);
    AddTextField(field.generic_name, hex, out);
    return;
  }
  const std::size_t count = std::min(bytes.size() / element_bytes, kMostElements);
  WireBuffer name;
  for (std::size_t i = 0; i < count; ++i) {
    name.Clear();
    name.BytesField(Generic::Field::kName, field.source.name + "[" + std::to_string(i) + "]");
    AddNumberField(name.view(),
                   ReadIntegerAt(bytes, i * element_bytes, element_bytes, field.source.is_signed),
                   field.source.is_signed, out);
  }
}

}  // namespace

bool EncodeTypedFields(const EncodePlan& plan, const EventPlan& event, Record record,
                       Interner& interner, WireBuffer& out) {
  bool all_inside = true;
  for (const FieldPlan& field : event.fields) {
    const FormatField& source = field.source;
    if (IsScalar(source.kind)) {
      const std::int64_t value = ScalarOf(source, record);
      const auto bits = static_cast<std::uint64_t>(value);
      if (field.type == FieldType::kString) {
        const std::string_view text = plan.TextOfPointer(bits);
        if (!text.empty()) out.BytesField(field.number, text);
      } else if (field.is_device) {
        out.VarintField(field.number,
                        WireValue(field.type, static_cast<std::int64_t>(UserDevice(bits))));
      } else if (field.is_function) {
        out.VarintField(field.number, interner.Function(bits));
      } else {
        out.VarintField(field.number, WireValue(field.type, value));
      }
      continue;
    }
    const auto bytes = BytesOf(source, record);
    if (!bytes) {
      all_inside = false;
    } else if (IsText(source.kind)) {
      out.BytesField(field.number, UpToNul(*bytes));
    } else if (field.type == FieldType::kBytes) {
      out.BytesField(field.number, AsText(*bytes));
    } else {
      for (std::size_t at = 0; at + source.element_bytes <= bytes->size();
           at += source.element_bytes) {
        const std::int64_t value =
            ReadIntegerAt(*bytes, at, source.element_bytes, source.is_signed);
        out.VarintField(field.number, WireValue(field.type, value));
      }
    }
  }
  return all_inside;
}

bool EncodeGenericFields(const EncodePlan& plan, const EventPlan& event, Record record,
                         WireBuffer& out) {
  out.Append(event.generic_head);
  bool all_inside = true;
  for (const FieldPlan& field : event.fields) {
    const FormatField& source = field.source;
    if (IsScalar(source.kind)) {
      const std::int64_t value = ScalarOf(source, record);
      const auto bits = static_cast<std::uint64_t>(value);
      const std::string_view text =
          source.kind == FieldKind::kStringPointer ? plan.TextOfPointer(bits) : std::string_view();
      if (!text.empty()) {
        AddTextField(field.generic_name, text, out);
      } else if (field.is_device) {
        AddNumberField(field.generic_name, static_cast<std::int64_t>(UserDevice(bits)), false, out);
      } else {
        AddNumberField(field.generic_name, value, source.is_signed, out);
      }
      continue;
    }
    const auto bytes = BytesOf(source, record);
    if (!bytes) {
      all_inside = false;
    } else if (IsText(source.kind)) {
      AddTextField(field.generic_name, UpToNul(*bytes), out);
    } else {
      AddArray(field, *bytes, out);
    }
  }
  return all_inside;
}

}  // namespace culprit::capture
