// SQLite's printf(format, ...) as an expression of DuckDB, whose own takes no value of another
// kind than the format names. Formats that are no constant are left to DuckDB.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "query/scope.h"

namespace culprit::query {

// `arguments` are the format and the values, `types` what they are.
std::optional<nlohmann::json> RewritePrintf(std::vector<nlohmann::json> arguments,
                                            const std::vector<Type>& types, std::uint64_t place);

}  // namespace culprit::query
