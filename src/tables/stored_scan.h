// How DuckDB reads a ColumnStore: the table function stored_rows('NAME'), and views of the tables'
// own names over it. Scans run on all threads; a single-threaded one gives the rows in their order.
// No filter is pushed down and there are no statistics: DuckDB's C API has neither.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "tables/database.h"

namespace culprit::tables {

// Makes stored tables of these tables, which are there and empty: each becomes a view of the same
// name and columns. Appender::Open then fills the stored ones.
Status MoveToStore(Connection& connection, std::span<const std::string_view> tables);

// Takes the views and the stored tables of these names away, where there are any.
Status DropStored(Connection& connection, std::span<const std::string_view> tables);

}  // namespace culprit::tables
