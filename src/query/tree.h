// Pieces of the tree that DuckDB's json_serialize_sql gives and json_deserialize_sql takes.
// Only shapes: which piece goes where is decided in rewriter.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::query::tree {

using Json = nlohmann::json;

// DuckDB's mark of "nowhere".
inline constexpr std::uint64_t kNoPlace = ~std::uint64_t{0};

inline std::string Class(const Json& e) {
  return e.is_object() ? e.value("class", std::string()) : std::string();
}
inline std::string TypeTag(const Json& e) {
  return e.is_object() ? e.value("type", std::string()) : std::string();
}
inline bool IsClass(const Json& e, std::string_view name) {
  return e.is_object() && e.contains("class") && e["class"] == name;
}
inline std::uint64_t Place(const Json& e) {
  return e.is_object() ? e.value("query_location", kNoPlace) : kNoPlace;
}
// The first place in an expression that is not inside a subquery of it.
std::uint64_t FirstPlace(const Json& e);

Json Integer(std::int64_t value, std::uint64_t place = kNoPlace);
Json Text(std::string_view value, std::uint64_t place = kNoPlace);
Json Bool(bool value, std::uint64_t place = kNoPlace);
Json Null(std::uint64_t place = kNoPlace);
Json ColumnRef(std::vector<std::string> path, std::uint64_t place = kNoPlace);

// The place of what these wrap is theirs too, so that errors find the way back.
Json Cast(Json child, std::string_view type, bool try_cast = false);
Json Call(std::string_view function, Json::array_t children, std::uint64_t place);
Json Binary(std::string_view op, Json left, Json right, std::uint64_t place);
Json Compare(std::string_view type, Json left, Json right, std::uint64_t place);
Json Operator(std::string_view type, Json::array_t children, std::uint64_t place);
Json And(Json::array_t children, std::uint64_t place);
Json Case(std::vector<std::pair<Json, Json>> checks, Json otherwise, std::uint64_t place);
inline Json IsNull(Json child) {
  const auto place = Place(child);
  return Operator("OPERATOR_IS_NULL", {std::move(child)}, place);
}
inline Json Coalesce(Json child, Json otherwise) {
  const auto place = Place(child);
  return Operator("OPERATOR_COALESCE", {std::move(child), std::move(otherwise)}, place);
}
inline Json Not(Json child) {
  const auto place = Place(child);
  return Operator("OPERATOR_NOT", {std::move(child)}, place);
}

// The text of a VARCHAR constant; nothing when `e` is something else.
std::optional<std::string> TextOf(const Json& e);
std::optional<std::int64_t> IntegerOf(const Json& e);
bool IsNullConstant(const Json& e);
std::vector<std::string> PathOf(const Json& column_ref);

// Moves the name that the result of `e` has out of it, and gives it one.
std::string TakeAlias(Json& e);

}  // namespace culprit::query::tree
