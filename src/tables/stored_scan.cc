#include "tables/stored_scan.h"

#include <duckdb.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tables/column_store.h"
#include "tables/handles.h"

namespace culprit::tables {
namespace {

constexpr std::size_t kVectorRows = 2048;
static_assert(kStoredChunkRows % kVectorRows == 0);

template <class T>
void Delete(void* pointer) {
  delete static_cast<T*>(pointer);
}

// What a statement reads: the chunks of the moment at which it was bound.
struct Bound {
  StoredColumns columns;
  StoredTable::Chunks chunks;
};

// One run of it: which columns, and the next chunk that nobody has taken.
struct Scan {
  const Bound* bound;
  std::vector<std::size_t> columns;
  std::atomic<std::size_t> next_chunk = 0;
};

// One thread of it.
struct Position {
  const StoredChunk* chunk = nullptr;
  std::size_t row = 0;
};

// Called by DuckDB, which is C++ but wants no exception of ours: there is none to throw here but
// bad_alloc.
void Bind(duckdb_bind_info info) {
  const auto& store =
      *static_cast<const std::shared_ptr<ColumnStore>*>(duckdb_bind_get_extra_info(info));
  duckdb_value argument = duckdb_bind_get_parameter(info, 0);
  const std::string name = TakeString(duckdb_get_varchar(argument));
  duckdb_destroy_value(&argument);
  const auto table = store->Find(name);
  if (table == nullptr) {
    duckdb_bind_set_error(info, ("there is no stored table " + name).c_str());
    return;
  }
  auto bound = std::make_unique<Bound>(Bound{table->columns(), table->chunks()});
  for (const StoredColumn& column : *bound->columns) {
    duckdb_bind_add_result_column(info, column.name.c_str(), column.type.get());
  }
  std::size_t rows = 0;
  for (const auto& chunk : bound->chunks) rows += chunk->rows();
  duckdb_bind_set_cardinality(info, rows, true);
  duckdb_bind_set_bind_data(info, bound.release(), &Delete<Bound>);
}

void Init(duckdb_init_info info) {
  auto scan = std::make_unique<Scan>();
  scan->bound = static_cast<const Bound*>(duckdb_init_get_bind_data(info));
  const idx_t count = duckdb_init_get_column_count(info);
  for (idx_t i = 0; i < count; ++i) {
    scan->columns.push_back(duckdb_init_get_column_index(info, i));
  }
  duckdb_init_set_max_threads(info, std::max<std::size_t>(1, scan->bound->chunks.size()));
  duckdb_init_set_init_data(info, scan.release(), &Delete<Scan>);
}

void InitThread(duckdb_init_info info) {
  duckdb_init_set_init_data(info, new Position, &Delete<Position>);
}

// Rows begin..begin+count of a column; begin is a multiple of 64.
void CopyColumn(const StoredChunk& chunk, std::size_t column, std::size_t begin, std::size_t count,
                duckdb_vector out) {
  const StoredColumn& about = chunk.columns()[column];
  void* data = duckdb_vector_get_data(out);
  const std::uint64_t* validity = chunk.validity(column);
  if (validity != nullptr) {
    duckdb_vector_ensure_validity_writable(out);
    std::memcpy(duckdb_vector_get_validity(out), validity + begin / 64, (count + 63) / 64 * 8);
  }
  if (!about.is_text) {
    std::memcpy(data, static_cast<const char*>(chunk.data(column)) + begin * about.width,
                count * about.width);
    return;
  }
  // The texts stay with the chunk, and the chunk with the statement. A NULL's number may be any.
  const auto numbers = chunk.Values<std::uint32_t>(column).subspan(begin, count);
  auto* texts = static_cast<StoredText*>(data);
  const StoredText* known = chunk.texts().data();
  for (std::size_t i = 0; i < count; ++i) texts[i] = known[numbers[i]];
}

void Read(duckdb_function_info info, duckdb_data_chunk out) {
  auto& scan = *static_cast<Scan*>(duckdb_function_get_init_data(info));
  auto& position = *static_cast<Position*>(duckdb_function_get_local_init_data(info));
  while (position.chunk == nullptr || position.row == position.chunk->rows()) {
    const std::size_t next = scan.next_chunk++;
    if (next >= scan.bound->chunks.size()) {
      duckdb_data_chunk_set_size(out, 0);
      return;
    }
    position = {scan.bound->chunks[next].get(), 0};
  }
  const std::size_t count = std::min(kVectorRows, position.chunk->rows() - position.row);
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    if (scan.columns[i] >= position.chunk->columns().size()) continue;  // rows alone are counted
    CopyColumn(*position.chunk, scan.columns[i], position.row, count,
               duckdb_data_chunk_get_vector(out, i));
  }
  position.row += count;
  duckdb_data_chunk_set_size(out, count);
}

Status RegisterFunction(Connection& connection) {
  duckdb_table_function function = duckdb_create_table_function();
  const std::unique_ptr<duckdb_table_function, decltype(&duckdb_destroy_table_function)> owner(
      &function, &duckdb_destroy_table_function);
  duckdb_table_function_set_name(function, "stored_rows");
  const LogicalType text(duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR));
  duckdb_table_function_add_parameter(function, text.get());
  duckdb_table_function_set_extra_info(function,
                                       new std::shared_ptr<ColumnStore>(connection.store()),
                                       &Delete<std::shared_ptr<ColumnStore>>);
  duckdb_table_function_set_bind(function, &Bind);
  duckdb_table_function_set_init(function, &Init);
  duckdb_table_function_set_local_init(function, &InitThread);
  duckdb_table_function_set_function(function, &Read);
  duckdb_table_function_supports_projection_pushdown(function, true);
  if (duckdb_register_table_function(connection.handle(), function) != DuckDBSuccess) {
    return Error{"DuckDB takes no table function", ""};
  }
  return {};
}

// Columns and types as DuckDB has made them of the schema.
Result<StoredColumns> ColumnsOf(Connection& connection, std::string_view table) {
  CULPRIT_ASSIGN(auto result, connection.Query("FROM " + QuoteName(table) + " LIMIT 0"));
  auto columns = std::make_shared<std::vector<StoredColumn>>();
  for (std::size_t i = 0; i < result.column_count(); ++i) {
    StoredColumn column;
    column.name = result.name(i);
    column.type = {
        duckdb_column_logical_type(const_cast<duckdb_result*>(&result.state().result), i),
        [](duckdb_logical_type type) { duckdb_destroy_logical_type(&type); }};
    column.is_text = duckdb_get_type_id(column.type.get()) == DUCKDB_TYPE_VARCHAR;
    column.width = column.is_text ? sizeof(std::uint32_t) : WidthOf(column.type.get());
    CULPRIT_CHECK(column.width != 0);
    columns->push_back(std::move(column));
  }
  return StoredColumns(std::move(columns));
}

}  // namespace

Status MoveToStore(Connection& connection, std::span<const std::string_view> tables) {
  ColumnStore& store = *connection.store();
  if (store.BecomesReadable()) CULPRIT_TRY(RegisterFunction(connection));
  std::string script = "BEGIN;";
  for (const std::string_view table : tables) {
    CULPRIT_ASSIGN(auto columns, ColumnsOf(connection, table));
    store.Put(std::string(table), std::move(columns));
    const std::string name = QuoteName(table);
    script += fmt::format("DROP TABLE {};CREATE VIEW {} AS FROM stored_rows({});", name, name,
                          QuoteText(table));
  }
  return connection.Execute(script + "COMMIT");
}

Status DropStored(Connection& connection, std::span<const std::string_view> tables) {
  for (const std::string_view table : tables) {
    if (connection.store()->Find(table) == nullptr) continue;
    CULPRIT_TRY(connection.Execute("DROP VIEW " + QuoteName(table)));
    connection.store()->Remove(table);
  }
  return {};
}

}  // namespace culprit::tables
