#include "tables/value_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "tables/handles.h"
#include "tables/query_result.h"

namespace culprit::tables {
namespace {

template <class T>
const T& At(duckdb_vector vector, std::size_t row) {
  return static_cast<const T*>(duckdb_vector_get_data(vector))[row];
}

std::string_view TextAt(duckdb_vector vector, std::size_t row) {
  auto* text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector)) + row;
  return {duckdb_string_t_data(text), duckdb_string_t_length(*text)};
}

__int128 ToInt128(const duckdb_hugeint& value) {
  return (static_cast<__int128>(value.upper) << 64) | value.lower;
}

void AppendUnsignedWide(unsigned __int128 value, std::string& out) {
  char digits[40];
  char* at = digits + sizeof(digits);
  do {
    *--at = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  out.append(at, digits + sizeof(digits));
}

__int128 DecimalAt(duckdb_vector vector, duckdb_logical_type type, std::size_t row) {
  switch (duckdb_decimal_internal_type(type)) {
    case DUCKDB_TYPE_SMALLINT:
      return At<std::int16_t>(vector, row);
    case DUCKDB_TYPE_INTEGER:
      return At<std::int32_t>(vector, row);
    case DUCKDB_TYPE_BIGINT:
      return At<std::int64_t>(vector, row);
    default:
      return ToInt128(At<duckdb_hugeint>(vector, row));
  }
}

void AppendDate(duckdb_date date, std::string& out) {
  if (!duckdb_is_finite_date(date)) {
    out += date.days > 0 ? "infinity" : "-infinity";
    return;
  }
  const auto parts = duckdb_from_date(date);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", parts.year, parts.month, parts.day);
}

void AppendTime(duckdb_time time, std::string& out) {
  const auto parts = duckdb_from_time(time);
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", parts.hour, parts.min, parts.sec);
  if (parts.micros != 0) fmt::format_to(std::back_inserter(out), ".{:06}", parts.micros);
}

void AppendInterval(const duckdb_interval& interval, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{} months {} days {} us", interval.months, interval.days,
                 interval.micros);
}

// Lists, arrays and maps: entries [begin, end) of a child vector.
void AppendEntries(duckdb_vector child, duckdb_logical_type child_type, std::size_t begin,
                   std::size_t end, std::string& out) {
  out += '[';
  for (std::size_t i = begin; i < end; ++i) {
    if (i != begin) out += ',';
    AppendValueText(child, child_type, i, TextStyle::kJson, out);
  }
  out += ']';
}

void AppendStruct(duckdb_vector vector, duckdb_logical_type type, std::size_t row,
                  std::string& out) {
  out += '{';
  const auto count = duckdb_struct_type_child_count(type);
  for (idx_t i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    AppendJsonString(TakeString(duckdb_struct_type_child_name(type, i)), out);
    out += ':';
    const LogicalType child(duckdb_struct_type_child_type(type, i));
    AppendValueText(duckdb_struct_vector_get_child(vector, i), child.get(), row, TextStyle::kJson,
                    out);
  }
  out += '}';
}

// The member of a union that is set; its tag is the first child of the struct that holds it.
void AppendUnion(duckdb_vector vector, duckdb_logical_type type, std::size_t row, TextStyle style,
                 std::string& out) {
  const auto tag = At<std::uint8_t>(duckdb_struct_vector_get_child(vector, 0), row);
  const LogicalType member(duckdb_union_type_member_type(type, tag));
  AppendValueText(duckdb_struct_vector_get_child(vector, tag + 1U), member.get(), row, style, out);
}

void AppendBlob(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && byte != '\\') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02X}", byte);
    }
  }
}

// A bit string: the first byte is the number of unused bits at the start of the second.
void AppendBits(std::string_view bytes, std::string& out) {
  if (bytes.empty()) return;
  const std::size_t padding = static_cast<unsigned char>(bytes[0]);
  for (std::size_t bit = padding; bit < (bytes.size() - 1) * 8; ++bit) {
    out += (static_cast<unsigned char>(bytes[1 + bit / 8]) >> (7 - bit % 8)) & 1 ? '1' : '0';
  }
}

void AppendUuid(duckdb_hugeint value, std::string& out) {
  // DuckDB flips the top bit so that UUIDs sort as signed integers.
  const auto upper = static_cast<std::uint64_t>(value.upper) ^ (std::uint64_t{1} << 63);
  fmt::format_to(std::back_inserter(out), "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", upper >> 32,
                 (upper >> 16) & 0xFFFF, upper & 0xFFFF, value.lower >> 48,
                 value.lower & 0xFFFFFFFFFFFFULL);
}

template <class T>
void AppendReal(T value, std::string& out) {
  const auto start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

// Types whose text is no JSON value by itself; false for those that are.
bool AppendTextual(duckdb_vector vector, duckdb_logical_type type, std::size_t row,
                   std::string& out) {
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_VARCHAR:
      out += TextAt(vector, row);
      return true;
    case DUCKDB_TYPE_ENUM:
      out += TakeString(duckdb_enum_dictionary_value(type, EnumIndexAt(vector, type, row)));
      return true;
    case DUCKDB_TYPE_BLOB:
      AppendBlob(TextAt(vector, row), out);
      return true;
    case DUCKDB_TYPE_BIT:
      AppendBits(TextAt(vector, row), out);
      return true;
    case DUCKDB_TYPE_DATE:
      AppendDate(At<duckdb_date>(vector, row), out);
      return true;
    case DUCKDB_TYPE_TIME:
      AppendTime(At<duckdb_time>(vector, row), out);
      return true;
    case DUCKDB_TYPE_TIME_TZ: {
      const auto parts = duckdb_from_time_tz(At<duckdb_time_tz>(vector, row));
      AppendTime(duckdb_to_time(parts.time), out);
      fmt::format_to(std::back_inserter(out), "{:+03}:{:02}", parts.offset / 3600,
                     std::abs(parts.offset) / 60 % 60);
      return true;
    }
    case DUCKDB_TYPE_TIMESTAMP:
      AppendTimestamp(At<std::int64_t>(vector, row), out);
      return true;
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      AppendTimestamp(At<std::int64_t>(vector, row), out);
      out += "+00";
      return true;
    case DUCKDB_TYPE_TIMESTAMP_S:
      AppendTimestamp(At<std::int64_t>(vector, row) * 1'000'000, out);
      return true;
    case DUCKDB_TYPE_TIMESTAMP_MS:
      AppendTimestamp(At<std::int64_t>(vector, row) * 1000, out);
      return true;
    case DUCKDB_TYPE_TIMESTAMP_NS: {
      const auto nanos = At<std::int64_t>(vector, row);
      const auto rest = ((nanos % 1'000'000'000) + 1'000'000'000) % 1'000'000'000;
      AppendTimestamp((nanos - rest) / 1000, out);
      if (rest != 0) fmt::format_to(std::back_inserter(out), ".{:09}", rest);
      return true;
    }
    case DUCKDB_TYPE_INTERVAL:
      AppendInterval(At<duckdb_interval>(vector, row), out);
      return true;
    case DUCKDB_TYPE_UUID:
      AppendUuid(At<duckdb_hugeint>(vector, row), out);
      return true;
    default:
      return false;
  }
}

}  // namespace

std::uint64_t EnumIndexAt(duckdb_vector vector, duckdb_logical_type type, std::size_t row) {
  switch (duckdb_enum_internal_type(type)) {
    case DUCKDB_TYPE_UTINYINT:
      return At<std::uint8_t>(vector, row);
    case DUCKDB_TYPE_USMALLINT:
      return At<std::uint16_t>(vector, row);
    default:
      return At<std::uint32_t>(vector, row);
  }
}

bool IsNullAt(duckdb_vector vector, std::size_t row) {
  const std::uint64_t* validity = duckdb_vector_get_validity(vector);
  return validity != nullptr && (validity[row / 64] >> (row % 64) & 1) == 0;
}

void AppendNumber(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return;
  }
  AppendReal(value, out);
}

void AppendWide(__int128 value, unsigned scale, std::string& out) {
  const bool negative = value < 0;
  const auto magnitude =
      negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  if (negative) out += '-';
  const auto start = out.size();
  AppendUnsignedWide(magnitude, out);
  if (scale == 0) return;
  const auto digits = out.size() - start;
  if (digits <= scale) out.insert(start, scale + 1 - digits, '0');
  out.insert(out.size() - scale, 1, '.');
}

void AppendTimestamp(std::int64_t micros, std::string& out) {
  const duckdb_timestamp timestamp{micros};
  if (!duckdb_is_finite_timestamp(timestamp)) {
    out += micros > 0 ? "infinity" : "-infinity";
    return;
  }
  const auto parts = duckdb_from_timestamp(timestamp);
  AppendDate(duckdb_to_date(parts.date), out);
  out += ' ';
  AppendTime(duckdb_to_time(parts.time), out);
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    switch (text[i]) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (byte < 0x20 || byte == 0x7F) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
        } else {
          out += text[i];  // DuckDB's text is valid UTF-8
        }
    }
  }
  out += '"';
}

void AppendValueText(duckdb_vector vector, duckdb_logical_type type, std::size_t row,
                     TextStyle style, std::string& out) {
  const bool json = style == TextStyle::kJson;
  if (IsNullAt(vector, row)) {
    out += json ? "null" : "NULL";
    return;
  }
  if (!json && AppendTextual(vector, type, row, out)) return;
  const auto append = [&out](auto value) { fmt::format_to(std::back_inserter(out), "{}", value); };
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_BOOLEAN:
      return append(At<bool>(vector, row));
    case DUCKDB_TYPE_TINYINT:
      return append(static_cast<int>(At<std::int8_t>(vector, row)));
    case DUCKDB_TYPE_SMALLINT:
      return append(At<std::int16_t>(vector, row));
    case DUCKDB_TYPE_INTEGER:
      return append(At<std::int32_t>(vector, row));
    case DUCKDB_TYPE_BIGINT:
      return append(At<std::int64_t>(vector, row));
    case DUCKDB_TYPE_UTINYINT:
      return append(static_cast<unsigned>(At<std::uint8_t>(vector, row)));
    case DUCKDB_TYPE_USMALLINT:
      return append(At<std::uint16_t>(vector, row));
    case DUCKDB_TYPE_UINTEGER:
      return append(At<std::uint32_t>(vector, row));
    case DUCKDB_TYPE_UBIGINT:
      return append(At<std::uint64_t>(vector, row));
    case DUCKDB_TYPE_HUGEINT:
      return AppendWide(ToInt128(At<duckdb_hugeint>(vector, row)), 0, out);
    case DUCKDB_TYPE_UHUGEINT: {
      const auto& wide = At<duckdb_uhugeint>(vector, row);
      return AppendUnsignedWide((static_cast<unsigned __int128>(wide.upper) << 64) | wide.lower,
                                out);
    }
    case DUCKDB_TYPE_DECIMAL:
      return AppendWide(DecimalAt(vector, type, row), duckdb_decimal_scale(type), out);
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE: {
      const bool single = duckdb_get_type_id(type) == DUCKDB_TYPE_FLOAT;
      const double value = single ? At<float>(vector, row) : At<double>(vector, row);
      if (json && !std::isfinite(value)) {
        out += "null";  // JSON has no text for these
      } else if (single && std::isfinite(value)) {
        AppendReal(At<float>(vector, row), out);
      } else {
        AppendNumber(value, out);
      }
      return;
    }
    case DUCKDB_TYPE_LIST: {
      const LogicalType child(duckdb_list_type_child_type(type));
      const auto& entry = At<duckdb_list_entry>(vector, row);
      return AppendEntries(duckdb_list_vector_get_child(vector), child.get(), entry.offset,
                           entry.offset + entry.length, out);
    }
    case DUCKDB_TYPE_ARRAY: {
      const LogicalType child(duckdb_array_type_child_type(type));
      const auto size = duckdb_array_type_array_size(type);
      return AppendEntries(duckdb_array_vector_get_child(vector), child.get(), row * size,
                           (row + 1) * size, out);
    }
    case DUCKDB_TYPE_MAP: {  // a list of {key, value}
      const LogicalType key(duckdb_map_type_key_type(type));
      const LogicalType value(duckdb_map_type_value_type(type));
      const auto entries = duckdb_list_vector_get_child(vector);
      const auto& entry = At<duckdb_list_entry>(vector, row);
      out += '{';
      for (auto i = entry.offset; i < entry.offset + entry.length; ++i) {
        if (i != entry.offset) out += ',';
        std::string name;
        AppendValueText(duckdb_struct_vector_get_child(entries, 0), key.get(), i, TextStyle::kPlain,
                        name);
        AppendJsonString(name, out);
        out += ':';
        AppendValueText(duckdb_struct_vector_get_child(entries, 1), value.get(), i,
                        TextStyle::kJson, out);
      }
      out += '}';
      return;
    }
    case DUCKDB_TYPE_STRUCT:
      return AppendStruct(vector, type, row, out);
    case DUCKDB_TYPE_UNION:
      return AppendUnion(vector, type, row, style, out);
    case DUCKDB_TYPE_SQLNULL:
      out += json ? "null" : "NULL";
      return;
    default: {
      std::string text;
      if (!AppendTextual(vector, type, row, text)) text = "(a type without a text form)";
      AppendJsonString(text, out);
    }
  }
}

}  // namespace culprit::tables
