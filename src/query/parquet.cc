#include "query/parquet.h"

#include <set>

#include "tables/appender.h"

namespace culprit::query {

Result<std::uint64_t> WriteParquet(tables::QueryResult& result, const tables::Database& database,
                                   const std::string& path) {
  if (!result.has_rows()) return Error{"the statement gives no rows to write", ""};
  CULPRIT_ASSIGN(auto connection, database.Connect());
  std::set<std::string> used;
  std::string create = "CREATE TEMP TABLE __result (";
  for (std::size_t column = 0; column < result.column_count(); ++column) {
    std::string name(result.name(column));
    for (int number = 2; !used.insert(name).second; ++number) {
      name = std::string(result.name(column)) + "_" + std::to_string(number);
    }
    if (column != 0) create += ", ";
    create += tables::QuoteName(name) + " " + result.TypeName(column);
  }
  CULPRIT_TRY(connection.Execute(create + ")"));
  CULPRIT_ASSIGN(const auto rows, tables::AppendResult(result, connection, "temp", "__result"));
  CULPRIT_TRY(connection.Execute("COPY __result TO " + tables::QuoteText(path) +
                                 " (FORMAT parquet, COMPRESSION zstd)"));
  return rows;
}

}  // namespace culprit::query
