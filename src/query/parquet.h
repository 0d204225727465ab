// The rows of a result as a Parquet file.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "tables/database.h"
#include "tables/query_result.h"

namespace culprit::query {

// Writes the rows to `path`, zstd compressed, and returns their number. They pass through a
// temporary table of a connection of its own, so `result` may stream from another.
Result<std::uint64_t> WriteParquet(tables::QueryResult& result, const tables::Database& database,
                                   const std::string& path);

}  // namespace culprit::query
