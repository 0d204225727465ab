// The rows of a query, a chunk at a time, typed as DuckDB made them, and any value as text.
// Holds no connection; output formats (csv, json ...) are made in query/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::tables {

// What a column is to a reader: the width of integers and the like is DuckDB's business.
enum class ColumnKind {
  kNull,     // a column that is NULL in every row
  kBool,     //
  kInteger,  // fits std::int64_t: every width but the three below
  kWide,     // UBIGINT, HUGEINT, UHUGEINT: Integer() where the value fits, AppendText() always
  kNumber,   // FLOAT, DOUBLE, DECIMAL
  kText,     // VARCHAR, ENUM
  kBlob,     //
  kOther,    // dates, lists, structs ...: AppendText()
};

// `text`, valid UTF-8, between double quotes with JSON's escapes.
void AppendJsonString(std::string_view text, std::string& out);

class QueryResult {
 public:
  struct State;
  explicit QueryResult(std::unique_ptr<State> state);
  QueryResult(QueryResult&&) noexcept;
  QueryResult& operator=(QueryResult&&) noexcept;
  ~QueryResult();

  std::size_t column_count() const;
  std::string_view name(std::size_t column) const;
  ColumnKind kind(std::size_t column) const;
  // "BIGINT", "VARCHAR", "STRUCT(...)": as SQL writes the type.
  std::string TypeName(std::size_t column) const;
  // False for statements that change or define something and so have no rows to show.
  bool has_rows() const;
  std::int64_t rows_changed() const;

  // Goes to the next chunk; false when there is none. Rows below are those of the chunk.
  Result<bool> Next();
  std::size_t chunk_rows() const;

  bool IsNull(std::size_t column, std::size_t row) const;
  bool Bool(std::size_t column, std::size_t row) const;
  // kBool, kInteger; kWide and kNumber rounded toward the range of int64. Zero for NULL.
  std::int64_t Integer(std::size_t column, std::size_t row) const;
  double Number(std::size_t column, std::size_t row) const;
  // kText and kBlob; valid until Next(). Empty for NULL.
  std::string_view Text(std::size_t column, std::size_t row) const;
  // Any value, NULL as "NULL"; numbers so that reading them gives the same value again; nested
  // values as JSON.
  void AppendText(std::size_t column, std::size_t row, std::string& out) const;
  std::string ToText(std::size_t column, std::size_t row) const;
  // Any value as JSON: numbers whole, what is neither number nor text nor nested as a string, NULL,
  // NaN and infinities as null.
  void AppendJson(std::size_t column, std::size_t row, std::string& out) const;

  const State& state() const { return *state_; }  // for tables/ alone

 private:
  std::unique_ptr<State> state_;
};

}  // namespace culprit::tables
