// Dialect: a statement as Perfetto's and SQLite's users write it -> one that DuckDB runs with the
// meaning they expect. SELECTs go through DuckDB's own tree (json_serialize_sql), other statements
// keep their words around the SELECT they hold. Runs nothing; PerfettoSQL's own statements are
// perfetto_sql.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "query/catalog.h"
#include "query/token.h"
#include "tables/database.h"

namespace culprit::query {

class ParserText;

// What a connection is set to so that translated statements mean what they should.
inline constexpr std::string_view kDialectSettings =
    "SET integer_division = true;"
    "SET default_null_order = 'sqlite';"
    "SET scalar_subquery_error_on_multiple_rows = false;";

// What Dialect makes of a statement.
struct Translation {
  std::string sql;
  Columns columns;                  // of the SELECT in it
  std::set<std::string> tables;     // that it mentions, in lower case
  std::set<std::string> functions;  // likewise, operators among them
  // Set when the statement cannot be parsed; its offset is one of the user's SQL.
  std::optional<tables::SqlError> error;

  // For Dialect::SourceOffset: the words before the SELECT, and its tree after rewriting.
  Tokens head;
  std::size_t body_begin = 0;
  std::string tree;
  std::shared_ptr<const ParserText> text;
};

class Dialect {
 public:
  static Result<Dialect> Open(tables::Connection& connection, Catalog& catalog);

  // A whole statement, whatever it is: SELECT, CREATE TABLE ... AS, INSERT ..., EXPLAIN ...
  Translation Statement(const Tokens& tokens);

  // A SELECT (or WITH, VALUES) alone. `parameters` are what $name in it stands for.
  Translation Select(const Tokens& tokens, const Columns& parameters = {}, bool is_top = true);

  // Where in the user's SQL an offset in `translation.sql` comes from.
  std::optional<std::size_t> SourceOffset(const Translation& translation, std::size_t offset);

 private:
  Dialect(Catalog& catalog, tables::Statement serialize, tables::Statement deserialize)
      : catalog_(&catalog),
        serialize_(std::move(serialize)),
        deserialize_(std::move(deserialize)) {}

  Result<std::string> Call(tables::Statement& function, std::string_view argument);

  Catalog* catalog_;
  tables::Statement serialize_;
  tables::Statement deserialize_;
};

// The index of the SELECT, WITH, VALUES or FROM with which the query in a statement begins; the
// number of tokens when it holds none.
std::size_t FindQuery(const Tokens& tokens);

}  // namespace culprit::query
