#include "kernel/format.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace culprit::kernel {
namespace {

// More than any kernel has; what is beyond is no format file.
constexpr std::size_t kMostFields = 1024;
constexpr std::uint32_t kLargestOffset = 1U << 20;

constexpr bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text behind `key` up to the next ";" or the line's end: Item("a:1; b:2;", "b:") is "2".
std::optional<std::string_view> Item(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  return TrimBlanks(line.substr(0, line.find(';')));
}

template <class T>
std::optional<T> NumberItem(std::string_view line, std::string_view key) {
  const auto text = Item(line, key);
  return text ? ParseInteger<T>(*text) : std::nullopt;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text = TrimBlanks(text.substr(prefix.size()));
  return true;
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view WithoutConst(std::string_view type) {
  TakePrefix(type, "const ");
  return type;
}

// Bytes of one element of an array whose length the declaration does not tell.
std::uint32_t ElementBytes(std::string_view type) {
  type = WithoutConst(type);
  if (IsOneOf(type, {"u8", "s8", "__u8", "__s8", "uint8_t", "int8_t", "unsigned char", "char",
                     "signed char", "bool"})) {
    return 1;
  }
  if (IsOneOf(type, {"u16", "s16", "__u16", "__s16", "uint16_t", "int16_t", "unsigned short",
                     "short", "__le16", "__be16"})) {
    return 2;
  }
  if (IsOneOf(type, {"u64", "s64", "__u64", "__s64", "uint64_t", "int64_t", "unsigned long long",
                     "long long", "unsigned long", "long", "size_t", "cpumask_t"}) ||
      type.ends_with('*')) {
    return 8;
  }
  return 4;
}

constexpr bool IsIntegerSize(std::uint32_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// Splits a declaration into type, name and what stands in the brackets (of type or name).
struct Declaration {
  std::string_view type;
  std::string_view name;
  std::optional<std::string_view> length;  // "16", "TASK_COMM_LEN", "" of "[]"
};

Declaration SplitDeclaration(std::string_view text) {
  Declaration declaration;
  // "char prev_comm[16]": cut the brackets off the end.
  if (text.ends_with(']')) {
    const std::size_t open = text.rfind('[');
    if (open != std::string_view::npos) {
      declaration.length = TrimBlanks(text.substr(open + 1, text.size() - open - 2));
      text = TrimBlanks(text.substr(0, open));
    }
  }
  std::size_t begin = text.size();
  while (begin > 0 && IsNameCharacter(text[begin - 1])) --begin;
  declaration.name = text.substr(begin);
  declaration.type = TrimBlanks(text.substr(0, begin));
  // "__data_loc char[] name", "char[16] name": the brackets are on the type.
  if (!declaration.length && declaration.type.ends_with(']')) {
    const std::size_t open = declaration.type.rfind('[');
    if (open != std::string_view::npos) {
      declaration.length =
          TrimBlanks(declaration.type.substr(open + 1, declaration.type.size() - open - 2));
      declaration.type = TrimBlanks(declaration.type.substr(0, open));
    }
  }
  // "void (*func)(int)": no name can be cut off; the whole is the name.
  if (declaration.name.empty()) declaration.name = text;
  return declaration;
}

void SetKind(const Declaration& declaration, bool is_dynamic, FormatField& field) {
  const std::string_view type = WithoutConst(declaration.type);
  const bool is_char = type == "char";
  if (is_dynamic) {
    field.kind = is_char ? FieldKind::kDynamicText : FieldKind::kDynamicArray;
    field.element_bytes = ElementBytes(type);
    return;
  }
  if (declaration.length || field.size == 0) {
    if (field.size == 0) {
      field.kind = is_char ? FieldKind::kTailText : FieldKind::kTailArray;
      field.element_bytes = ElementBytes(type);
      return;
    }
    field.kind = is_char ? FieldKind::kFixedText : FieldKind::kArray;
    const auto count = ParseInteger<std::uint32_t>(*declaration.length);
    field.element_bytes =
        count && *count > 0 && field.size % *count == 0 ? field.size / *count : ElementBytes(type);
    if (!IsIntegerSize(field.element_bytes)) {  // an array of structures
      field.kind = FieldKind::kBytes;
      field.element_bytes = 1;
    }
    return;
  }
  field.element_bytes = field.size;
  if (!IsIntegerSize(field.size)) {
    field.kind = FieldKind::kBytes;
    field.element_bytes = 1;
  } else if (type.ends_with('*')) {
    field.kind = WithoutConst(TrimBlanks(type.substr(0, type.size() - 1))) == "char"
                     ? FieldKind::kStringPointer
                     : FieldKind::kPointer;
  } else {
    field.kind = FieldKind::kInteger;
  }
}

// "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;". Old kernels have no "signed"; the
// type's name tells it then.
Result<FormatField> ParseField(std::string_view line) {
  const Error malformed{"format: the field line \"" + std::string(line.substr(0, 200)) +
                            "\" has no name, offset or size",
                        {}};
  const std::size_t colon = line.find(':');
  std::string_view text = line.substr(colon + 1);
  text = TrimBlanks(text.substr(0, text.find(';')));
  const auto offset = NumberItem<std::uint32_t>(line, "offset:");
  const auto size = NumberItem<std::uint32_t>(line, "size:");
  if (text.empty() || !offset || !size || *offset > kLargestOffset || *size > kLargestOffset) {
    return malformed;
  }
  FormatField field;
  field.offset = *offset;
  field.size = *size;
  const bool is_data_loc = TakePrefix(text, "__data_loc ");
  field.is_relative = !is_data_loc && TakePrefix(text, "__rel_loc ");
  const bool is_dynamic = is_data_loc || field.is_relative;
  if (is_dynamic && field.size != 4) return malformed;
  const Declaration declaration = SplitDeclaration(text);
  if (declaration.name.empty()) return malformed;
  field.name = declaration.name;
  field.type = declaration.type;
  SetKind(declaration, is_dynamic, field);
  if (const auto is_signed = NumberItem<int>(line, "signed:")) {
    field.is_signed = *is_signed != 0;
  } else {
    field.is_signed =
        IsOneOf(WithoutConst(declaration.type), {"int", "long", "long long", "short", "pid_t", "s8",
                                                 "s16", "s32", "s64", "char", "loff_t"});
  }
  return field;
}

}  // namespace

const FormatField* EventFormat::Find(std::string_view field_name) const {
  for (const auto* list : {&common, &fields}) {
    for (const FormatField& field : *list) {
      if (field.name == field_name) return &field;
    }
  }
  return nullptr;
}

Result<EventFormat> ParseEventFormat(std::string_view text) {
  EventFormat format;
  std::optional<std::uint16_t> id;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    // The print fmt is last and may have any text in it, line ends too.
    if (std::string_view print = line; TakePrefix(print, "print fmt:")) {
      format.print_fmt = TrimBlanks(rest.substr(rest.find(':') + 1));
      while (format.print_fmt.ends_with('\n')) format.print_fmt.pop_back();
      break;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view trimmed = TrimBlanks(line);
    if (trimmed.starts_with("field")) {
      if (format.fields.size() + format.common.size() >= kMostFields) {
        return Error{"format: more fields than any event has", {}};
      }
      CULPRIT_ASSIGN(FormatField field, ParseField(trimmed));
      auto& list = field.name.starts_with("common_") ? format.common : format.fields;
      list.push_back(std::move(field));
    } else if (trimmed.starts_with("name:")) {
      format.name = TrimBlanks(trimmed.substr(5));
    } else if (trimmed.starts_with("ID:")) {
      id = ParseInteger<std::uint16_t>(TrimBlanks(trimmed.substr(3)));
    }
  }
  if (format.name.empty() || !id) return Error{"format: no name and ID of an event in it", {}};
  format.id = *id;
  return format;
}

Result<PageLayout> ParseHeaderPage(std::string_view text) {
  PageLayout layout;
  bool has_timestamp = false, has_commit = false, has_data = false;
  for (const std::string_view line : SplitLines(text)) {
    const std::string_view trimmed = TrimBlanks(line);
    if (!trimmed.starts_with("field")) continue;
    CULPRIT_ASSIGN(const FormatField field, ParseField(trimmed));
    if (field.name == "timestamp") {
      layout.timestamp_offset = field.offset;
      has_timestamp = field.size == 8;
    } else if (field.name == "commit") {
      layout.commit_offset = field.offset;
      layout.commit_bytes = field.size;
      has_commit = field.size == 4 || field.size == 8;
    } else if (field.name == "data") {
      layout.data_offset = field.offset;
      has_data = field.offset >= 12 && field.offset <= 64;
    }
  }
  if (!has_timestamp || !has_commit || !has_data) {
    return Error{"header_page: no timestamp, commit and data of a known form",
                 "this kernel's ring-buffer layout is not supported"};
  }
  return layout;
}

Result<RecordLayout> ParseHeaderEvent(std::string_view text) {
  RecordLayout layout;
  bool is_known = false;
  // "type_len    :    5 bits", "padding     : type == 29", "data max type_len  == 28".
  for (const std::string_view line : SplitLines(text)) {
    const auto words = SplitWords(line);
    if (words.size() < 3) continue;
    const std::string_view last = words.back() == "bits" ? words[words.size() - 2] : words.back();
    const auto number = ParseInteger<std::uint32_t>(last);
    if (!number) continue;
    if (words[0] == "type_len") {
      layout.type_len_bits = *number;
      is_known = true;
    } else if (words[0] == "time_delta") {
      layout.time_delta_bits = *number;
    } else if (words[0] == "padding") {
      layout.padding_type = *number;
    } else if (words[0] == "time_extend") {
      layout.time_extend_type = *number;
    } else if (words[0] == "time_stamp") {
      layout.time_stamp_type = *number;
    } else if (words[0] == "data") {
      layout.data_max_type_len = *number;
    }
  }
  const std::uint32_t largest = layout.type_len_bits < 8 ? (1U << layout.type_len_bits) - 1 : 0;
  if (!is_known || layout.type_len_bits + layout.time_delta_bits != 32 ||
      layout.data_max_type_len >= largest || layout.padding_type > largest ||
      layout.time_extend_type > largest || layout.time_stamp_type > largest) {
    return Error{
        "header_event: not the record header of 5 and 27 bits that kernels since 2.6.31 have",
        "this kernel's ring-buffer layout is not supported"};
  }
  return layout;
}

}  // namespace culprit::kernel
