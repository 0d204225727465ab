// ColumnStore: the big tables of a trace that is loaded into memory, as plain arrays of fixed-size
// values in chunks of rows. DuckDB reads them through a table function (stored_scan.h), our own
// code in place through StoredChunk. Rows are only added, whole chunks at a time; nothing is
// computed.
//
//   StoredTable ── columns (name, DuckDB's type, bytes a value)
//        └─ chunks, in order of their rows:   id   [ int32 ][ int32 ][ int32 ] ...
//                                             ts   [ int64         ][ int64  ] ...
//                                             name [ number of a text of the chunk ] ...
//                                             NULL [ a bit a row; only where one is NULL ]
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"

struct _duckdb_logical_type;

namespace culprit::tables {

// Rows of a full chunk: a row group of DuckDB, what one thread of a query takes at a time.
inline constexpr std::size_t kStoredChunkRows = std::size_t{60} * 2048;

struct StoredColumn {
  std::string name;
  std::shared_ptr<_duckdb_logical_type> type;
  std::size_t width = 0;  // bytes a value in the chunk
  bool is_text = false;   // values are numbers of texts: StoredChunk::Text
};
using StoredColumns = std::shared_ptr<const std::vector<StoredColumn>>;

// A text as DuckDB's vectors hold it (duckdb_string_t): its size, then up to 12 bytes in place, or
// the first 4 and a pointer to all of them, which stay where they are. Unused bytes are zero.
struct alignas(8) StoredText {
  static constexpr std::size_t kInPlace = 12;
  std::uint32_t size = 0;
  std::array<char, kInPlace> bytes{};

  std::string_view view() const {
    if (size <= kInPlace) return {bytes.data(), size};
    const char* place;
    std::memcpy(&place, &bytes[4], sizeof(place));
    return {place, size};
  }
};
static_assert(sizeof(StoredText) == 16);

// Memory of all chunks of a store; shared with the chunks, which give back what they took.
struct StoreMemory {
  std::size_t limit_bytes = 0;
  std::atomic<std::size_t> used_bytes = 0;
};

class StoredChunk {
 public:
  // Room for `capacity` rows. An Error when there is no memory.
  static Result<std::unique_ptr<StoredChunk>> Make(StoredColumns columns, std::size_t capacity,
                                                   std::shared_ptr<StoreMemory> memory);
  ~StoredChunk();
  StoredChunk(const StoredChunk&) = delete;
  StoredChunk& operator=(const StoredChunk&) = delete;

  std::size_t rows() const { return rows_; }
  std::size_t capacity() const { return capacity_; }
  const std::vector<StoredColumn>& columns() const { return *columns_; }

  // The values of a column; T is as wide as its values. Those of NULLs mean nothing.
  template <class T>
  std::span<const T> Values(std::size_t column) const {
    CULPRIT_CHECK((*columns_)[column].width == sizeof(T));
    return {static_cast<const T*>(data(column)), rows_};
  }
  const void* data(std::size_t column) const { return data_ + offsets_[column]; }
  // A bit a row, 1 for a value; null when the column has no NULL here.
  const std::uint64_t* validity(std::size_t column) const { return validity_[column].get(); }
  bool IsNull(std::size_t column, std::size_t row) const {
    return validity_[column] != nullptr && (validity_[column][row / 64] >> (row % 64) & 1) == 0;
  }
  // Of a text column; empty for a NULL.
  std::string_view Text(std::size_t column, std::size_t row) const {
    return texts_[Values<std::uint32_t>(column)[row]].view();
  }
  const std::vector<StoredText>& texts() const { return texts_; }

  // For who fills the chunk, and for nobody once it is in a table.
  void* mutable_data(std::size_t column) { return data_ + offsets_[column]; }
  std::uint64_t* MutableValidity(std::size_t column);
  std::uint32_t AddText(std::string_view text);
  void SetRows(std::size_t rows) { rows_ = rows; }

 private:
  StoredChunk(StoredColumns columns, std::size_t capacity, std::shared_ptr<StoreMemory> memory)
      : columns_(std::move(columns)), capacity_(capacity), memory_(std::move(memory)) {}
  const char* KeepText(std::string_view text);

  StoredColumns columns_;
  std::size_t capacity_;
  std::shared_ptr<StoreMemory> memory_;
  std::size_t rows_ = 0;
  char* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::vector<std::size_t> offsets_;
  std::vector<std::unique_ptr<std::uint64_t[]>> validity_;
  // Each distinct text once; [0] is empty.
  std::vector<StoredText> texts_ = {StoredText{}};
  std::vector<std::uint32_t> text_slots_;  // open addressing over texts_; 0: free
  std::vector<std::unique_ptr<char[]>> text_blocks_;
  std::size_t block_left_ = 0;
  char* block_at_ = nullptr;
};

// Any thread may call anything.
class StoredTable {
 public:
  using Chunks = std::vector<std::shared_ptr<StoredChunk>>;

  StoredTable(std::string name, StoredColumns columns, std::shared_ptr<StoreMemory> memory)
      : name_(std::move(name)), columns_(std::move(columns)), memory_(std::move(memory)) {}

  const std::string& name() const { return name_; }
  const StoredColumns& columns() const { return columns_; }
  // The column exists.
  std::size_t ColumnIndex(std::string_view name) const;

  // The chunks of this moment. They are not changed while anyone may be reading.
  Chunks chunks() const {
    const std::lock_guard lock(mutex_);
    return chunks_;
  }
  // An empty chunk, to be filled and added.
  Result<std::unique_ptr<StoredChunk>> NewChunk(std::size_t capacity) const {
    return StoredChunk::Make(columns_, capacity, memory_);
  }
  void Add(std::unique_ptr<StoredChunk> chunk) {
    const std::lock_guard lock(mutex_);
    chunks_.push_back(std::move(chunk));
  }

 private:
  const std::string name_;
  const StoredColumns columns_;
  const std::shared_ptr<StoreMemory> memory_;
  mutable std::mutex mutex_;
  Chunks chunks_;
};

// The tables of one database, by name. Any thread may call anything.
class ColumnStore {
 public:
  // 0: four fifths of the machine's memory, as DuckDB.
  explicit ColumnStore(std::size_t memory_limit_bytes = 0);

  std::size_t used_bytes() const { return memory_->used_bytes; }
  // Null when there is none of that name.
  std::shared_ptr<StoredTable> Find(std::string_view name) const;
  // Replaces one of the same name; who still reads that keeps it.
  void Put(std::string name, StoredColumns columns);
  void Remove(std::string_view name);
  // True the first time: whoever asks makes it known to DuckDB (stored_scan.h).
  bool BecomesReadable();

 private:
  const std::shared_ptr<StoreMemory> memory_ = std::make_shared<StoreMemory>();
  mutable std::mutex mutex_;
  bool is_readable_ = false;
  std::map<std::string, std::shared_ptr<StoredTable>, std::less<>> tables_;
};

}  // namespace culprit::tables
