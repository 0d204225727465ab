// One value of a DuckDB vector as text, whatever its type. Private to tables/.
#pragma once

#include <duckdb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace culprit::tables {

// Plain is for a cell; Json is for a value inside a list or struct: text is quoted, NULL is null.
enum class TextStyle { kPlain, kJson };

bool IsNullAt(duckdb_vector vector, std::size_t row);

// The index of an ENUM value among its members.
std::uint64_t EnumIndexAt(duckdb_vector vector, duckdb_logical_type type, std::size_t row);

void AppendValueText(duckdb_vector vector, duckdb_logical_type type, std::size_t row,
                     TextStyle style, std::string& out);

// The shortest text that reads back as the same number, and as no integer: "0.1", "2.0", "1e+300",
// "nan", "inf".
void AppendNumber(double value, std::string& out);

// A 128-bit integer's decimal digits; `scale` of them behind a point.
void AppendWide(__int128 value, unsigned scale, std::string& out);

// Microseconds since 1970 (UTC) as "2024-05-01 12:00:00.123456".
void AppendTimestamp(std::int64_t micros, std::string& out);

}  // namespace culprit::tables
