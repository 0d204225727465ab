// DuckDB's error texts taken apart, and the place in the SQL drawn with a caret.
// Private to tables/ except PointAt.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tables/database.h"

namespace culprit::tables {

// The line of `text` that holds `offset`, "LINE 3: " before it when there are several, and a caret
// under the place; long lines are cut to a window around it. Columns are counted in characters.
std::string PointAt(std::string_view text, std::size_t offset);

// `text` is what DuckDB gives under errors_as_json, or a plain message of it.
SqlError ParseSqlError(std::string_view text);

// DuckDB's parser counts its offset in characters, its binder in bytes: bytes it is afterwards.
void CountInBytes(SqlError& error, std::string_view sql);

// The Error for `error` that was met in `sql`.
Error ToError(const SqlError& error, std::string_view sql);

}  // namespace culprit::tables
