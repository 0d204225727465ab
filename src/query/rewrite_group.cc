// GROUP BY as SQLite reads it: columns beside it that are not grouped, names of results as keys.

#include <algorithm>

#include "query/rewriter.h"
#include "query/token.h"
#include "query/trace_facts.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

// What WrapBare needs to know of the SELECT it is in.
struct Grouping {
  const Scope* scope = nullptr;
  std::vector<std::string> keys;  // as CanonicalText
  const Json* extreme = nullptr;  // the only MIN or MAX, whose row the bare columns come from
};

namespace {

bool IsBlank(const Json& e) { return !e.is_object() || !e.contains("class"); }

// The same text for the same value, however its columns are written.
Json Canonical(const Json& e, const Scope& scope) {
  if (IsClass(e, "COLUMN_REF")) {
    const auto found = scope.FindHere(PathOf(e));
    if (found && !found->ambiguous) {
      return "#" + std::to_string(found->relation) + "." + std::to_string(found->column);
    }
    Json names = Json::array();
    for (const std::string& name : PathOf(e)) names.push_back(ToLower(name));
    return names;
  }
  if (!e.is_structured()) return e;
  Json out = e;
  if (e.is_object()) {
    out.erase("alias");
    out.erase("query_location");
    for (auto& [key, child] : out.items()) child = Canonical(e[key], scope);
  } else {
    for (std::size_t i = 0; i < e.size(); ++i) out[i] = Canonical(e[i], scope);
  }
  return out;
}

// Calls `visit` on each aggregate of `e` that belongs to its own SELECT.
template <class Visit>
void ForEachAggregate(const Json& e, const Visit& visit) {
  if (e.is_array()) {
    for (const Json& child : e) ForEachAggregate(child, visit);
    return;
  }
  if (!e.is_object() || IsClass(e, "SUBQUERY")) return;
  if (IsAggregateCall(e)) return visit(e);
  for (const auto& [key, child] : e.items()) ForEachAggregate(child, visit);
}

const std::string* KeyOf(const Scope& scope, const Scope::Found& found) {
  const Relation& relation = scope.relations[found.relation];
  const std::string& column = relation.columns[found.column].name;
  const bool is_key =
      std::any_of(kKeyColumns.begin(), kKeyColumns.end(), [&](const KeyColumn& key) {
        return key.table == relation.table && EqualsIgnoreCase(key.column, column);
      });
  return is_key ? &column : nullptr;
}

// Relations that the columns of `e` belong to; false when that cannot be told.
bool RelationsOf(const Json& e, const Scope& scope, std::set<std::size_t>& relations) {
  if (IsClass(e, "SUBQUERY")) return false;
  if (IsClass(e, "COLUMN_REF")) {
    const auto found = scope.FindHere(PathOf(e));
    if (!found) return false;
    relations.insert(found->relation);
    return true;
  }
  if (!e.is_structured()) return true;
  return std::all_of(e.begin(), e.end(),
                     [&](const Json& child) { return RelationsOf(child, scope, relations); });
}

// `key of relation = value of others`: at most one row of the relation for a row of the others.
struct KeyJoin {
  std::size_t relation;
  std::set<std::size_t> others;
};

void CollectKeyJoins(const Json& condition, const Scope& scope, std::vector<KeyJoin>& joins) {
  if (IsClass(condition, "CONJUNCTION") && TypeTag(condition) == "CONJUNCTION_AND") {
    for (const Json& child : condition["children"]) CollectKeyJoins(child, scope, joins);
    return;
  }
  if (TypeTag(condition) != "COMPARE_EQUAL") return;
  for (const auto& [key, value] : {std::pair{"left", "right"}, std::pair{"right", "left"}}) {
    if (!IsClass(condition[key], "COLUMN_REF")) continue;
    const auto found = scope.FindHere(PathOf(condition[key]));
    if (!found || found->ambiguous || KeyOf(scope, *found) == nullptr) continue;
    KeyJoin join{found->relation, {}};
    if (RelationsOf(condition[value], scope, join.others)) joins.push_back(std::move(join));
  }
}

void CollectTableJoins(const Json& table, const Scope& scope, std::vector<KeyJoin>& joins) {
  if (TypeTag(table) != "JOIN") return;
  CollectTableJoins(table["left"], scope, joins);
  CollectTableJoins(table["right"], scope, joins);
  if (!IsBlank(table["condition"])) CollectKeyJoins(table["condition"], scope, joins);
}

// A column of USING: each table that has it as its key hangs on the others that have it.
void CollectMerged(const Scope& scope, std::vector<KeyJoin>& joins) {
  for (const std::string& name : scope.merged) {
    std::vector<Scope::Found> having;
    for (std::size_t r = 0; r < scope.relations.size(); ++r) {
      const Columns& columns = scope.relations[r].columns;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (EqualsIgnoreCase(columns[c].name, name)) having.push_back({&scope, r, c, false});
      }
    }
    for (const auto& one : having) {
      if (KeyOf(scope, one) == nullptr) continue;
      for (const auto& other : having) {
        if (other.relation != one.relation) joins.push_back({one.relation, {other.relation}});
      }
    }
  }
}

// Whether each row of `base` is in the join once at most.
bool KeepsRows(std::size_t base, const Scope& scope, const std::vector<KeyJoin>& joins) {
  std::set<std::size_t> known = {base};
  for (bool grown = true; grown;) {
    grown = false;
    for (const KeyJoin& join : joins) {
      if (known.contains(join.relation)) continue;
      if (std::includes(known.begin(), known.end(), join.others.begin(), join.others.end())) {
        known.insert(join.relation);
        grown = true;
      }
    }
  }
  return known.size() == scope.relations.size();
}

// What to order by so that groups come in the order of their keys: the place of a result where
// there is one, since in ORDER BY a bare name could be the name of another result.
void OrderKeys(const Json& node, const Scope& scope, std::vector<Json>& keys) {
  const Json& items = node["select_list"];
  const bool has_star = std::any_of(items.begin(), items.end(),
                                    [](const Json& item) { return IsClass(item, "STAR"); });
  for (const Json& group : node["group_expressions"]) {
    const std::string text = CanonicalText(group, scope);
    const auto path = PathOf(group);
    const auto item = std::find_if(items.begin(), items.end(), [&](const Json& candidate) {
      return CanonicalText(candidate, scope) == text ||
             (path.size() == 1 && EqualsIgnoreCase(candidate.value("alias", ""), path[0]) &&
              !scope.FindHere(path));
    });
    if (IntegerOf(group)) {
      keys.push_back(group);
    } else if (item != items.end() && !has_star) {
      keys.push_back(Integer(item - items.begin() + 1));
    } else if (const auto found = scope.FindHere(path); found && !found->ambiguous) {
      const Relation& relation = scope.relations[found->relation];
      keys.push_back(scope.IsMerged(path.back()) ? group : ColumnRef({relation.name, path.back()}));
    } else {
      keys.push_back(group);
    }
  }
}

template <class Visit>
void ForEachCount(Json& e, const Visit& visit) {
  if (e.is_array()) {
    for (Json& child : e) ForEachCount(child, visit);
    return;
  }
  if (!e.is_object() || IsClass(e, "SUBQUERY")) return;
  if (IsClass(e, "FUNCTION") && e.value("function_name", "") == "count" &&
      e.value("distinct", false)) {
    return visit(e);
  }
  for (auto& [key, child] : e.items()) ForEachCount(child, visit);
}

}  // namespace

std::string CanonicalText(const Json& e, const Scope& scope) { return Canonical(e, scope).dump(); }

bool IsAggregateCall(const Json& e) {
  return IsClass(e, "FUNCTION") &&
         IsAggregate(ToLower(e.value("function_name", "")), e["children"].size());
}

std::vector<Json*> AfterGrouping(Json& node) {
  std::vector<Json*> parts;
  for (Json& item : node["select_list"]) parts.push_back(&item);
  for (const char* clause : {"having", "qualify"}) {
    if (!IsBlank(node[clause])) parts.push_back(&node[clause]);
  }
  for (Json& modifier : node["modifiers"]) {
    if (TypeTag(modifier) != "ORDER_MODIFIER") continue;
    for (Json& order : modifier["orders"]) parts.push_back(&order["expression"]);
  }
  return parts;
}

void Rewriter::Group(Json& node, Scope& scope, std::vector<Json>& keys) {
  if (node.value("aggregate_handling", "") != "STANDARD_HANDLING") return;
  Json& groups = node["group_expressions"];
  Json& items = node["select_list"];
  std::vector<Json*> parts = AfterGrouping(node);
  std::vector<const Json*> extremes;
  bool has_aggregate = false;
  for (const Json* part : parts) {
    ForEachAggregate(*part, [&](const Json& call) {
      has_aggregate = true;
      const std::string name = call.value("function_name", "");
      if (name == "min" || name == "max") extremes.push_back(&call);
    });
  }
  if (groups.empty() && !has_aggregate) return;

  Grouping grouping;
  grouping.scope = &scope;
  for (Json& group : groups) {
    if (const auto position = IntegerOf(group)) {
      const auto index = static_cast<std::size_t>(*position - 1);
      if (index < items.size()) grouping.keys.push_back(CanonicalText(items[index], scope));
      continue;
    }
    const auto path = PathOf(group);
    const auto found = scope.FindHere(path);
    if (path.size() == 1 && (!found || found->ambiguous)) {
      // The name of a result: of an expression given a name, or of a column of one of the tables.
      const auto item = std::find_if(items.begin(), items.end(), [&](const Json& candidate) {
        const std::string alias = candidate.value("alias", "");
        if (!alias.empty()) return EqualsIgnoreCase(alias, path[0]);
        return IsClass(candidate, "COLUMN_REF") &&
               EqualsIgnoreCase(PathOf(candidate).back(), path[0]);
      });
      if (item != items.end()) {
        grouping.keys.push_back(CanonicalText(*item, scope));
        if (found && found->ambiguous) {
          group = *item;
          TakeAlias(group);
        }
        continue;
      }
    }
    Expression(group, scope);
    grouping.keys.push_back(CanonicalText(group, scope));
  }
  OrderKeys(node, scope, keys);
  // The copy outlives the changes that WrapBare makes around the call.
  Json extreme;
  if (extremes.size() == 1) {
    extreme = *extremes.front();
    grouping.extreme = &extreme;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Json* part = parts[i];
    const auto path = PathOf(*part);
    const bool is_item = i < items.size();
    // In ORDER BY the name of a result is that result.
    if (!is_item && path.size() == 1 && scope.FindAlias(path[0]) != nullptr) continue;
    const std::string before = part->value("alias", "");
    WrapBare(*part, grouping);
    if (is_item && !path.empty() && before.empty() && !IsClass(*part, "COLUMN_REF")) {
      (*part)["alias"] = path.back();
    }
  }
}

void Rewriter::WrapBare(Json& e, const Grouping& grouping) {
  if (e.is_array()) {
    for (Json& child : e) WrapBare(child, grouping);
    return;
  }
  if (!e.is_object()) return;
  if (IsClass(e, "SUBQUERY")) {
    if (!IsBlank(e["child"])) WrapBare(e["child"], grouping);
    return;
  }
  if (IsAggregateCall(e)) return;
  if (e.contains("class")) {
    const std::string text = CanonicalText(e, *grouping.scope);
    if (std::find(grouping.keys.begin(), grouping.keys.end(), text) != grouping.keys.end()) return;
  }
  if (!IsClass(e, "COLUMN_REF")) {
    for (auto& [key, child] : e.items()) WrapBare(child, grouping);
    return;
  }
  const auto found = grouping.scope->FindHere(PathOf(e));
  if (!found) return;
  const auto place = Place(e);
  const std::string alias = TakeAlias(e);
  if (grouping.extreme == nullptr) {
    e = Call("any_value", {std::move(e)}, place);
  } else {
    const Json& extreme = *grouping.extreme;
    const bool is_max = extreme.value("function_name", "") == "max";
    Json call = Call(is_max ? "arg_max_null" : "arg_min_null",
                     {std::move(e), extreme["children"][0]}, place);
    call["filter"] = extreme["filter"];
    e = std::move(call);
  }
  e["alias"] = alias;
}

// COUNT(DISTINCT s.id), where no two rows can have the same id, is COUNT(s.id): a set of ten
// million numbers less.
void Rewriter::DropNeedlessDistinct(Json& node, const Scope& scope) {
  std::vector<KeyJoin> joins;
  bool collected = false;
  for (Json* part : AfterGrouping(node)) {
    ForEachCount(*part, [&](Json& count) {
      if (count["children"].size() != 1 || !IsClass(count["children"][0], "COLUMN_REF")) return;
      const auto found = scope.FindHere(PathOf(count["children"][0]));
      if (!found || found->ambiguous || KeyOf(scope, *found) == nullptr) return;
      if (!collected) {
        CollectTableJoins(node["from_table"], scope, joins);
        if (!IsBlank(node["where_clause"])) CollectKeyJoins(node["where_clause"], scope, joins);
        CollectMerged(scope, joins);
        collected = true;
      }
      if (KeepsRows(found->relation, scope, joins)) count["distinct"] = false;
    });
  }
}

}  // namespace culprit::query
