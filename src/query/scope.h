// What the names of a statement stand for: tables of a FROM clause, their columns and what kind of
// value each holds. Resolves names; rewrites nothing (rewrite.h) and asks no database (catalog.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::query {

// What SQLite's rules for operators need to know of a value, in DuckDB's widths.
enum class Type : std::uint8_t {
  kUnknown,  // could be anything: left as it is
  kNull,
  kBool,
  kNarrow,  // integers below 64 bits
  kBigint,
  kWide,  // above: UBIGINT, HUGEINT
  kReal,
  kText,
  kEnum,
  kBlob,
  kOther,  // dates, lists, structs: nothing that SQLite has
};

constexpr bool IsInteger(Type type) {
  return type == Type::kNarrow || type == Type::kBigint || type == Type::kWide;
}
constexpr bool IsNumber(Type type) { return IsInteger(type) || type == Type::kReal; }
constexpr bool IsText(Type type) { return type == Type::kText || type == Type::kEnum; }

// Of a column whose type DuckDB writes so: "BIGINT", "ENUM('S', 'R')".
Type TypeOfName(std::string_view duckdb_type);
// What CASE, COALESCE or UNION make of both.
Type CommonType(Type a, Type b);

struct Column {
  std::string name;
  Type type = Type::kUnknown;
};
using Columns = std::vector<Column>;

// One table of a FROM clause.
struct Relation {
  std::string name;   // its alias, else the table's name
  std::string table;  // the catalog's name for it; empty for subqueries and the like
  Columns columns;
  bool opaque = false;  // its columns could not be found out
};

struct Scope {
  std::vector<Relation> relations;
  std::vector<std::string> merged;  // columns of USING: one column, though several tables have it
  Columns aliases;                  // of the select list, as far as it is rewritten
  const Scope* outer = nullptr;

  // A column of one of the tables here or further out.
  struct Found {
    const Scope* scope = nullptr;
    std::size_t relation = 0;
    std::size_t column = 0;
    bool ambiguous = false;
  };
  // `path` is {column} or {table, column} or {schema, table, column}.
  std::optional<Found> Find(const std::vector<std::string>& path) const;
  std::optional<Found> FindHere(const std::vector<std::string>& path) const;
  const Column* FindAlias(std::string_view name) const;
  bool IsMerged(std::string_view name) const;
  // Whether a name that is not found could still be a column.
  bool MayHide() const;

  const Column& ColumnOf(const Found& found) const {
    return found.scope->relations[found.relation].columns[found.column];
  }
};

}  // namespace culprit::query
