// Select lists, FROM, WITH, set operations, ORDER BY and LIMIT.

#include <algorithm>
#include <array>

#include "query/rewriter.h"
#include "query/token.h"
#include "query/trace_facts.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

bool IsNode(const Json& e) { return e.is_object() && e.contains("type"); }
bool IsBlank(const Json& e) { return !e.is_object() || !e.contains("class"); }

std::string Alias(const Json& e) { return e.value("alias", std::string()); }

void Rename(Columns& columns, const Json& names) {
  if (!names.is_array()) return;
  for (std::size_t i = 0; i < names.size() && i < columns.size(); ++i) {
    columns[i].name = names[i].get<std::string>();
  }
}

// Whether "relation.column" is written anywhere in this tree.
bool Mentions(const Json& tree, std::string_view relation, std::string_view column) {
  if (tree.is_object() && IsClass(tree, "COLUMN_REF")) {
    const auto path = PathOf(tree);
    return path.size() > 1 && EqualsIgnoreCase(path[path.size() - 2], relation) &&
           EqualsIgnoreCase(path.back(), column);
  }
  if (!tree.is_structured()) return false;
  return std::any_of(tree.begin(), tree.end(),
                     [&](const Json& child) { return Mentions(child, relation, column); });
}

// The table of a FROM clause that goes by this name, where it stands in the tree.
Json* FindTable(Json& table, std::string_view name) {
  const std::string type = TypeTag(table);
  if (type == "JOIN") {
    Json* left = FindTable(table["left"], name);
    return left != nullptr ? left : FindTable(table["right"], name);
  }
  if (type != "BASE_TABLE") return nullptr;
  const std::string alias = Alias(table);
  return EqualsIgnoreCase(alias.empty() ? table.value("table_name", "") : alias, name) ? &table
                                                                                       : nullptr;
}

// `FROM a, b JOIN c ON ...`: the comma binds no weaker than JOIN in SQLite, so that c's condition
// may speak of a. DuckDB reads a, (b JOIN c ON ...).
void TurnLeft(Json& table) {
  while (TypeTag(table) == "JOIN" && table.value("ref_type", "") == "CROSS" &&
         TypeTag(table["right"]) == "JOIN") {
    Json right = std::move(table["right"]);
    const std::string join = right.value("join_type", "");
    const std::string ref = right.value("ref_type", "");
    if ((join != "INNER" && join != "LEFT") || (ref != "REGULAR" && ref != "CROSS") ||
        !Alias(right).empty()) {
      table["right"] = std::move(right);
      return;
    }
    table["right"] = std::move(right["left"]);
    Json left = std::move(table);
    TurnLeft(left);
    table = std::move(right);
    table["left"] = std::move(left);
  }
}

Json SelectAllBut(const std::string& column, Json table) {
  Json star = {{"class", "STAR"},
               {"type", "STAR"},
               {"alias", ""},
               {"query_location", kNoPlace},
               {"relation_name", ""},
               {"exclude_list", Json::array({column})},
               {"replace_list", Json::array()},
               {"columns", false},
               {"expr", nullptr},
               {"qualified_exclude_list", Json::array()},
               {"rename_list", Json::array()}};
  std::string alias = TakeAlias(table);
  if (alias.empty()) alias = table.value("table_name", "");
  Json node = {{"type", "SELECT_NODE"},
               {"modifiers", Json::array()},
               {"cte_map", {{"map", Json::array()}}},
               {"select_list", Json::array({std::move(star)})},
               {"from_table", std::move(table)},
               {"where_clause", nullptr},
               {"group_expressions", Json::array()},
               {"group_sets", Json::array()},
               {"aggregate_handling", "STANDARD_HANDLING"},
               {"having", nullptr},
               {"sample", nullptr},
               {"qualify", nullptr}};
  return {{"type", "SUBQUERY"},
          {"alias", alias},
          {"sample", nullptr},
          {"query_location", kNoPlace},
          {"subquery", {{"node", std::move(node)}, {"named_param_map", Json::array()}}},
          {"column_name_alias", Json::array()}};
}

}  // namespace

Columns Rewriter::Query(Json& node, const Scope* outer, bool is_top) {
  if (!IsNode(node)) return {};
  if (TypeTag(node) == "CTE_NODE") {
    // The child's own map of WITH holds the same.
    Json child = std::move(node["child"]);
    node = std::move(child);
    return Query(node, outer, is_top);
  }
  const std::size_t common_tables = common_tables_.size();
  CommonTables(node, outer);
  Columns columns;
  const std::string type = TypeTag(node);
  if (type == "SELECT_NODE") {
    columns = Select(node, outer, is_top);
  } else if (type == "SET_OPERATION_NODE") {
    columns = SetOperation(node, outer, is_top);
  }
  common_tables_.resize(common_tables);
  return columns;
}

void Rewriter::CommonTables(Json& node, const Scope* outer) {
  if (!node.contains("cte_map") || !node["cte_map"].contains("map")) return;
  for (Json& entry : node["cte_map"]["map"]) {
    const std::string name = entry.value("key", "");
    Json& value = entry["value"];
    Json& query = value["query"]["node"];
    Columns columns;
    if (TypeTag(query) == "RECURSIVE_CTE_NODE") {
      columns = Query(query["left"], outer, false);
      // The first rows give the width: a small constant must not make it 32 bits.
      if (TypeTag(query["left"]) == "SELECT_NODE") {
        Json& items = query["left"]["select_list"];
        for (std::size_t i = 0; i < items.size() && i < columns.size(); ++i) {
          if (columns[i].type != Type::kNarrow) continue;
          items[i] = Cast(std::move(items[i]), "BIGINT");
          columns[i].type = Type::kBigint;
        }
      }
      Rename(columns, value["aliases"]);
      common_tables_.emplace_back(name, columns);
      Query(query["right"], outer, false);
      continue;
    }
    columns = Query(query, outer, false);
    Rename(columns, value["aliases"]);
    common_tables_.emplace_back(name, std::move(columns));
  }
}

Columns Rewriter::SetOperation(Json& node, const Scope* outer, bool is_top) {
  Columns columns;
  const auto add = [&](Json& part) {
    if (!IsNode(part)) return;
    const Columns own = Query(part, outer, false);
    if (columns.empty()) columns = own;
    for (std::size_t i = 0; i < own.size() && i < columns.size(); ++i) {
      columns[i].type = CommonType(columns[i].type, own[i].type);
    }
  };
  if (node["children"].empty()) {
    add(node["left"]);
    add(node["right"]);
  } else {
    for (Json& child : node["children"]) add(child);
  }
  Scope scope;
  scope.aliases = columns;
  scope.outer = outer;
  Modifiers(node, scope, columns);
  if (is_top && !node.value("setop_all", false)) FixOrder(node, columns, {});
  return columns;
}

Columns Rewriter::Select(Json& node, const Scope* outer, bool is_top) {
  Scope scope;
  scope.outer = outer;
  Json& items = node["select_list"];
  NameItems(items);
  From(node["from_table"], scope);
  HideOwnColumns(node, scope);
  Columns columns;
  for (Json& item : items) SelectItem(item, scope, columns);
  for (const char* clause : {"where_clause", "having", "qualify"}) {
    if (!IsBlank(node[clause])) Expression(node[clause], scope);
  }
  std::vector<Json> keys;
  Modifiers(node, scope, columns);
  Group(node, scope, keys);
  DropNeedlessDistinct(node, scope);
  if (!parameters_.empty() && !ParametersOutOfAggregates(node, scope)) RenameRelations(node, scope);
  if (is_top) FixOrder(node, columns, keys);
  return columns;
}

// Results are called as the user wrote them: SUM(dur), not sum(dur).
void Rewriter::NameItems(Json& items) {
  if (items.empty()) return;
  const std::uint64_t first = FirstPlace(items[0]);
  if (first == kNoPlace) return;
  const ParserText::SelectList* list = text_.SelectListAt(first);
  if (list == nullptr || list->size() != items.size()) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint64_t place = FirstPlace(items[i]);
    if (place == kNoPlace || place < (*list)[i].begin || place >= (*list)[i].end) continue;
    const bool is_plain = IsClass(items[i], "COLUMN_REF") || IsClass(items[i], "STAR");
    if (!is_plain && Alias(items[i]).empty()) items[i]["alias"] = (*list)[i].written;
  }
}

void Rewriter::SelectItem(Json& item, Scope& scope, Columns& columns) {
  if (IsClass(item, "STAR")) {
    const std::string relation_name = item.value("relation_name", "");
    const Json excluded = item.value("exclude_list", Json::array());
    std::vector<std::string> seen;
    for (const Relation& relation : scope.relations) {
      if (!relation_name.empty() && !EqualsIgnoreCase(relation.name, relation_name)) continue;
      for (const Column& column : relation.columns) {
        const auto is_it = [&](const auto& name) {
          return EqualsIgnoreCase(std::string(name), column.name);
        };
        if (std::any_of(excluded.begin(), excluded.end(), is_it)) continue;
        if (relation_name.empty() && scope.IsMerged(column.name)) {
          if (std::any_of(seen.begin(), seen.end(), is_it)) continue;
          seen.push_back(column.name);
        }
        columns.push_back(column);
      }
    }
    return;
  }
  const auto path = PathOf(item);
  Type type = Expression(item, scope);
  if (type == Type::kBool || (type == Type::kWide && !IsClass(item, "COLUMN_REF"))) {
    item = Cast(std::move(item), "BIGINT");
    type = Type::kBigint;
  }
  if (!path.empty() && Alias(item).empty() &&
      !(IsClass(item, "COLUMN_REF") && PathOf(item).back() == path.back())) {
    item["alias"] = path.back();
  }
  std::string name = Alias(item);
  if (name.empty() && !path.empty()) name = path.back();
  if (!Alias(item).empty()) scope.aliases.push_back({name, type});
  columns.push_back({std::move(name), type});
}

// --- FROM -------------------------------------------------------------------------------------

void Rewriter::From(Json& table, Scope& scope) {
  if (!IsNode(table)) return;
  TurnLeft(table);
  const std::string type = TypeTag(table);
  if (type == "EMPTY") return;
  if (type == "JOIN") return Join(table, scope);
  if (type == "BASE_TABLE") return BaseTable(table, scope);
  if (type == "TABLE_FUNCTION") return TableFunction(table, scope);
  if (type == "EXPRESSION_LIST") return ValuesList(table, scope);
  Relation relation;
  relation.name = Alias(table);
  if (type == "SUBQUERY") {
    relation.columns = Query(table["subquery"]["node"], &scope, false);
    Rename(relation.columns, table["column_name_alias"]);
    relation.opaque = relation.columns.empty();
  } else {
    relation.opaque = true;
    if (type == "SHOW_REF" && IsNode(table["query"])) Query(table["query"], &scope, false);
  }
  scope.relations.push_back(std::move(relation));
}

void Rewriter::Join(Json& table, Scope& scope) {
  const std::size_t begin = scope.relations.size();
  From(table["left"], scope);
  const std::size_t middle = scope.relations.size();
  From(table["right"], scope);
  if (table.value("ref_type", "") == "NATURAL") {
    for (std::size_t l = begin; l < middle; ++l) {
      for (const Column& column : scope.relations[l].columns) {
        for (std::size_t r = middle; r < scope.relations.size(); ++r) {
          const Columns& others = scope.relations[r].columns;
          if (std::any_of(others.begin(), others.end(), [&](const Column& other) {
                return EqualsIgnoreCase(other.name, column.name);
              })) {
            scope.merged.push_back(column.name);
          }
        }
      }
    }
  }
  for (const Json& name : table["using_columns"]) scope.merged.push_back(name.get<std::string>());
  if (!IsBlank(table["condition"])) Expression(table["condition"], scope);
}

void Rewriter::BaseTable(Json& table, Scope& scope) {
  const std::string name = table.value("table_name", "");
  const std::string schema = table.value("schema_name", "");
  Relation relation;
  relation.name = Alias(table).empty() ? name : Alias(table);
  const auto common = std::find_if(
      common_tables_.rbegin(), common_tables_.rend(),
      [&](auto& entry) { return schema.empty() && EqualsIgnoreCase(entry.first, name); });
  if (common != common_tables_.rend()) {
    relation.columns = common->second;
    relation.opaque = relation.columns.empty();
  } else {
    tables_.insert(ToLower(name));
    std::string qualified = QuoteName(name);
    if (!schema.empty()) qualified = QuoteName(schema) + "." + qualified;
    const std::string catalog = table.value("catalog_name", "");
    if (!catalog.empty()) qualified = QuoteName(catalog) + "." + qualified;
    if (const Columns* columns = catalog_.Find(qualified)) {
      relation.columns = *columns;
      if (schema.empty() && !catalog_.IsUserTable(name)) relation.table = ToLower(name);
    } else {
      relation.opaque = true;
    }
  }
  Rename(relation.columns, table["column_name_alias"]);
  scope.relations.push_back(std::move(relation));
}

void Rewriter::ValuesList(Json& table, Scope& scope) {
  Relation relation;
  relation.name = Alias(table);
  for (Json& row : table["values"]) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      Type type = Expression(row[i], scope);
      if (type == Type::kBool) {
        row[i] = Cast(std::move(row[i]), "BIGINT");
        type = Type::kBigint;
      }
      if (i >= relation.columns.size()) {
        relation.columns.push_back({"column" + std::to_string(i + 1), Type::kNull});
      }
      relation.columns[i].type = CommonType(relation.columns[i].type, type);
    }
  }
  // SQLite's names.
  if (table["expected_names"].empty()) {
    for (const Column& column : relation.columns) table["expected_names"].push_back(column.name);
  }
  Rename(relation.columns, table["expected_names"]);
  scope.relations.push_back(std::move(relation));
}

void Rewriter::TableFunction(Json& table, Scope& scope) {
  Json& call = table["function"];
  const std::string name = call.value("function_name", "");
  functions_.insert(ToLower(name));
  for (Json& argument : call["children"]) Expression(argument, scope);
  QualifyArguments(call, scope);
  Relation relation;
  relation.name = Alias(table).empty() ? name : Alias(table);
  const UserFunction* function = catalog_.FindFunction(name);
  relation.opaque = function == nullptr || !function->returns_table;
  if (!relation.opaque) relation.columns = function->columns;
  Rename(relation.columns, table["column_name_alias"]);
  scope.relations.push_back(std::move(relation));
}

// A column that only our tables have (sched.upid) must not stand in the way of a query that was
// written for Perfetto's: `sched JOIN thread USING (utid) JOIN process USING (upid)`.
void Rewriter::HideOwnColumns(Json& select, Scope& scope) {
  for (std::size_t r = 0; r < scope.relations.size(); ++r) {
    Relation& relation = scope.relations[r];
    if (relation.table.empty()) continue;
    for (const OwnColumn& own : kOwnColumns) {
      if (own.table != relation.table) continue;
      bool is_elsewhere = false;
      for (std::size_t other = 0; other < scope.relations.size(); ++other) {
        if (other == r) continue;
        const Columns& columns = scope.relations[other].columns;
        is_elsewhere |= std::any_of(columns.begin(), columns.end(), [&](const Column& column) {
          return EqualsIgnoreCase(column.name, own.column);
        });
      }
      if (!is_elsewhere || Mentions(select, relation.name, own.column)) continue;
      Json* table = FindTable(select["from_table"], relation.name);
      if (table == nullptr) continue;
      *table = SelectAllBut(std::string(own.column), std::move(*table));
      std::erase_if(relation.columns, [&](const Column& column) {
        return EqualsIgnoreCase(column.name, own.column);
      });
    }
  }
}

// --- ORDER BY, LIMIT --------------------------------------------------------------------------

void Rewriter::Modifiers(Json& node, Scope& scope, const Columns& columns) {
  Json kept = Json::array();
  for (Json& modifier : node["modifiers"]) {
    const std::string type = TypeTag(modifier);
    if (type == "ORDER_MODIFIER") {
      for (Json& order : modifier["orders"]) {
        Json& e = order["expression"];
        const auto path = PathOf(e);
        if (IntegerOf(e) || IsClass(e, "STAR")) continue;
        if (path.size() == 1) {
          // The name of a result stands for it; DuckDB knows only those given with AS.
          if (scope.FindAlias(path[0]) != nullptr) continue;
          const auto found = scope.FindHere(path);
          const auto it = std::find_if(columns.begin(), columns.end(), [&](const Column& column) {
            return EqualsIgnoreCase(column.name, path[0]);
          });
          if (found && found->ambiguous && it != columns.end() &&
              columns.size() == node["select_list"].size()) {
            e = Integer(it - columns.begin() + 1, Place(e));
            continue;
          }
        }
        Expression(e, scope);
      }
    } else if (type == "LIMIT_MODIFIER") {
      // LIMIT -1 is no limit.
      if (const auto limit = IntegerOf(modifier["limit"]); limit && *limit < 0) {
        modifier["limit"] = nullptr;
      }
      if (const auto offset = IntegerOf(modifier["offset"]); offset && *offset < 0) {
        modifier["offset"] = nullptr;
      }
      if (IsBlank(modifier["limit"]) && IsBlank(modifier["offset"])) continue;
    }
    kept.push_back(std::move(modifier));
  }
  node["modifiers"] = std::move(kept);
}

// Groups and distinct rows come in the order of their values, as from SQLite, and not as threads
// happen to end; equal rows of an ORDER BY too.
void Rewriter::FixOrder(Json& node, const Columns& columns, const std::vector<Json>& keys) {
  Json& modifiers = node["modifiers"];
  const auto find = [&](std::string_view type) {
    return std::find_if(modifiers.begin(), modifiers.end(),
                        [&](const Json& modifier) { return TypeTag(modifier) == type; });
  };
  const bool is_distinct = find("DISTINCT_MODIFIER") != modifiers.end();
  const bool is_union = TypeTag(node) == "SET_OPERATION_NODE";
  Json added = Json::array();
  const auto add = [&](Json expression) {
    added.push_back({{"type", "ORDER_DEFAULT"},
                     {"null_order", "ORDER_DEFAULT"},
                     {"expression", std::move(expression)}});
  };
  if (is_distinct || is_union) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].type != Type::kOther) add(Integer(static_cast<std::int64_t>(i) + 1));
    }
  } else {
    for (const Json& key : keys) add(key);
  }
  if (added.empty()) return;
  if (auto order = find("ORDER_MODIFIER"); order != modifiers.end()) {
    for (Json& one : added) (*order)["orders"].push_back(std::move(one));
    return;
  }
  const auto limit = find("LIMIT_MODIFIER");
  modifiers.insert(limit, Json{{"type", "ORDER_MODIFIER"}, {"orders", std::move(added)}});
}

}  // namespace culprit::query
