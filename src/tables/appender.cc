#include "tables/appender.h"

#include <duckdb.h>

#include <algorithm>
#include <array>

#include "tables/column_store.h"
#include "tables/handles.h"
#include "tables/sql_place.h"

namespace culprit::tables {

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

namespace {

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

// --- Where the rows go ------------------------------------------------------------------------

class Appender::Target {
 public:
  virtual ~Target() = default;
  virtual std::size_t ColumnIndex(std::string_view name) const = 0;
  virtual std::uint64_t* MakeValidity(std::size_t column) = 0;
  virtual void SetText(std::size_t column, std::size_t row, std::string_view text) = 0;
  // The rows of the chunk are done: makes room for the next one.
  virtual Status Flush(Appender& appender, std::size_t rows) = 0;
  virtual Status Close() = 0;
};

class Appender::DuckDbTarget final : public Target {
 public:
  DuckDbTarget(Connection connection, std::string table)
      : connection_(std::move(connection)), table_(std::move(table)) {}
  DuckDbTarget(const DuckDbTarget&) = delete;
  DuckDbTarget& operator=(const DuckDbTarget&) = delete;
  ~DuckDbTarget() override {
    duckdb_destroy_data_chunk(&chunk_);
    // Closing would commit half a table; without a commit the rows are dropped with the
    // connection.
    duckdb_appender_destroy(&appender_);
  }

  Status Start(Appender& appender) {
    // Rows that DuckDB takes over early stay invisible, and at their place, until Close.
    CULPRIT_TRY(connection_.Execute("BEGIN"));
    if (duckdb_appender_create(connection_.handle(), nullptr, table_.c_str(), &appender_) !=
        DuckDBSuccess) {
      return Failure();
    }
    duckdb_table_description description = nullptr;
    const auto described = duckdb_table_description_create(connection_.handle(), nullptr,
                                                           table_.c_str(), &description);
    const std::unique_ptr<duckdb_table_description, decltype(&duckdb_table_description_destroy)>
        owner(&description, &duckdb_table_description_destroy);
    if (described != DuckDBSuccess) return Error{"describe " + table_, ""};
    std::vector<duckdb_logical_type> types;
    const auto count = duckdb_appender_column_count(appender_);
    for (idx_t i = 0; i < count; ++i) {
      names_.push_back(TakeString(duckdb_table_description_get_column_name(description, i)));
      types.push_back(duckdb_appender_column_type(appender_, i));
      const auto id = duckdb_get_type_id(types.back());
      const bool is_text = id == DUCKDB_TYPE_VARCHAR || id == DUCKDB_TYPE_BLOB;
      appender.columns_.push_back({nullptr, nullptr, WidthOf(types.back()), is_text});
    }
    chunk_ = duckdb_create_data_chunk(types.data(), count);
    for (auto& type : types) duckdb_destroy_logical_type(&type);
    ResetChunk(appender);
    return {};
  }

  std::size_t ColumnIndex(std::string_view name) const override {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    CULPRIT_CHECK(!"a column that the table does not have");
    return 0;
  }

  std::uint64_t* MakeValidity(std::size_t column) override {
    const auto vector = duckdb_data_chunk_get_vector(chunk_, column);
    duckdb_vector_ensure_validity_writable(vector);
    return duckdb_vector_get_validity(vector);
  }

  void SetText(std::size_t column, std::size_t row, std::string_view text) override {
    const auto vector = duckdb_data_chunk_get_vector(chunk_, column);
    if (IsAscii(text)) {
      duckdb_vector_assign_string_element_len(vector, row, text.data(), text.size());
    } else {
      const std::string clean = ToUtf8(text);
      duckdb_vector_assign_string_element_len(vector, row, clean.data(), clean.size());
    }
  }

  Status Flush(Appender& appender, std::size_t rows) override {
    duckdb_data_chunk_set_size(chunk_, rows);
    if (duckdb_append_data_chunk(appender_, chunk_) != DuckDBSuccess) return Failure();
    ResetChunk(appender);
    return {};
  }

  Status Close() override {
    if (duckdb_appender_close(appender_) != DuckDBSuccess) return Failure();
    return connection_.Execute("COMMIT");
  }

 private:
  void ResetChunk(Appender& appender) {
    duckdb_data_chunk_reset(chunk_);
    for (std::size_t i = 0; i < appender.columns_.size(); ++i) {
      ColumnState& column = appender.columns_[i];
      column.data = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, i));
      column.validity = nullptr;
    }
  }

  Error Failure() const {
    const char* message = duckdb_appender_error(appender_);
    const SqlError error = ParseSqlError(message == nullptr ? "DuckDB gives no reason" : message);
    return Error{"append to " + table_ + ": " + error.message, ""};
  }

  Connection connection_;
  std::string table_;
  std::vector<std::string> names_;
  duckdb_appender appender_ = nullptr;
  duckdb_data_chunk chunk_ = nullptr;
};

// Writes in place: the chunk being filled is the end of a StoredChunk.
class Appender::StoredTarget final : public Target {
 public:
  explicit StoredTarget(std::shared_ptr<StoredTable> table) : table_(std::move(table)) {}

  Status Start(Appender& appender, std::size_t expected_rows) {
    expected_rows_ = expected_rows;
    for (const StoredColumn& column : *table_->columns()) {
      appender.columns_.push_back({nullptr, nullptr, column.width, column.is_text});
    }
    return MakeRoom(appender);
  }

  std::size_t ColumnIndex(std::string_view name) const override {
    return table_->ColumnIndex(name);
  }

  std::uint64_t* MakeValidity(std::size_t column) override {
    return chunk_->MutableValidity(column);
  }

  void SetText(std::size_t column, std::size_t row, std::string_view text) override {
    auto* numbers = static_cast<std::uint32_t*>(chunk_->mutable_data(column));
    numbers[chunk_->rows() + row] =
        IsAscii(text) ? chunk_->AddText(text) : chunk_->AddText(ToUtf8(text));
  }

  Status Flush(Appender& appender, std::size_t rows) override {
    chunk_->SetRows(chunk_->rows() + rows);
    return MakeRoom(appender);
  }

  Status Close() override {
    for (auto& chunk : full_) table_->Add(std::move(chunk));
    if (chunk_->rows() > 0) table_->Add(std::move(chunk_));
    return {};
  }

 private:
  Status MakeRoom(Appender& appender) {
    if (chunk_ == nullptr || chunk_->rows() + kChunkRows > chunk_->capacity()) {
      if (chunk_ != nullptr) full_.push_back(std::move(chunk_));
      const std::size_t rows = (expected_rows_ + kChunkRows - 1) / kChunkRows * kChunkRows;
      CULPRIT_ASSIGN(chunk_, table_->NewChunk(std::clamp(rows, kChunkRows, kStoredChunkRows)));
      expected_rows_ = kStoredChunkRows;  // should more come than was expected
      for (ColumnState& column : appender.columns_) column.validity = nullptr;
    }
    appender.first_bit_ = chunk_->rows();
    for (std::size_t i = 0; i < appender.columns_.size(); ++i) {
      ColumnState& column = appender.columns_[i];
      column.data = static_cast<char*>(chunk_->mutable_data(i)) + chunk_->rows() * column.width;
    }
    return {};
  }

  std::shared_ptr<StoredTable> table_;
  std::size_t expected_rows_ = 0;
  std::vector<std::unique_ptr<StoredChunk>> full_;
  std::unique_ptr<StoredChunk> chunk_;
};

// --- Appender ---------------------------------------------------------------------------------

Appender::Appender(std::unique_ptr<Target> target) : target_(std::move(target)) {}
Appender::Appender(Appender&&) noexcept = default;
Appender& Appender::operator=(Appender&&) noexcept = default;
Appender::~Appender() = default;

Result<Appender> Appender::Open(const Database& database, std::string_view table,
                                std::size_t expected_rows) {
  if (auto stored = database.store()->Find(table); stored != nullptr) {
    auto target = std::make_unique<StoredTarget>(std::move(stored));
    StoredTarget& own = *target;
    Appender appender(std::move(target));
    CULPRIT_TRY(own.Start(appender, expected_rows));
    return appender;
  }
  CULPRIT_ASSIGN(auto connection, database.Connect());
  auto target = std::make_unique<DuckDbTarget>(std::move(connection), std::string(table));
  DuckDbTarget& own = *target;
  Appender appender(std::move(target));
  CULPRIT_TRY(own.Start(appender));
  return appender;
}

std::size_t Appender::ColumnIndex(std::string_view name) const {
  return target_->ColumnIndex(name);
}

std::uint64_t* Appender::MakeValidity(std::size_t column) { return target_->MakeValidity(column); }

void Appender::SetText(std::size_t column, std::size_t row, std::string_view text) {
  CULPRIT_CHECK(columns_[column].is_text && row < kChunkRows);
  target_->SetText(column, row, text);
}

Status Appender::Flush(std::size_t rows) {
  CULPRIT_CHECK(rows <= kChunkRows);
  if (rows == 0) return {};
  return target_->Flush(*this, rows);
}

Status Appender::Close() { return target_->Close(); }

// --- Results ----------------------------------------------------------------------------------

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

}  // namespace culprit::tables
