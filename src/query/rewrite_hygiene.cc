// Functions become macros of DuckDB, which puts the text of an argument in place of the parameter:
// `f(a)` would find the body's own column a. So arguments say which table their columns are of, and
// tables in a body go by names that nobody else uses.

#include <algorithm>

#include "query/rewriter.h"
#include "query/token.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

bool IsBlank(const Json& e) { return !e.is_object() || !e.contains("class"); }

void CollectLeaves(Json& table, std::vector<Json*>& leaves) {
  const std::string type = TypeTag(table);
  if (type == "JOIN") {
    CollectLeaves(table["left"], leaves);
    CollectLeaves(table["right"], leaves);
  } else if (table.is_object() && type != "EMPTY") {
    leaves.push_back(&table);
  }
}

// Calls `visit` on each column and star below, those of subqueries too.
template <class Visit>
void ForEachName(Json& e, const Visit& visit) {
  if (IsClass(e, "COLUMN_REF") || IsClass(e, "STAR")) visit(e);
  if (!e.is_structured()) return;
  for (Json& child : e) ForEachName(child, visit);
}

bool IsParameter(const Json& e) {
  if (!IsClass(e, "COLUMN_REF")) return false;
  const auto path = PathOf(e);
  return path.size() == 1 && path[0].starts_with(ParameterName(""));
}

bool HasParameter(const Json& e) {
  if (IsParameter(e)) return true;
  return e.is_structured() && std::any_of(e.begin(), e.end(), HasParameter);
}

// Whether a parameter stands outside the aggregates and grouped values of an expression.
bool HasBareParameter(const Json& e, const Scope& scope, const std::vector<std::string>& keys) {
  if (IsParameter(e)) return true;
  if (!e.is_structured() || IsAggregateCall(e) || IsClass(e, "SUBQUERY")) return false;
  if (e.contains("class")) {
    if (std::find(keys.begin(), keys.end(), CanonicalText(e, scope)) != keys.end()) return false;
  }
  return std::any_of(e.begin(), e.end(),
                     [&](const Json& child) { return HasBareParameter(child, scope, keys); });
}

}  // namespace

void Rewriter::QualifyArguments(Json& call, const Scope& scope) {
  for (Json& argument : call["children"]) {
    ForEachName(argument, [&](Json& name) {
      const auto path = PathOf(name);
      if (path.size() != 1) return;
      const auto found = scope.Find(path);
      if (!found || found->ambiguous) return;
      const Relation& relation = found->scope->relations[found->relation];
      if (!relation.name.empty()) name["column_names"] = {relation.name, path[0]};
    });
  }
}

void Rewriter::RenameRelations(Json& node, const Scope& scope) {
  std::vector<Json*> leaves;
  if (node["from_table"].is_object()) CollectLeaves(node["from_table"], leaves);
  if (leaves.size() != scope.relations.size()) return;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::string& name = scope.relations[i].name;
    if (name.empty()) continue;
    const std::string unique = "culprit_" + std::to_string(renamed_++) + "_" + name;
    (*leaves[i])["alias"] = unique;
    ForEachName(node, [&](Json& e) {
      if (IsClass(e, "STAR")) {
        if (EqualsIgnoreCase(e.value("relation_name", ""), name)) e["relation_name"] = unique;
        return;
      }
      const auto path = PathOf(e);
      if (path.size() > 1 && EqualsIgnoreCase(path[path.size() - 2], name)) {
        e["column_names"] = {unique, path.back()};
      }
    });
  }
}

// `SELECT $x + count(*) FROM t`: beside an aggregate, an argument that is a column of the caller's
// would have to be grouped. The aggregates go into a subquery, the rest stays outside of it.
bool Rewriter::ParametersOutOfAggregates(Json& node, const Scope& scope) {
  std::vector<std::string> keys;
  for (const Json& group : node["group_expressions"]) keys.push_back(CanonicalText(group, scope));
  std::vector<Json*> parts = AfterGrouping(node);
  const bool is_grouped =
      !keys.empty() || std::any_of(parts.begin(), parts.end(), [](const Json* part) {
        const auto has = [](const auto& self, const Json& e) -> bool {
          if (IsAggregateCall(e)) return true;
          if (!e.is_structured() || IsClass(e, "SUBQUERY")) return false;
          return std::any_of(e.begin(), e.end(),
                             [&](const Json& child) { return self(self, child); });
        };
        return has(has, *part);
      });
  const bool has_bare = std::any_of(parts.begin(), parts.end(), [&](const Json* part) {
    return HasBareParameter(*part, scope, keys);
  });
  if (!is_grouped || !has_bare) return false;

  const std::string outer_name = "culprit_" + std::to_string(renamed_++) + "_grouped";
  Json inner_items = Json::array();
  const auto hoist = [&](Json& e) {
    const std::string alias = TakeAlias(e);
    const std::string name = "c" + std::to_string(inner_items.size());
    const auto place = Place(e);
    Json inner = std::move(e);
    inner["alias"] = name;
    inner_items.push_back(std::move(inner));
    e = tree::ColumnRef({outer_name, name}, place);
    e["alias"] = alias;
  };
  const auto split = [&](const auto& self, Json& e) -> void {
    if (e.is_array()) {
      for (Json& child : e) self(self, child);
      return;
    }
    if (!e.is_object() || IsParameter(e) || IsClass(e, "CONSTANT")) return;
    if (!IsBlank(e)) {
      const bool is_key =
          std::find(keys.begin(), keys.end(), CanonicalText(e, scope)) != keys.end();
      if (is_key || IsAggregateCall(e) || IsClass(e, "SUBQUERY") || !HasParameter(e))
        return hoist(e);
    }
    for (auto& [key, child] : e.items()) self(self, child);
  };
  Json outer = node;
  outer["cte_map"] = {{"map", Json::array()}};
  for (Json* part : AfterGrouping(outer)) {
    const auto path = PathOf(*part);
    const bool names_result = path.size() == 1 && scope.FindAlias(path[0]) != nullptr;
    const bool is_item =
        part >= &outer["select_list"].front() && part <= &outer["select_list"].back();
    if ((is_item || !names_result) && !IntegerOf(*part)) split(split, *part);
  }
  outer["where_clause"] = std::move(outer["having"]);
  outer["having"] = nullptr;
  outer["group_expressions"] = Json::array();
  outer["group_sets"] = Json::array();
  node["select_list"] = std::move(inner_items);
  node["modifiers"] = Json::array();
  node["having"] = nullptr;
  node["qualify"] = nullptr;
  if (node["select_list"].empty()) node["select_list"].push_back(Integer(1));
  RenameRelations(node, scope);
  outer["from_table"] = {
      {"type", "SUBQUERY"},
      {"alias", outer_name},
      {"sample", nullptr},
      {"query_location", kNoPlace},
      {"subquery", {{"node", std::move(node)}, {"named_param_map", Json::array()}}},
      {"column_name_alias", Json::array()}};
  node = std::move(outer);
  return true;
}

}  // namespace culprit::query
