// Rewriter: walks the tree of one SELECT and makes DuckDB do what SQLite's and Perfetto's users
// expect. Private to query/; dialect.h is the way in. Parts: rewrite_select.cc (tables, select
// lists), rewrite_group.cc, rewrite_hygiene.cc, rewrite_expression.cc, rewrite_function.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/catalog.h"
#include "query/parser_text.h"
#include "query/scope.h"

namespace culprit::query {

class Rewriter {
 public:
  using Json = nlohmann::json;

  // `parameters` are those of a function that is being created: $name in its body.
  Rewriter(Catalog& catalog, const ParserText& text, const Columns& parameters)
      : catalog_(catalog), text_(text), parameters_(parameters) {}

  // Rewrites a query node in place and returns the columns of its result. `is_top` is the
  // statement itself: there, rows come in a fixed order.
  Columns Query(Json& node, const Scope* outer, bool is_top);

  // What the statement mentions, in lower case.
  const std::set<std::string>& tables() const { return tables_; }
  const std::set<std::string>& functions() const { return functions_; }

 private:
  // rewrite_select.cc
  Columns Select(Json& node, const Scope* outer, bool is_top);
  Columns SetOperation(Json& node, const Scope* outer, bool is_top);
  void CommonTables(Json& node, const Scope* outer);
  void From(Json& table, Scope& scope);
  void Join(Json& table, Scope& scope);
  void BaseTable(Json& table, Scope& scope);
  void ValuesList(Json& table, Scope& scope);
  void TableFunction(Json& table, Scope& scope);
  void HideOwnColumns(Json& select, Scope& scope);
  void SelectItem(Json& item, Scope& scope, Columns& columns);
  void NameItems(Json& select_list);
  void Modifiers(Json& node, Scope& scope, const Columns& columns);
  void FixOrder(Json& node, const Columns& columns, const std::vector<Json>& keys);

  // rewrite_group.cc
  void Group(Json& node, Scope& scope, std::vector<Json>& keys);
  void WrapBare(Json& e, const struct Grouping& grouping);
  void DropNeedlessDistinct(Json& node, const Scope& scope);

  // rewrite_hygiene.cc: what a function's body needs so that an argument stays what it was.
  void QualifyArguments(Json& call, const Scope& scope);
  void RenameRelations(Json& node, const Scope& scope);
  // True when it made the SELECT a subquery of another.
  bool ParametersOutOfAggregates(Json& node, const Scope& scope);

  // rewrite_expression.cc
  Type Expression(Json& e, Scope& scope);
  Type ColumnRef(Json& e, Scope& scope);
  Type Constant(Json& e);
  Type Comparison(Json& e, Scope& scope);
  Type Between(Json& e, Scope& scope);
  Type InList(Json& e, Scope& scope);
  Type CaseOf(Json& e, Scope& scope);
  Type CastTo(Json& e, Scope& scope);
  Type Subquery(Json& e, Scope& scope);
  Type Operator(Json& e, Scope& scope);
  void Orders(Json& orders, Scope& scope);
  // Rewrites values that become one column (CASE, COALESCE) and makes them of one kind.
  Type Unify(std::vector<Json*> values, Scope& scope);

  // rewrite_function.cc
  Type Function(Json& e, Scope& scope);
  Type Arithmetic(Json& e, Scope& scope);
  Type BitOperation(Json& e, Scope& scope);
  Type Like(Json& e, Scope& scope);
  Type Aggregate(Json& e, std::string_view name, const std::vector<Type>& types);
  Type Scalar(Json& e, std::string_view name, const std::vector<Type>& types);
  Type Window(Json& e, Scope& scope);

  Catalog& catalog_;
  const ParserText& text_;
  const Columns& parameters_;
  std::vector<std::pair<std::string, Columns>> common_tables_;  // WITH, innermost last
  std::set<std::string> tables_;
  std::set<std::string> functions_;
  std::size_t renamed_ = 0;  // relations of a function's body so far
};

// The parts of a SELECT that are computed after grouping: first the items of its list.
std::vector<nlohmann::json*> AfterGrouping(nlohmann::json& node);
// The same text for the same value, however its columns are written.
std::string CanonicalText(const nlohmann::json& e, const Scope& scope);
bool IsAggregateCall(const nlohmann::json& e);

// The name of a parameter of a created function inside its macro; it meets no column's name.
std::string ParameterName(std::string_view name);

// The number that a text stands for, as a constant; nothing when it is none.
std::optional<nlohmann::json> NumberOfText(const std::string& text, std::uint64_t place);

// Whether this function makes one value of many rows. `children` is its number of arguments.
bool IsAggregate(std::string_view name, std::size_t children);

}  // namespace culprit::query
