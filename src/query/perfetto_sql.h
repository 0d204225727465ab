// The statements that PerfettoSQL has beyond SQL, parsed: INCLUDE PERFETTO MODULE, CREATE PERFETTO
// TABLE | VIEW | FUNCTION | MACRO | INDEX, SPAN_JOIN tables. Runs nothing: that is engine.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/scope.h"
#include "query/token.h"
#include "tables/database.h"

namespace culprit::query {

// One side of a SPAN_JOIN.
struct SpanTable {
  std::string name;
  std::string partition;  // empty: none
};

enum class SpanJoinKind { kInner, kLeft, kOuter };

struct PerfettoStatement {
  enum class Kind {
    kInclude,    // name is the module, perhaps with a "*" for its last part
    kTable,      // name, columns, body
    kView,       // likewise
    kFunction,   // name, parameters, result or columns, body
    kMacro,      // name, parameters (names alone), body
    kIndex,      // names a table; DuckDB needs no index
    kDropTable,  // name
    kDropView,   // name
    kDropIndex,  //
    kSpanJoin,   // name, span_kind, left, right
    kRunMetric,  // not offered
  };
  Kind kind = Kind::kInclude;
  std::string name;
  std::size_t name_offset = 0;  // in the user's SQL
  bool replace = false;
  bool if_exists = false;
  Columns columns;     // declared; empty when none are
  Columns parameters;  //
  Type result = Type::kUnknown;
  bool returns_table = false;
  SpanJoinKind span_kind = SpanJoinKind::kInner;
  SpanTable left;
  SpanTable right;
  Tokens body;
};

// Nothing when the statement is not one of these; an error when it is and is malformed.
std::optional<PerfettoStatement> ParsePerfetto(const Tokens& tokens,
                                               std::optional<tables::SqlError>& error);

// "LONG", "STRING", "JOINID" and the like; kUnknown for what is no type of PerfettoSQL.
Type TypeOfPerfetto(std::string_view name);
// How DuckDB writes a type that values are cast to; empty for those left as they are.
std::string_view DuckdbType(Type type);

}  // namespace culprit::query
