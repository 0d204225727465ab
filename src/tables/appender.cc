#include "tables/appender.h"

#include <duckdb.h>

#include <array>

#include "tables/handles.h"
#include "tables/sql_place.h"

namespace culprit::tables {
namespace {

std::size_t WidthOf(duckdb_logical_type type) {
  auto id = duckdb_get_type_id(type);
  if (id == DUCKDB_TYPE_ENUM) id = duckdb_enum_internal_type(type);
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_UTINYINT:
      return 1;
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_USMALLINT:
      return 2;
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_FLOAT:
      return 4;
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_DOUBLE:
      return 8;
    default:
      return 0;  // text, and types that no table of ours has
  }
}

// The length of the UTF-8 sequence at the start of `text`, or 0 when it is none: overlong forms,
// surrogates and code points past U+10FFFF are none.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

bool IsAscii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

}  // namespace

std::string ToUtf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0) {
      clean += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      clean += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

struct Appender::State {
  explicit State(Connection owned) : connection(std::move(owned)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    duckdb_destroy_data_chunk(&chunk);
    // Closing would commit half a table; without a commit the rows are dropped with the
    // connection.
    duckdb_appender_destroy(&appender);
  }

  Connection connection;
  std::string table;
  std::vector<std::string> names;
  duckdb_appender appender = nullptr;
  duckdb_data_chunk chunk = nullptr;
};

Appender::Appender(std::unique_ptr<State> state) : state_(std::move(state)) {}
Appender::Appender(Appender&&) noexcept = default;
Appender& Appender::operator=(Appender&&) noexcept = default;
Appender::~Appender() = default;

Error Appender::Failure() const {
  const char* message = duckdb_appender_error(state_->appender);
  const SqlError error = ParseSqlError(message == nullptr ? "DuckDB gives no reason" : message);
  return Error{"append to " + state_->table + ": " + error.message, ""};
}

Result<Appender> Appender::Open(const Database& database, std::string_view table) {
  CULPRIT_ASSIGN(auto connection, database.Connect());
  auto state = std::make_unique<State>(std::move(connection));
  state->table = table;
  Appender appender(std::move(state));
  State& own = *appender.state_;
  if (duckdb_appender_create(own.connection.handle(), nullptr, own.table.c_str(), &own.appender) !=
      DuckDBSuccess) {
    return appender.Failure();
  }
  const auto count = duckdb_appender_column_count(own.appender);
  const Value name = std::string_view(own.table);
  CULPRIT_ASSIGN(auto names,
                 own.connection.Query("SELECT column_name FROM duckdb_columns() WHERE table_name = "
                                      "? ORDER BY column_index",
                                      {&name, 1}));
  for (;;) {
    CULPRIT_ASSIGN(const bool more, names.Next());
    if (!more) break;
    for (std::size_t row = 0; row < names.chunk_rows(); ++row) {
      own.names.emplace_back(names.Text(0, row));
    }
  }
  std::vector<duckdb_logical_type> types;
  for (idx_t i = 0; i < count; ++i) {
    types.push_back(duckdb_appender_column_type(own.appender, i));
    const auto id = duckdb_get_type_id(types.back());
    const bool is_text = id == DUCKDB_TYPE_VARCHAR || id == DUCKDB_TYPE_BLOB;
    appender.columns_.push_back({nullptr, nullptr, WidthOf(types.back()), is_text});
  }
  own.chunk = duckdb_create_data_chunk(types.data(), count);
  for (auto& type : types) duckdb_destroy_logical_type(&type);
  appender.ResetChunk();
  return appender;
}

std::size_t Appender::ColumnIndex(std::string_view name) const {
  for (std::size_t i = 0; i < state_->names.size(); ++i) {
    if (state_->names[i] == name) return i;
  }
  CULPRIT_CHECK(!"a column that the table does not have");
  return 0;
}

void Appender::ResetChunk() {
  duckdb_data_chunk_reset(state_->chunk);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].data = duckdb_vector_get_data(duckdb_data_chunk_get_vector(state_->chunk, i));
    columns_[i].validity = nullptr;
  }
}

std::uint64_t* Appender::MakeValidity(std::size_t column) {
  const auto vector = duckdb_data_chunk_get_vector(state_->chunk, column);
  duckdb_vector_ensure_validity_writable(vector);
  return duckdb_vector_get_validity(vector);
}

void Appender::SetText(std::size_t column, std::size_t row, std::string_view text) {
  CULPRIT_CHECK(columns_[column].is_text && row < kChunkRows);
  const auto vector = duckdb_data_chunk_get_vector(state_->chunk, column);
  if (IsAscii(text)) {
    duckdb_vector_assign_string_element_len(vector, row, text.data(), text.size());
  } else {
    const std::string clean = ToUtf8(text);
    duckdb_vector_assign_string_element_len(vector, row, clean.data(), clean.size());
  }
}

Status Appender::Flush(std::size_t rows) {
  CULPRIT_CHECK(rows <= kChunkRows);
  if (rows == 0) return {};
  duckdb_data_chunk_set_size(state_->chunk, rows);
  if (duckdb_append_data_chunk(state_->appender, state_->chunk) != DuckDBSuccess) return Failure();
  ResetChunk();
  return {};
}

Result<std::uint64_t> AppendResult(QueryResult& result, Connection& connection,
                                   const std::string& catalog, const std::string& table) {
  duckdb_appender appender = nullptr;
  const std::unique_ptr<duckdb_appender, void (*)(duckdb_appender*)> owner(
      &appender, [](duckdb_appender* owned) { duckdb_appender_destroy(owned); });
  const auto failure = [&] {
    const char* message = duckdb_appender_error(appender);
    return Error{ParseSqlError(message == nullptr ? "DuckDB gives no reason" : message).message,
                 ""};
  };
  if (duckdb_appender_create_ext(connection.handle(), catalog.c_str(), nullptr, table.c_str(),
                                 &appender) != DuckDBSuccess) {
    return failure();
  }
  std::uint64_t rows = 0;
  for (;;) {
    CULPRIT_ASSIGN(const bool more, result.Next());
    if (!more) break;
    if (duckdb_append_data_chunk(appender, result.state().chunk) != DuckDBSuccess) return failure();
    rows += result.chunk_rows();
  }
  if (duckdb_appender_close(appender) != DuckDBSuccess) return failure();
  return rows;
}

Status Appender::Close() {
  if (duckdb_appender_close(state_->appender) != DuckDBSuccess) return Failure();
  return {};
}

}  // namespace culprit::tables
