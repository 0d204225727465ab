// The rows of a result as text: aligned table, CSV, JSON, lines of JSON, Markdown.
// Parquet is a file and not text: WriteParquet (query/parquet.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "query/output.h"
#include "tables/query_result.h"

namespace culprit::query {

enum class Format { kTable, kCsv, kJson, kNdjson, kMarkdown, kParquet };

struct FormatName {
  Format format;
  std::string_view name;
  std::string_view summary;
};

// Every format, in the order in which they are listed.
std::span<const FormatName> Formats();
std::optional<Format> FormatByName(std::string_view name);

// Writes the header and every row, and returns the number of rows. A result without rows to show
// (CREATE ...) writes nothing. Not for kParquet.
//
// table     columns aligned, numbers to the right, NULL as [NULL]; safe for a terminal
// csv       RFC 4180 with \n as the end of a line: NULL is an empty field, an empty text is ""
// json      an array of objects, one a line; integers whole, NaN and infinities null
// ndjson    the objects alone, one a line
// markdown  a table; NULL as NULL
Result<std::uint64_t> WriteRows(tables::QueryResult& result, Format format, Output& output);

}  // namespace culprit::query
