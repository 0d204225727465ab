#include "tables/query_result.h"

#include <duckdb.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tables/handles.h"
#include "tables/sql_place.h"
#include "tables/value_text.h"

namespace culprit::tables {
namespace {

ColumnKind KindOf(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_SQLNULL:
      return ColumnKind::kNull;
    case DUCKDB_TYPE_BOOLEAN:
      return ColumnKind::kBool;
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
      return ColumnKind::kInteger;
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
      return ColumnKind::kWide;
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_DECIMAL:
      return ColumnKind::kNumber;
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_ENUM:
      return ColumnKind::kText;
    case DUCKDB_TYPE_BLOB:
      return ColumnKind::kBlob;
    default:
      return ColumnKind::kOther;
  }
}

struct TypeName {
  duckdb_type id;
  const char* name;
};

constexpr TypeName kTypeNames[] = {
    {DUCKDB_TYPE_SQLNULL, "\"NULL\""},
    {DUCKDB_TYPE_BOOLEAN, "BOOLEAN"},
    {DUCKDB_TYPE_TINYINT, "TINYINT"},
    {DUCKDB_TYPE_SMALLINT, "SMALLINT"},
    {DUCKDB_TYPE_INTEGER, "INTEGER"},
    {DUCKDB_TYPE_BIGINT, "BIGINT"},
    {DUCKDB_TYPE_UTINYINT, "UTINYINT"},
    {DUCKDB_TYPE_USMALLINT, "USMALLINT"},
    {DUCKDB_TYPE_UINTEGER, "UINTEGER"},
    {DUCKDB_TYPE_UBIGINT, "UBIGINT"},
    {DUCKDB_TYPE_HUGEINT, "HUGEINT"},
    {DUCKDB_TYPE_UHUGEINT, "UHUGEINT"},
    {DUCKDB_TYPE_FLOAT, "FLOAT"},
    {DUCKDB_TYPE_DOUBLE, "DOUBLE"},
    {DUCKDB_TYPE_VARCHAR, "VARCHAR"},
    {DUCKDB_TYPE_BLOB, "BLOB"},
    {DUCKDB_TYPE_BIT, "BIT"},
    {DUCKDB_TYPE_DATE, "DATE"},
    {DUCKDB_TYPE_TIME, "TIME"},
    {DUCKDB_TYPE_TIME_TZ, "TIMETZ"},
    {DUCKDB_TYPE_TIMESTAMP, "TIMESTAMP"},
    {DUCKDB_TYPE_TIMESTAMP_TZ, "TIMESTAMPTZ"},
    {DUCKDB_TYPE_TIMESTAMP_S, "TIMESTAMP_S"},
    {DUCKDB_TYPE_TIMESTAMP_MS, "TIMESTAMP_MS"},
    {DUCKDB_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS"},
    {DUCKDB_TYPE_INTERVAL, "INTERVAL"},
    {DUCKDB_TYPE_UUID, "UUID"},
};

std::string TypeNameOf(duckdb_logical_type type);

std::string StructTypeName(duckdb_logical_type type) {
  std::string name = "STRUCT(";
  const auto count = duckdb_struct_type_child_count(type);
  for (idx_t i = 0; i < count; ++i) {
    const LogicalType child(duckdb_struct_type_child_type(type, i));
    if (i != 0) name += ", ";
    name += QuoteName(TakeString(duckdb_struct_type_child_name(type, i)));
    name += " " + TypeNameOf(child.get());
  }
  return name + ")";
}

std::string UnionTypeName(duckdb_logical_type type) {
  std::string name = "UNION(";
  const auto count = duckdb_union_type_member_count(type);
  for (idx_t i = 0; i < count; ++i) {
    const LogicalType member(duckdb_union_type_member_type(type, i));
    if (i != 0) name += ", ";
    name += QuoteName(TakeString(duckdb_union_type_member_name(type, i)));
    name += " " + TypeNameOf(member.get());
  }
  return name + ")";
}

std::string EnumTypeName(duckdb_logical_type type) {
  std::string name = "ENUM(";
  const auto count = duckdb_enum_dictionary_size(type);
  for (idx_t i = 0; i < count; ++i) {
    if (i != 0) name += ", ";
    name += QuoteText(TakeString(duckdb_enum_dictionary_value(type, i)));
  }
  return name + ")";
}

std::string TypeNameOf(duckdb_logical_type type) {
  const auto id = duckdb_get_type_id(type);
  switch (id) {
    case DUCKDB_TYPE_DECIMAL:
      return fmt::format("DECIMAL({},{})", duckdb_decimal_width(type), duckdb_decimal_scale(type));
    case DUCKDB_TYPE_LIST:
      return TypeNameOf(LogicalType(duckdb_list_type_child_type(type)).get()) + "[]";
    case DUCKDB_TYPE_ARRAY:
      return fmt::format("{}[{}]",
                         TypeNameOf(LogicalType(duckdb_array_type_child_type(type)).get()),
                         duckdb_array_type_array_size(type));
    case DUCKDB_TYPE_MAP:
      return fmt::format("MAP({}, {})",
                         TypeNameOf(LogicalType(duckdb_map_type_key_type(type)).get()),
                         TypeNameOf(LogicalType(duckdb_map_type_value_type(type)).get()));
    case DUCKDB_TYPE_STRUCT:
      return StructTypeName(type);
    case DUCKDB_TYPE_UNION:
      return UnionTypeName(type);
    case DUCKDB_TYPE_ENUM:
      return EnumTypeName(type);
    default:
      for (const TypeName& known : kTypeNames) {
        if (known.id == id) return known.name;
      }
      return "VARCHAR";  // a type this version does not know
  }
}

std::int64_t Clamp(double value) {
  // 2^63 is the first double past the range.
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::int64_t ClampWide(std::int64_t upper, std::uint64_t lower) {
  const auto value = (static_cast<__int128>(upper) << 64) | lower;
  if (value > std::numeric_limits<std::int64_t>::max()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  if (value < std::numeric_limits<std::int64_t>::min()) {
    return std::numeric_limits<std::int64_t>::min();
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

QueryResult::State::~State() {
  duckdb_destroy_data_chunk(&chunk);
  for (auto& type : types) duckdb_destroy_logical_type(&type);
  duckdb_destroy_result(&result);
}

void QueryResult::State::ReadTypes() {
  const auto count = duckdb_column_count(&result);
  for (idx_t i = 0; i < count; ++i) types.push_back(duckdb_column_logical_type(&result, i));
  vectors.resize(count);
  changed = static_cast<std::int64_t>(duckdb_rows_changed(&result));
}

std::string_view QueryResult::State::EnumText(std::size_t column, std::size_t row) {
  enum_texts.resize(types.size());
  auto& texts = enum_texts[column];
  if (texts.empty()) {
    const auto count = duckdb_enum_dictionary_size(types[column]);
    for (idx_t i = 0; i < count; ++i) {
      texts.push_back(TakeString(duckdb_enum_dictionary_value(types[column], i)));
    }
  }
  return texts[EnumIndexAt(vectors[column], types[column], row)];
}

QueryResult::QueryResult(std::unique_ptr<State> state) : state_(std::move(state)) {}
QueryResult::QueryResult(QueryResult&&) noexcept = default;
QueryResult& QueryResult::operator=(QueryResult&&) noexcept = default;
QueryResult::~QueryResult() = default;

std::size_t QueryResult::column_count() const { return state_->types.size(); }

std::string_view QueryResult::name(std::size_t column) const {
  const char* name = duckdb_column_name(&state_->result, column);
  return name == nullptr ? "" : name;
}

ColumnKind QueryResult::kind(std::size_t column) const {
  return KindOf(duckdb_get_type_id(state_->types[column]));
}

std::string QueryResult::TypeName(std::size_t column) const {
  return TypeNameOf(state_->types[column]);
}

bool QueryResult::has_rows() const {
  return duckdb_result_return_type(state_->result) == DUCKDB_RESULT_TYPE_QUERY_RESULT;
}

std::int64_t QueryResult::rows_changed() const { return state_->changed; }

Result<bool> QueryResult::Next() {
  State& state = *state_;
  duckdb_destroy_data_chunk(&state.chunk);
  state.rows = 0;
  state.chunk = duckdb_fetch_chunk(state.result);
  if (state.chunk == nullptr) {
    // A streaming result fails here, when the rows are computed.
    const char* message = duckdb_result_error(&state.result);
    if (message != nullptr && *message != '\0') {
      return ToError(ParseSqlError(message), "");
    }
    return false;
  }
  state.rows = duckdb_data_chunk_get_size(state.chunk);
  for (std::size_t i = 0; i < state.vectors.size(); ++i) {
    state.vectors[i] = duckdb_data_chunk_get_vector(state.chunk, i);
  }
  return state.rows != 0;
}

std::size_t QueryResult::chunk_rows() const { return state_->rows; }

bool QueryResult::IsNull(std::size_t column, std::size_t row) const {
  return IsNullAt(state_->vectors[column], row);
}

bool QueryResult::Bool(std::size_t column, std::size_t row) const {
  return Integer(column, row) != 0;
}

std::int64_t QueryResult::Integer(std::size_t column, std::size_t row) const {
  if (IsNull(column, row)) return 0;
  const void* data = duckdb_vector_get_data(state_->vectors[column]);
  const auto at = [data, row](auto value) {
    return static_cast<std::int64_t>(static_cast<const decltype(value)*>(data)[row]);
  };
  switch (duckdb_get_type_id(state_->types[column])) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_UTINYINT:
      return at(std::uint8_t{});
    case DUCKDB_TYPE_TINYINT:
      return at(std::int8_t{});
    case DUCKDB_TYPE_SMALLINT:
      return at(std::int16_t{});
    case DUCKDB_TYPE_USMALLINT:
      return at(std::uint16_t{});
    case DUCKDB_TYPE_INTEGER:
      return at(std::int32_t{});
    case DUCKDB_TYPE_UINTEGER:
      return at(std::uint32_t{});
    case DUCKDB_TYPE_BIGINT:
      return at(std::int64_t{});
    case DUCKDB_TYPE_UBIGINT:
      return ClampWide(0, static_cast<const std::uint64_t*>(data)[row]);
    case DUCKDB_TYPE_HUGEINT: {
      const auto& wide = static_cast<const duckdb_hugeint*>(data)[row];
      return ClampWide(wide.upper, wide.lower);
    }
    default:
      return Clamp(Number(column, row));
  }
}

double QueryResult::Number(std::size_t column, std::size_t row) const {
  if (IsNull(column, row)) return 0;
  const void* data = duckdb_vector_get_data(state_->vectors[column]);
  switch (duckdb_get_type_id(state_->types[column])) {
    case DUCKDB_TYPE_FLOAT:
      return static_cast<const float*>(data)[row];
    case DUCKDB_TYPE_DOUBLE:
      return static_cast<const double*>(data)[row];
    case DUCKDB_TYPE_UBIGINT:
      return static_cast<double>(static_cast<const std::uint64_t*>(data)[row]);
    case DUCKDB_TYPE_HUGEINT:
      return duckdb_hugeint_to_double(static_cast<const duckdb_hugeint*>(data)[row]);
    case DUCKDB_TYPE_UHUGEINT:
      return duckdb_uhugeint_to_double(static_cast<const duckdb_uhugeint*>(data)[row]);
    case DUCKDB_TYPE_DECIMAL:
      return std::strtod(ToText(column, row).c_str(), nullptr);
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
      return static_cast<double>(Integer(column, row));
    default:
      return 0;
  }
}

std::string_view QueryResult::Text(std::size_t column, std::size_t row) const {
  if (IsNull(column, row)) return {};
  const auto vector = state_->vectors[column];
  void* data = duckdb_vector_get_data(vector);
  switch (duckdb_get_type_id(state_->types[column])) {
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB: {
      auto* text = static_cast<duckdb_string_t*>(data) + row;
      return {duckdb_string_t_data(text), duckdb_string_t_length(*text)};
    }
    case DUCKDB_TYPE_ENUM:
      return state_->EnumText(column, row);
    default:
      return {};
  }
}

void QueryResult::AppendText(std::size_t column, std::size_t row, std::string& out) const {
  if (kind(column) == ColumnKind::kText && !IsNull(column, row)) {
    out += Text(column, row);
  } else {
    AppendValueText(state_->vectors[column], state_->types[column], row, TextStyle::kPlain, out);
  }
}

void QueryResult::AppendJson(std::size_t column, std::size_t row, std::string& out) const {
  if (kind(column) == ColumnKind::kText && !IsNull(column, row)) {
    AppendJsonString(Text(column, row), out);
  } else {
    AppendValueText(state_->vectors[column], state_->types[column], row, TextStyle::kJson, out);
  }
}

std::string QueryResult::ToText(std::size_t column, std::size_t row) const {
  std::string text;
  AppendText(column, row, text);
  return text;
}

}  // namespace culprit::tables
