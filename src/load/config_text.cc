#include "load/config_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

constexpr int kDeepest = 64;

const ConfigField* Find(std::uint16_t message, std::uint32_t number) {
  const auto fields = ConfigFields();
  const auto found = std::ranges::find_if(fields, [&](const ConfigField& field) {
    return field.message == message && field.number == number;
  });
  return found == fields.end() ? nullptr : &*found;
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string EnumText(std::uint16_t type, std::int32_t value) {
  for (const ConfigEnumerator& enumerator : ConfigEnumerators()) {
    if (enumerator.type == type && enumerator.value == value) return std::string(enumerator.name);
  }
  return std::to_string(value);
}

void AppendMessage(std::uint16_t message, std::string_view body, int depth, std::string& out);

void AppendLine(std::string_view name, std::string_view value, int depth, std::string& out) {
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
  fmt::format_to(std::back_inserter(out), "{}: {}\n", name, value);
}

void AppendNumber(const ConfigField& known, const tracefile::ProtoReader& field, int depth,
                  std::string& out) {
  switch (known.kind) {
    case ConfigKind::kBool:
      return AppendLine(known.name, field.boolean() ? "true" : "false", depth, out);
    case ConfigKind::kEnum:
      return AppendLine(known.name, EnumText(known.type, field.i32()), depth, out);
    case ConfigKind::kUint:
      return AppendLine(known.name, std::to_string(field.u64()), depth, out);
    case ConfigKind::kZig:
      return AppendLine(known.name,
                        std::to_string(static_cast<std::int64_t>(field.u64() >> 1) ^
                                       -static_cast<std::int64_t>(field.u64() & 1)),
                        depth, out);
    case ConfigKind::kDouble:
      return AppendLine(known.name, fmt::format("{}", field.real()), depth, out);
    case ConfigKind::kFloat:
      return AppendLine(known.name, fmt::format("{}", std::bit_cast<float>(field.u32())), depth,
                        out);
    default:
      return AppendLine(known.name, std::to_string(field.i64()), depth, out);
  }
}

void AppendMessage(std::uint16_t message, std::string_view body, int depth, std::string& out) {
  tracefile::ProtoReader field(body);
  while (field.Next()) {
    const ConfigField* known = Find(message, field.id());
    const std::string name =
        known == nullptr ? std::to_string(field.id()) : std::string(known->name);
    if (field.is_bytes() && known != nullptr && known->kind == ConfigKind::kMessage &&
        depth < kDeepest) {
      out.append(static_cast<std::size_t>(depth) * 2, ' ');
      fmt::format_to(std::back_inserter(out), "{} {{\n", name);
      AppendMessage(known->type, field.bytes(), depth + 1, out);
      out.append(static_cast<std::size_t>(depth) * 2, ' ');
      out += "}\n";
    } else if (field.is_bytes() && (known == nullptr || known->kind == ConfigKind::kText ||
                                    known->kind == ConfigKind::kMessage)) {
      std::string quoted;
      AppendQuoted(field.bytes(), quoted);
      AppendLine(name, quoted, depth, out);
    } else if (field.is_bytes()) {  // packed
      tracefile::PackedVarints packed(field.bytes());
      for (std::uint64_t value; packed.Next(value);) {
        AppendLine(name,
                   known->kind == ConfigKind::kEnum
                       ? EnumText(known->type, static_cast<std::int32_t>(value))
                       : std::to_string(static_cast<std::int64_t>(value)),
                   depth, out);
      }
    } else if (known != nullptr) {
      AppendNumber(*known, field, depth, out);
    } else {
      AppendLine(name, std::to_string(field.u64()), depth, out);
    }
  }
}

}  // namespace

std::string ConfigText(std::string_view trace_config) {
  std::string out;
  AppendMessage(0, trace_config, 0, out);
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace culprit::load
