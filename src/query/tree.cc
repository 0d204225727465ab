#include "query/tree.h"

#include <algorithm>

namespace culprit::query::tree {
namespace {

Json Expression(std::string_view expression_class, std::string_view type, std::uint64_t place) {
  return {{"class", expression_class}, {"type", type}, {"alias", ""}, {"query_location", place}};
}

Json Constant(std::string_view type, Json value, std::uint64_t place) {
  Json e = Expression("CONSTANT", "VALUE_CONSTANT", place);
  const bool is_null = value.is_null();
  e["value"] = {{"type", {{"id", type}, {"type_info", nullptr}}}, {"is_null", is_null}};
  if (!is_null) e["value"]["value"] = std::move(value);
  return e;
}

const Json* ValueOf(const Json& e) {
  if (!IsClass(e, "CONSTANT") || !e.contains("value")) return nullptr;
  const Json& value = e["value"];
  return value.is_object() ? &value : nullptr;
}

}  // namespace

std::uint64_t FirstPlace(const Json& e) {
  std::uint64_t first = kNoPlace;
  if (e.is_object()) {
    first = Place(e);
    for (const auto& [key, child] : e.items()) {
      if (key != "subquery" && child.is_structured()) first = std::min(first, FirstPlace(child));
    }
  } else if (e.is_array()) {
    for (const Json& child : e) first = std::min(first, FirstPlace(child));
  }
  return first;
}

Json Integer(std::int64_t value, std::uint64_t place) { return Constant("BIGINT", value, place); }
Json Text(std::string_view value, std::uint64_t place) { return Constant("VARCHAR", value, place); }
Json Bool(bool value, std::uint64_t place) { return Constant("BOOLEAN", value, place); }
Json Null(std::uint64_t place) { return Constant("NULL", nullptr, place); }

Json ColumnRef(std::vector<std::string> path, std::uint64_t place) {
  Json e = Expression("COLUMN_REF", "COLUMN_REF", place);
  e["column_names"] = std::move(path);
  return e;
}

Json Cast(Json child, std::string_view type, bool try_cast) {
  Json e = Expression("CAST", "OPERATOR_CAST", Place(child));
  e["alias"] = TakeAlias(child);
  e["child"] = std::move(child);
  e["cast_type"] = {{"id", type}, {"type_info", nullptr}};
  e["try_cast"] = try_cast;
  return e;
}

Json Call(std::string_view function, Json::array_t children, std::uint64_t place) {
  Json e = Expression("FUNCTION", "FUNCTION", place);
  e["function_name"] = function;
  e["schema"] = "";
  e["children"] = std::move(children);
  e["filter"] = nullptr;
  e["order_bys"] = {{"type", "ORDER_MODIFIER"}, {"orders", Json::array()}};
  e["distinct"] = false;
  e["is_operator"] = false;
  e["export_state"] = false;
  e["catalog"] = "";
  return e;
}

Json Binary(std::string_view op, Json left, Json right, std::uint64_t place) {
  Json e = Call(op, {std::move(left), std::move(right)}, place);
  e["is_operator"] = true;
  return e;
}

Json Compare(std::string_view type, Json left, Json right, std::uint64_t place) {
  Json e = Expression("COMPARISON", type, place);
  e["left"] = std::move(left);
  e["right"] = std::move(right);
  return e;
}

Json Operator(std::string_view type, Json::array_t children, std::uint64_t place) {
  Json e = Expression("OPERATOR", type, place);
  e["children"] = std::move(children);
  return e;
}

Json And(Json::array_t children, std::uint64_t place) {
  Json e = Expression("CONJUNCTION", "CONJUNCTION_AND", place);
  e["children"] = std::move(children);
  return e;
}

Json Case(std::vector<std::pair<Json, Json>> checks, Json otherwise, std::uint64_t place) {
  Json e = Expression("CASE", "CASE_EXPR", place);
  e["case_checks"] = Json::array();
  for (auto& [when, then] : checks) {
    e["case_checks"].push_back({{"when_expr", std::move(when)}, {"then_expr", std::move(then)}});
  }
  e["else_expr"] = std::move(otherwise);
  return e;
}

std::optional<std::string> TextOf(const Json& e) {
  const Json* value = ValueOf(e);
  if (value == nullptr || value->value("is_null", true) || !(*value)["value"].is_string()) {
    return std::nullopt;
  }
  if ((*value)["type"].value("id", "") != "VARCHAR") return std::nullopt;
  return (*value)["value"].get<std::string>();
}

std::optional<std::int64_t> IntegerOf(const Json& e) {
  const Json* value = ValueOf(e);
  if (value == nullptr || value->value("is_null", true)) return std::nullopt;
  const Json& number = (*value)["value"];
  if (!number.is_number_integer()) return std::nullopt;
  if (number.is_number_unsigned() && number.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return number.get<std::int64_t>();
}

bool IsNullConstant(const Json& e) {
  const Json* value = ValueOf(e);
  return value != nullptr && value->value("is_null", false);
}

std::vector<std::string> PathOf(const Json& column_ref) {
  if (!column_ref.contains("column_names")) return {};
  return column_ref["column_names"].get<std::vector<std::string>>();
}

std::string TakeAlias(Json& e) {
  if (!e.is_object() || !e.contains("alias")) return "";
  std::string alias = e["alias"].get<std::string>();
  e["alias"] = "";
  return alias;
}

}  // namespace culprit::query::tree
