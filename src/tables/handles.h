// What the owners of DuckDB's handles share among themselves. Private to tables/.
#pragma once

#include <duckdb.h>

#include <memory>
#include <string>
#include <vector>

#include "tables/database.h"

namespace culprit::tables {

struct Connection::State {
  std::shared_ptr<_duckdb_database> database;
  std::shared_ptr<ColumnStore> store;
  duckdb_connection connection = nullptr;
  SqlError last_error;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (connection != nullptr) duckdb_disconnect(&connection);
  }
  // Keeps what DuckDB said about `sql` and makes an Error of it. `base` is where the statement
  // begins in the SQL that the user gave.
  Error Fail(const char* message, std::string_view sql);
};

struct QueryResult::State {
  std::shared_ptr<void> keep_alive;  // the connection
  duckdb_result result{};
  duckdb_data_chunk chunk = nullptr;
  std::vector<duckdb_logical_type> types;  // of the columns
  std::vector<duckdb_vector> vectors;      // of the chunk
  std::size_t rows = 0;
  std::int64_t changed = 0;
  std::vector<std::vector<std::string>> enum_texts;  // members of ENUM columns, filled when read

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  // Once `result` is filled.
  void ReadTypes();
  std::string_view EnumText(std::size_t column, std::size_t row);
};

// An owner of one logical type.
class LogicalType {
 public:
  explicit LogicalType(duckdb_logical_type type) : type_(type) {}
  LogicalType(const LogicalType&) = delete;
  LogicalType& operator=(const LogicalType&) = delete;
  ~LogicalType() { duckdb_destroy_logical_type(&type_); }
  duckdb_logical_type get() const { return type_; }
  duckdb_type id() const { return duckdb_get_type_id(type_); }

 private:
  duckdb_logical_type type_;
};

// Bytes of a value of the type in DuckDB's vectors; 0 for text, and for types that no table of ours
// has.
std::size_t WidthOf(duckdb_logical_type type);

// A string that DuckDB allocated.
inline std::string TakeString(char* text) {
  std::string copy = text == nullptr ? "" : text;
  duckdb_free(text);
  return copy;
}

}  // namespace culprit::tables
