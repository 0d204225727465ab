// Functions and operators that are functions to DuckDB: arithmetic, LIKE and GLOB, aggregates.
// The scalar functions of SQLite that DuckDB has otherwise are in scalar_function.cc.

#include <algorithm>
#include <array>

#include "query/like_pattern.h"
#include "query/rewriter.h"
#include "query/token.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

constexpr std::array<std::string_view, 40> kAggregates = {"sum",
                                                          "total",
                                                          "count",
                                                          "count_star",
                                                          "avg",
                                                          "min",
                                                          "max",
                                                          "group_concat",
                                                          "string_agg",
                                                          "any_value",
                                                          "first",
                                                          "last",
                                                          "arbitrary",
                                                          "arg_min",
                                                          "arg_max",
                                                          "arg_min_null",
                                                          "arg_max_null",
                                                          "min_by",
                                                          "max_by",
                                                          "median",
                                                          "mode",
                                                          "quantile",
                                                          "quantile_cont",
                                                          "quantile_disc",
                                                          "percentile",
                                                          "stddev",
                                                          "stddev_samp",
                                                          "stddev_pop",
                                                          "variance",
                                                          "var_samp",
                                                          "var_pop",
                                                          "list",
                                                          "array_agg",
                                                          "histogram",
                                                          "bool_and",
                                                          "bool_or",
                                                          "approx_quantile",
                                                          "approx_count_distinct",
                                                          "bit_or",
                                                          "product"};

bool IsBlank(const Json& e) { return !e.is_object() || !e.contains("class"); }

void ToBigint(Json& e) { e = Cast(std::move(e), "BIGINT"); }

// A text in arithmetic is the number it begins with, and 0 when it begins with none.
void TextToNumber(Json& e, Type& type) {
  if (!IsText(type)) return;
  if (const auto text = TextOf(e)) {
    if (auto number = NumberOfText(*text, Place(e))) {
      type = IsClass(*number, "CONSTANT") ? Type::kBigint : Type::kReal;
      e = std::move(*number);
      return;
    }
    e = Integer(0, Place(e));
    type = Type::kBigint;
    return;
  }
  e = Coalesce(Cast(Cast(std::move(e), "VARCHAR"), "DOUBLE", true), Cast(Text("0"), "DOUBLE"));
  type = Type::kReal;
}

void BoolToNumber(Json& e, Type& type) {
  if (type != Type::kBool) return;
  ToBigint(e);
  type = Type::kBigint;
}

std::string LowerName(const Json& e) { return ToLower(e.value("function_name", "")); }

}  // namespace

bool IsAggregate(std::string_view name, std::size_t children) {
  if ((name == "min" || name == "max") && children != 1) return false;
  return std::find(kAggregates.begin(), kAggregates.end(), name) != kAggregates.end();
}

Type Rewriter::Function(Json& e, Scope& scope) {
  const std::string name = LowerName(e);
  functions_.insert(name);
  static constexpr std::array<std::string_view, 7> kArithmetic = {"+",  "-", "*", "/",
                                                                  "//", "%", "||"};
  static constexpr std::array<std::string_view, 5> kBits = {"&", "|", "<<", ">>", "~"};
  static constexpr std::array<std::string_view, 8> kLikes = {
      "~~", "!~~", "~~*", "!~~*", "~~~", "like_escape", "not_like_escape", "ilike_escape"};
  const auto is_any = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_any(kArithmetic)) return Arithmetic(e, scope);
  if (is_any(kBits)) return BitOperation(e, scope);
  if (is_any(kLikes)) return Like(e, scope);
  std::vector<Type> types;
  for (Json& child : e["children"]) types.push_back(Expression(child, scope));
  if (!IsBlank(e["filter"])) Expression(e["filter"], scope);
  Orders(e["order_bys"]["orders"], scope);
  if (name == "extract_arg" && types.size() == 2) {
    const auto key = TextOf(e["children"][1]);
    const Type type = key ? catalog_.ArgumentType(*key) : Type::kText;
    e["function_name"] = type == Type::kBigint ? "__extract_int"
                         : type == Type::kReal ? "__extract_real"
                                               : "__extract_text";
    QualifyArguments(e, scope);
    return type;
  }
  if (const UserFunction* function = catalog_.FindFunction(name)) {
    QualifyArguments(e, scope);
    return function->result;
  }
  for (std::size_t i = 0; i < types.size(); ++i) BoolToNumber(e["children"][i], types[i]);
  if (IsAggregate(name, types.size())) return Aggregate(e, name, types);
  return Scalar(e, name, types);
}

Type Rewriter::Arithmetic(Json& e, Scope& scope) {
  const std::string name = LowerName(e);
  Json& children = e["children"];
  std::vector<Type> types;
  for (Json& child : children) {
    Type type = Expression(child, scope);
    BoolToNumber(child, type);
    types.push_back(type);
  }
  if (name == "||") {
    // Lists are joined by it too.
    const bool lists = std::find(types.begin(), types.end(), Type::kOther) != types.end();
    return lists ? Type::kOther : Type::kText;
  }
  for (std::size_t i = 0; i < types.size(); ++i) TextToNumber(children[i], types[i]);
  if (types.size() == 1) {
    if (types[0] != Type::kNarrow) return types[0];
    ToBigint(children[0]);
    return Type::kBigint;
  }
  if (types.size() != 2) return Type::kUnknown;
  Type common = CommonType(types[0], types[1]);
  // SQLite computes in 64 bits. One wide operand is enough for DuckDB to do so too; division and
  // remainder cannot overflow.
  if (common == Type::kNarrow && name != "/" && name != "//" && name != "%") {
    ToBigint(children[IntegerOf(children[0]) ? 0 : 1]);
    common = Type::kBigint;
  }
  // NULL OP x would be a VARCHAR to DuckDB.
  if (common == Type::kNull) return Type::kNull;
  return common;
}

Type Rewriter::BitOperation(Json& e, Scope& scope) {
  for (Json& child : e["children"]) {
    Type type = Expression(child, scope);
    BoolToNumber(child, type);
    if (type == Type::kNarrow || type == Type::kWide) ToBigint(child);
    if (type == Type::kReal) child = Cast(Call("trunc", {std::move(child)}, Place(e)), "BIGINT");
  }
  return Type::kBigint;
}

Type Rewriter::Like(Json& e, Scope& scope) {
  const std::string name = LowerName(e);
  const auto place = Place(e);
  Json& children = e["children"];
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Type type = Expression(children[i], scope);
    if (type == Type::kBool) ToBigint(children[i]);
    // `x` may be an ENUM or a number.
    if (type != Type::kText && type != Type::kNull)
      children[i] = Cast(std::move(children[i]), "VARCHAR");
  }
  const bool negated = name.starts_with("!") || name.starts_with("not_");
  const LikeKind kind = place == kNoPlace ? LikeKind::kLike : text_.LikeAt(place);
  const auto constant = TextOf(children[1]);
  std::string alias = TakeAlias(e);
  const auto become = [&](Json value, bool is_negated) {
    e = is_negated ? Not(std::move(value)) : std::move(value);
    e["alias"] = alias;
    return Type::kBool;
  };
  if (kind == LikeKind::kRegexp) {
    return become(Call("regexp_matches", {children[0], children[1]}, place), negated);
  }
  if (kind == LikeKind::kGlob || name == "~~~") {
    const Json subject = children[0];
    if (!constant) return become(Binary("~~~", subject, children[1], place), negated);
    const GlobPattern pattern = GlobPattern::Of(*constant);
    Json literal = Text(pattern.text, Place(children[1]));
    switch (pattern.kind) {
      case GlobPattern::Kind::kExact:
        return become(Compare("COMPARE_EQUAL", subject, std::move(literal), place), negated);
      case GlobPattern::Kind::kPrefix:
        return become(Call("starts_with", {subject, std::move(literal)}, place), negated);
      case GlobPattern::Kind::kSuffix:
        return become(Call("ends_with", {subject, std::move(literal)}, place), negated);
      case GlobPattern::Kind::kContains:
        return become(Call("contains", {subject, std::move(literal)}, place), negated);
      case GlobPattern::Kind::kPattern:
        return become(Binary("~~~", subject, std::move(literal), place), negated);
    }
  }
  // SQLite's LIKE knows no case; without letters there is none to know, and DuckDB's is faster.
  const bool has_letters = !constant || HasLetters(*constant);
  e["alias"] = alias;
  if (!has_letters) return Type::kBool;
  if (name == "~~") e["function_name"] = "~~*";
  if (name == "!~~") e["function_name"] = "!~~*";
  if (name == "like_escape") e["function_name"] = "ilike_escape";
  if (name == "not_like_escape") e["function_name"] = "not_ilike_escape";
  return Type::kBool;
}

Type Rewriter::Aggregate(Json& e, std::string_view name, const std::vector<Type>& types) {
  const std::string alias = TakeAlias(e);
  const auto finish = [&](Json value, Type type) {
    e = std::move(value);
    e["alias"] = alias;
    return type;
  };
  e["function_name"] = name;
  const Type first = types.empty() ? Type::kUnknown : types.front();
  if (name == "count" || name == "count_star" || name == "approx_count_distinct") {
    return finish(std::move(e), Type::kBigint);
  }
  if (name == "sum" || name == "total" || name == "avg") {
    Type type = first;
    TextToNumber(e["children"][0], type);
    const auto place = Place(e);
    if (name == "avg") return finish(std::move(e), Type::kReal);
    if (name == "total") {
      e["function_name"] = "sum";
      e["children"][0] = Cast(std::move(e["children"][0]), "DOUBLE");
      Json zero = Cast(Text("0", place), "DOUBLE");
      return finish(Coalesce(std::move(e), std::move(zero)), Type::kReal);
    }
    if (IsInteger(type)) return finish(Cast(std::move(e), "BIGINT"), Type::kBigint);
    return finish(std::move(e), type);
  }
  if (name == "group_concat" || name == "string_agg") {
    if (first != Type::kText) e["children"][0] = Cast(std::move(e["children"][0]), "VARCHAR");
    Json& orders = e["order_bys"]["orders"];
    if (e.value("distinct", false) && orders.empty()) {
      // Else the order would be that of a hash table.
      orders.push_back({{"type", "ORDER_DEFAULT"},
                        {"null_order", "ORDER_DEFAULT"},
                        {"expression", e["children"][0]}});
    }
    return finish(std::move(e), Type::kText);
  }
  if (name == "percentile" && types.size() == 2) {
    // SQLite and Perfetto: 0 to 100.
    e["function_name"] = "quantile_cont";
    Json share = std::move(e["children"][1]);
    const auto place = Place(e);
    e["children"][1] =
        Binary("/", Cast(std::move(share), "DOUBLE"), Cast(Text("100"), "DOUBLE"), place);
    e["children"][0] = Cast(std::move(e["children"][0]), "DOUBLE");
    return finish(std::move(e), Type::kReal);
  }
  if (name == "min" || name == "max" || name == "any_value" || name == "first" || name == "last" ||
      name == "arbitrary" || name == "mode" || name.starts_with("arg_") || name == "min_by" ||
      name == "max_by" || name == "quantile_disc") {
    return finish(std::move(e), first);
  }
  if (name == "median" || name.starts_with("quantile") || name.starts_with("stddev") ||
      name.starts_with("var") || name == "product") {
    return finish(std::move(e), Type::kReal);
  }
  if (name == "bool_and" || name == "bool_or") return finish(std::move(e), Type::kBool);
  return finish(std::move(e), Type::kOther);
}

Type Rewriter::Window(Json& e, Scope& scope) {
  const std::string name = LowerName(e);
  functions_.insert(name);
  std::vector<Type> types;
  for (Json& child : e["children"]) {
    Type type = Expression(child, scope);
    BoolToNumber(child, type);
    types.push_back(type);
  }
  for (Json& partition : e["partitions"]) Expression(partition, scope);
  Orders(e["orders"], scope);
  Orders(e["arg_orders"], scope);
  for (const char* part :
       {"start_expr", "end_expr", "offset_expr", "default_expr", "filter_expr"}) {
    if (!IsBlank(e[part])) Expression(e[part], scope);
  }
  const Type first = types.empty() ? Type::kUnknown : types.front();
  const std::string alias = TakeAlias(e);
  const auto finish = [&](Json value, Type type) {
    e = std::move(value);
    e["alias"] = alias;
    return type;
  };
  if (name == "total") {
    e["function_name"] = "sum";
    e["children"][0] = Cast(std::move(e["children"][0]), "DOUBLE");
    return finish(Coalesce(std::move(e), Cast(Text("0"), "DOUBLE")), Type::kReal);
  }
  if (name == "sum") {
    if (IsInteger(first)) return finish(Cast(std::move(e), "BIGINT"), Type::kBigint);
    return finish(std::move(e), first);
  }
  if (name == "group_concat" || name == "string_agg") {
    if (first != Type::kText) e["children"][0] = Cast(std::move(e["children"][0]), "VARCHAR");
    return finish(std::move(e), Type::kText);
  }
  if (name == "avg" || name == "percent_rank" || name == "cume_dist") {
    return finish(std::move(e), Type::kReal);
  }
  if (name == "count" || name == "count_star" || name == "row_number" || name == "rank" ||
      name == "dense_rank" || name == "ntile") {
    return finish(std::move(e), Type::kBigint);
  }
  return finish(std::move(e), first);
}

}  // namespace culprit::query
