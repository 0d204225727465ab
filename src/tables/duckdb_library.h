// Loads libduckdb.so when the first database is opened, so that runs without SQL do not pay for it.
// Knows nothing of databases; until it has succeeded no duckdb_ function may be called.
#pragma once

#include "base/result.h"

namespace culprit::tables {

// Thread-safe; cheap after the first time.
[[nodiscard]] Status LoadDuckDb();

}  // namespace culprit::tables
