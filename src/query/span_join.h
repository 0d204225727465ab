// SPAN_JOIN as a query of DuckDB: where intervals of two tables overlap, split at every boundary.
#pragma once

#include <string>

#include "base/result.h"
#include "query/catalog.h"
#include "query/perfetto_sql.h"

namespace culprit::query {

// The SELECT that gives the rows: ts, dur, the partition if there is one, then the other columns of
// both tables. Intervals of one table must not overlap within a partition. An Error says what the
// tables lack.
//
//   left   |--A--|        |---B---|
//   right      |-----X------|
//   inner      |A|        |B|          LEFT adds the rest of A and B, with X's columns NULL,
//                                      OUTER also the rest of X.
Result<std::string> SpanJoinQuery(Catalog& catalog, SpanJoinKind kind, const SpanTable& left,
                                  const SpanTable& right);

}  // namespace culprit::query
