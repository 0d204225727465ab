// Bulk append to one table, a chunk of columns at a time: one thread, one table. The table is one
// of DuckDB's or a stored one (column_store.h). Checks widths, not meanings; what is not closed is
// not in the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "tables/database.h"

namespace culprit::tables {

// `text` with each byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string ToUtf8(std::string_view text);

class Appender {
 public:
  static constexpr std::size_t kChunkRows = 2048;  // DuckDB's vector size

  // `expected_rows` saves memory where few are to come; more may come.
  static Result<Appender> Open(const Database& database, std::string_view table,
                               std::size_t expected_rows = kChunkRows);

  Appender(Appender&&) noexcept;
  Appender& operator=(Appender&&) noexcept;
  ~Appender();  // drops what was not closed

  // The column of the chunk being filled, kChunkRows values; T is as wide as the table's type (an
  // ENUM column is an unsigned integer of its members' index). Valid until Flush.
  template <class T>
  T* Column(std::size_t column) {
    CULPRIT_CHECK(column < columns_.size() && columns_[column].width == sizeof(T) &&
                  !columns_[column].is_text);
    return static_cast<T*>(columns_[column].data);
  }
  std::size_t column_count() const { return columns_.size(); }
  // The index of a column by its name in the table; the caller knows that it exists.
  std::size_t ColumnIndex(std::string_view name) const;

  // Values are not NULL unless said so, and no longer NULL after Flush.
  void SetNull(std::size_t column, std::size_t row) {
    auto*& validity = columns_[column].validity;
    if (validity == nullptr) validity = MakeValidity(column);
    const std::size_t bit = first_bit_ + row;
    validity[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  }
  // The same for up to 64 rows at once: bit i of `nulls` is row `row` + i, a multiple of 64.
  void SetNulls(std::size_t column, std::size_t row, std::uint64_t nulls) {
    if (nulls == 0) return;
    auto*& validity = columns_[column].validity;
    if (validity == nullptr) validity = MakeValidity(column);
    const std::size_t bit = first_bit_ + row;
    validity[bit / 64] &= ~(nulls << (bit % 64));
    if (bit % 64 != 0 && nulls >> (64 - bit % 64) != 0) {
      validity[bit / 64 + 1] &= ~(nulls >> (64 - bit % 64));
    }
  }
  // The member of an ENUM column whose width depends on how many members the type has.
  void SetEnum(std::size_t column, std::size_t row, std::size_t member) {
    const ColumnState& state = columns_[column];
    if (state.width == 1) {
      static_cast<std::uint8_t*>(state.data)[row] = static_cast<std::uint8_t>(member);
    } else {
      CULPRIT_CHECK(state.width == 2);
      static_cast<std::uint16_t*>(state.data)[row] = static_cast<std::uint16_t>(member);
    }
  }
  // Copies `text`; bytes that are not UTF-8 become U+FFFD, which DuckDB would refuse otherwise.
  void SetText(std::size_t column, std::size_t row, std::string_view text);

  // Appends the first `rows` rows of the chunk and begins the next one.
  Status Flush(std::size_t rows);
  // Commits what was flushed. Nothing may be appended afterwards.
  Status Close();

 private:
  struct ColumnState {
    void* data = nullptr;
    std::uint64_t* validity = nullptr;  // null: no NULL in this chunk so far
    std::size_t width = 0;
    bool is_text = false;
  };
  class Target;
  class DuckDbTarget;
  class StoredTarget;
  explicit Appender(std::unique_ptr<Target> target);
  std::uint64_t* MakeValidity(std::size_t column);

  std::unique_ptr<Target> target_;
  std::vector<ColumnState> columns_;
  std::size_t first_bit_ = 0;  // of the chunk being filled, in its validity
};

// Appends every row of `result` to a table with its columns, and returns their number.
Result<std::uint64_t> AppendResult(QueryResult& result, Connection& connection,
                                   const std::string& catalog, const std::string& table);

}  // namespace culprit::tables
