// Expressions: names, constants, comparisons, CASE, CAST, subqueries.

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "query/perfetto_sql.h"
#include "query/rewriter.h"
#include "query/token.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

// SQLite takes comparisons for the numbers 0 and 1.
void BoolToInteger(Json& e, Type& type) {
  if (type != Type::kBool) return;
  e = Cast(std::move(e), "BIGINT");
  type = Type::kBigint;
}

bool IsValueExpression(const Json& e) { return e.is_object() && e.contains("class"); }

// Whether SQLite gives an expression the affinity of what it holds: a column or a CAST.
bool HasAffinity(const Json& e) { return IsClass(e, "COLUMN_REF") || IsClass(e, "CAST"); }

// NULL when any of `children` is, else `value`.
Json UnlessNull(Json child, bool value) {
  const auto place = Place(child);
  return Case({{IsNull(std::move(child)), Null()}}, Bool(value, place), place);
}

// `number OP text`, where SQLite makes a number of the text if it is one, and else finds every
// number smaller than every text.
bool CompareNumberWithText(Json& e, Json& number, Json& text, bool number_is_left) {
  const std::string op = TypeTag(e);
  const auto constant = TextOf(text);
  if (!constant) {
    text = Cast(std::move(text), "DOUBLE", true);
    return false;
  }
  if (auto parsed = NumberOfText(*constant, Place(text))) {
    text = std::move(*parsed);
    return false;
  }
  const bool is_less = op == "COMPARE_LESSTHAN" || op == "COMPARE_LESSTHANOREQUALTO";
  const bool is_greater = op == "COMPARE_GREATERTHAN" || op == "COMPARE_GREATERTHANOREQUALTO";
  if (op == "COMPARE_DISTINCT_FROM" || op == "COMPARE_NOT_DISTINCT_FROM") {
    const std::string alias = TakeAlias(e);
    e = Bool(op == "COMPARE_DISTINCT_FROM", Place(e));
    e["alias"] = alias;
    return true;
  }
  const bool value =
      op == "COMPARE_NOTEQUAL" || (is_less && number_is_left) || (is_greater && !number_is_left);
  const std::string alias = TakeAlias(e);
  e = UnlessNull(std::move(number), value);
  e["alias"] = alias;
  return true;
}

}  // namespace

std::optional<Json> NumberOfText(const std::string& text, std::uint64_t place) {
  const std::string_view trimmed = TrimBlanks(text);
  if (const auto integer = ParseInteger<std::int64_t>(trimmed)) return Integer(*integer, place);
  if (ParseNumber(trimmed)) return Cast(Text(trimmed, place), "DOUBLE");
  return std::nullopt;
}

std::string ParameterName(std::string_view name) { return "culprit_arg_" + ToLower(name); }

Type Rewriter::Expression(Json& e, Scope& scope) {
  if (!IsValueExpression(e)) return Type::kUnknown;
  const std::string kind = Class(e);
  if (kind == "COLUMN_REF") return ColumnRef(e, scope);
  if (kind == "CONSTANT") return Constant(e);
  if (kind == "FUNCTION") return Function(e, scope);
  if (kind == "COMPARISON") return Comparison(e, scope);
  if (kind == "BETWEEN") return Between(e, scope);
  if (kind == "CASE") return CaseOf(e, scope);
  if (kind == "CAST") return CastTo(e, scope);
  if (kind == "SUBQUERY") return Subquery(e, scope);
  if (kind == "OPERATOR") return Operator(e, scope);
  if (kind == "WINDOW") return Window(e, scope);
  if (kind == "CONJUNCTION") {
    for (Json& child : e["children"]) Expression(child, scope);
    return Type::kBool;
  }
  if (kind == "COLLATE") {
    const Type type = Expression(e["child"], scope);
    if (EqualsIgnoreCase(e.value("collation", ""), "binary")) {
      Json child = std::move(e["child"]);
      e = std::move(child);
    }
    return type;
  }
  if (kind == "PARAMETER") {
    const std::string name = e.value("identifier", "");
    const auto it = std::find_if(parameters_.begin(), parameters_.end(),
                                 [&](const Column& p) { return EqualsIgnoreCase(p.name, name); });
    if (it == parameters_.end()) return Type::kUnknown;
    const std::string alias = TakeAlias(e);
    e = tree::ColumnRef({ParameterName(name)}, Place(e));
    // Of the declared width, whatever is passed.
    const std::string_view type = DuckdbType(it->type);
    if (!type.empty()) e = Cast(std::move(e), type);
    e["alias"] = alias;
    return it->type;
  }
  return Type::kOther;
}

Type Rewriter::ColumnRef(Json& e, Scope& scope) {
  const auto path = PathOf(e);
  if (const auto found = scope.Find(path))
    return found->scope->relations[found->relation].columns[found->column].type;
  if (path.size() != 1) return Type::kUnknown;
  for (const Scope* s = &scope; s != nullptr; s = s->outer) {
    if (const Column* alias = s->FindAlias(path.front())) return alias->type;
  }
  // SQLite's "text" that is the name of nothing.
  const Token* token = Place(e) == kNoPlace ? nullptr : text_.TokenAt(Place(e));
  if (token != nullptr && token->kind == TokenKind::kQuoted && !scope.MayHide()) {
    e = Text(path.front(), Place(e));
    return Type::kText;
  }
  return Type::kUnknown;
}

Type Rewriter::Constant(Json& e) {
  if (IsNullConstant(e)) return Type::kNull;
  const std::string id = e["value"]["type"].value("id", "");
  if (id == "DECIMAL" || id == "DOUBLE" || id == "FLOAT" || id == "HUGEINT" || id == "UHUGEINT") {
    // Written again digit by digit, it would be a DECIMAL: SQLite knows REAL only.
    const Token* token = Place(e) == kNoPlace ? nullptr : text_.TokenAt(Place(e));
    std::string digits;
    if (token != nullptr && token->kind == TokenKind::kNumber) {
      digits = token->text;
    } else if (token != nullptr && token->IsSymbol("-") && token != &text_.tokens().back()) {
      digits = "-" + (token + 1)->text;
    }
    std::erase(digits, '_');
    if (!ParseNumber(digits)) return Type::kReal;
    std::string alias = TakeAlias(e);
    e = Cast(Text(digits, Place(e)), "DOUBLE");
    e["alias"] = alias;
    return Type::kReal;
  }
  return id == "INTEGER" ? Type::kNarrow : TypeOfName(id);
}

Type Rewriter::Comparison(Json& e, Scope& scope) {
  Json& left = e["left"];
  Json& right = e["right"];
  Type a = Expression(left, scope);
  Type b = Expression(right, scope);
  if (a != b && (IsNumber(a) || IsText(a))) BoolToInteger(right, b);
  if (a != b && (IsNumber(b) || IsText(b))) BoolToInteger(left, a);
  if (IsNumber(a) && IsText(b)) {
    if (HasAffinity(right) && !HasAffinity(left)) {
      left = Cast(std::move(left), "VARCHAR");
    } else {
      CompareNumberWithText(e, left, right, true);
    }
  } else if (IsText(a) && IsNumber(b)) {
    if (HasAffinity(left) && !HasAffinity(right)) {
      right = Cast(std::move(right), "VARCHAR");
    } else {
      CompareNumberWithText(e, right, left, false);
    }
  } else if (a == Type::kEnum && b == Type::kText && TextOf(right)) {
    // A text that is no member of the ENUM is not equal to any, instead of an error.
    right = Cast(std::move(right), "VARCHAR");
  } else if (b == Type::kEnum && a == Type::kText && TextOf(left)) {
    left = Cast(std::move(left), "VARCHAR");
  }
  return Type::kBool;
}

Type Rewriter::Between(Json& e, Scope& scope) {
  // As two comparisons where the kinds differ, so that the rules above hold.
  Scope& names = scope;
  Json input = e["input"];
  Type type = Expression(input, names);
  Json lower = e["lower"];
  Json upper = e["upper"];
  const Type low = Expression(lower, names);
  const Type high = Expression(upper, names);
  const auto alike = [&](Type t) {
    return t == type || (IsNumber(t) && IsNumber(type)) || t == Type::kNull ||
           t == Type::kUnknown || type == Type::kUnknown || type == Type::kOther;
  };
  if (alike(low) && alike(high)) {
    e["input"] = std::move(input);
    e["lower"] = std::move(lower);
    e["upper"] = std::move(upper);
    return Type::kBool;
  }
  const auto place = Place(e);
  Json from = Compare("COMPARE_GREATERTHANOREQUALTO", e["input"], e["lower"], place);
  Json to = Compare("COMPARE_LESSTHANOREQUALTO", e["input"], e["upper"], place);
  Comparison(from, scope);
  Comparison(to, scope);
  std::string alias = TakeAlias(e);
  e = And({std::move(from), std::move(to)}, place);
  e["alias"] = alias;
  return Type::kBool;
}

Type Rewriter::InList(Json& e, Scope& scope) {
  Json& children = e["children"];
  Type type = Expression(children[0], scope);
  BoolToInteger(children[0], type);
  for (std::size_t i = 1; i < children.size(); ++i) {
    Type item = Expression(children[i], scope);
    BoolToInteger(children[i], item);
    const auto text = TextOf(children[i]);
    if (IsNumber(type) && text) {
      auto number = NumberOfText(*text, Place(children[i]));
      // No number equals this text: an item that is never equal and not NULL.
      if (number) children[i] = std::move(*number);
      if (!number) children[i] = Cast(Text("nan", Place(children[i])), "DOUBLE");
    } else if (IsText(type) && IsNumber(item)) {
      children[i] = Cast(std::move(children[i]), "VARCHAR");
    } else if (type == Type::kEnum && text) {
      children[i] = Cast(std::move(children[i]), "VARCHAR");
    }
  }
  return Type::kBool;
}

Type Rewriter::Unify(std::vector<Json*> values, Scope& scope) {
  std::vector<Type> types;
  Type common = Type::kNull;
  for (Json* value : values) {
    Type type = Expression(*value, scope);
    BoolToInteger(*value, type);
    types.push_back(type);
    common = CommonType(common, type);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    // A text constant beside numbers would be read as a number.
    if (common == Type::kText && IsNumber(types[i]))
      *values[i] = Cast(std::move(*values[i]), "VARCHAR");
    if (common == Type::kText && TextOf(*values[i]) &&
        std::any_of(types.begin(), types.end(), [](Type t) { return t != Type::kText; })) {
      *values[i] = Cast(std::move(*values[i]), "VARCHAR");
    }
  }
  return common;
}

Type Rewriter::CaseOf(Json& e, Scope& scope) {
  std::vector<Json*> values;
  for (Json& check : e["case_checks"]) {
    Expression(check["when_expr"], scope);
    values.push_back(&check["then_expr"]);
  }
  if (IsValueExpression(e["else_expr"])) values.push_back(&e["else_expr"]);
  return Unify(std::move(values), scope);
}

Type Rewriter::CastTo(Json& e, Scope& scope) {
  const Type from = Expression(e["child"], scope);
  std::string to = e["cast_type"].value("id", "");
  if (e.value("try_cast", false)) return TypeOfName(to);
  if (to == "BOOLEAN" && TextOf(e["child"])) return Type::kBool;  // TRUE and FALSE
  const auto place = Place(e);
  const std::string alias = TakeAlias(e);
  const auto become = [&](Json value) {
    e = std::move(value);
    e["alias"] = alias;
  };
  const bool to_integer = to == "INTEGER" || to == "BIGINT" || to == "SMALLINT" || to == "TINYINT";
  if (to_integer) {
    Json child = std::move(e["child"]);
    if (from == Type::kReal) child = Call("trunc", {std::move(child)}, place);
    if (IsText(from)) {
      // The digits that the text begins with; 0 when there are none.
      Json digits = Call("regexp_extract",
                         {Cast(child, "VARCHAR"), Text("^\\s*([+-]?\\d+)"), Integer(1)}, place);
      Json value = Coalesce(Cast(std::move(digits), "BIGINT", true), Integer(0));
      become(Case({{IsNull(std::move(child)), Null()}}, std::move(value), place));
      return Type::kBigint;
    }
    become(Cast(std::move(child), "BIGINT"));
    return Type::kBigint;
  }
  if (to == "FLOAT" || to == "DOUBLE" || to == "DECIMAL") {
    // NUMERIC without digits is DECIMAL(18, 3) to DuckDB, and "as it is" to SQLite.
    const Json info = e["cast_type"].value("type_info", Json());
    const bool is_plain =
        !info.is_object() || (info.value("width", 0) == 18 && info.value("scale", 0) == 3);
    if (to == "DECIMAL" && !is_plain) {
      e["alias"] = alias;
      return Type::kReal;
    }
    Json child = std::move(e["child"]);
    if (to == "DECIMAL" && IsNumber(from)) {
      become(std::move(child));
      return from;
    }
    if (IsText(from)) {
      Json digits = Call("regexp_extract",
                         {Cast(child, "VARCHAR"),
                          Text("^\\s*([+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?)"), Integer(1)},
                         place);
      Json value = Coalesce(Cast(std::move(digits), "DOUBLE", true), Cast(Text("0"), "DOUBLE"));
      become(Case({{IsNull(std::move(child)), Null()}}, std::move(value), place));
      return Type::kReal;
    }
    become(Cast(std::move(child), "DOUBLE"));
    return Type::kReal;
  }
  if (to == "VARCHAR" && from == Type::kBool) e["child"] = Cast(std::move(e["child"]), "BIGINT");
  e["alias"] = alias;
  return TypeOfName(to);
}

Type Rewriter::Subquery(Json& e, Scope& scope) {
  if (IsValueExpression(e["child"])) Expression(e["child"], scope);
  const Columns columns = Query(e["subquery"]["node"], &scope, false);
  if (e.value("subquery_type", "") != "SCALAR") return Type::kBool;
  return columns.empty() ? Type::kUnknown : columns.front().type;
}

Type Rewriter::Operator(Json& e, Scope& scope) {
  const std::string type = TypeTag(e);
  Json& children = e["children"];
  if (type == "COMPARE_IN" || type == "COMPARE_NOT_IN") return InList(e, scope);
  if (type == "OPERATOR_COALESCE") {
    std::vector<Json*> values;
    for (Json& child : children) values.push_back(&child);
    return Unify(std::move(values), scope);
  }
  Type first = Type::kUnknown;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Type child = Expression(children[i], scope);
    if (i == 0) first = child;
  }
  if (type == "OPERATOR_NULLIF") return first;
  if (type == "OPERATOR_NOT" || type == "OPERATOR_IS_NULL" || type == "OPERATOR_IS_NOT_NULL") {
    return Type::kBool;
  }
  return Type::kOther;
}

void Rewriter::Orders(Json& orders, Scope& scope) {
  if (!orders.is_array()) return;
  for (Json& order : orders) {
    if (IntegerOf(order["expression"])) continue;  // the number of a column
    Expression(order["expression"], scope);
  }
}

}  // namespace culprit::query
