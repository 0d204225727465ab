// SQLite's scalar functions that DuckDB lacks or computes otherwise, and what each gives.

#include <algorithm>
#include <array>

#include "query/printf.h"
#include "query/rewriter.h"
#include "query/token.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

// What becomes of a call. Types are those of the arguments.
using Types = std::vector<Type>;

enum class Gives { kText, kBigint, kReal, kBool, kFirst, kOther };

// Functions that DuckDB has as they are.
struct Plain {
  std::string_view name;
  Gives gives;
  bool text_arguments;  // numbers given to it are to be texts first
};
constexpr std::array kPlain = {Plain{"length", Gives::kBigint, true},
                               Plain{"strlen", Gives::kBigint, true},
                               Plain{"instr", Gives::kBigint, true},
                               Plain{"unicode", Gives::kBigint, true},
                               Plain{"upper", Gives::kText, true},
                               Plain{"lower", Gives::kText, true},
                               Plain{"trim", Gives::kText, true},
                               Plain{"ltrim", Gives::kText, true},
                               Plain{"rtrim", Gives::kText, true},
                               Plain{"replace", Gives::kText, true},
                               Plain{"concat", Gives::kText, false},
                               Plain{"concat_ws", Gives::kText, false},
                               Plain{"chr", Gives::kText, false},
                               Plain{"hex", Gives::kText, true},
                               Plain{"starts_with", Gives::kBool, true},
                               Plain{"ends_with", Gives::kBool, true},
                               Plain{"contains", Gives::kBool, false},
                               Plain{"regexp_matches", Gives::kBool, true},
                               Plain{"abs", Gives::kFirst, false},
                               Plain{"sign", Gives::kBigint, false},
                               Plain{"sqrt", Gives::kReal, false},
                               Plain{"ln", Gives::kReal, false},
                               Plain{"log10", Gives::kReal, false},
                               Plain{"log2", Gives::kReal, false},
                               Plain{"exp", Gives::kReal, false},
                               Plain{"pow", Gives::kReal, false},
                               Plain{"power", Gives::kReal, false},
                               Plain{"sin", Gives::kReal, false},
                               Plain{"cos", Gives::kReal, false},
                               Plain{"tan", Gives::kReal, false},
                               Plain{"pi", Gives::kReal, false},
                               Plain{"ceil", Gives::kFirst, false},
                               Plain{"ceiling", Gives::kFirst, false},
                               Plain{"floor", Gives::kFirst, false},
                               Plain{"trunc", Gives::kFirst, false},

                               Plain{"json_extract_string", Gives::kText, false},
                               Plain{"regexp_extract", Gives::kText, true},
                               Plain{"regexp_replace", Gives::kText, true},
                               Plain{"split_part", Gives::kText, true},
                               Plain{"json_array_length", Gives::kBigint, false}};

Type TypeOf(Gives gives, const Types& types) {
  switch (gives) {
    case Gives::kText:
      return Type::kText;
    case Gives::kBigint:
      return Type::kBigint;
    case Gives::kReal:
      return Type::kReal;
    case Gives::kBool:
      return Type::kBool;
    case Gives::kFirst:
      return types.empty() ? Type::kUnknown : types.front();
    case Gives::kOther:
      break;
  }
  return Type::kOther;
}

Json AsText(Json e, Type type) {
  return type == Type::kText || type == Type::kNull ? e : Cast(std::move(e), "VARCHAR");
}

// Each rewrites the call whose children are `args` and says what it gives.
struct Result {
  Json value;
  Type type;
};

Result IfElse(Json::array_t args, const Types& types, std::uint64_t place) {
  // IIF(a, b [, c]): the kinds of b and c are made one by the caller's CASE rules.
  Json otherwise = args.size() > 2 ? std::move(args[2]) : Null();
  Type type = types[1];
  if (args.size() > 2) {
    type = CommonType(types[1], types[2]);
    if (type == Type::kText && types[1] != types[2]) {
      args[1] = Cast(std::move(args[1]), "VARCHAR");
      otherwise = Cast(std::move(otherwise), "VARCHAR");
    }
  }
  return {Case({{std::move(args[0]), std::move(args[1])}}, std::move(otherwise), place), type};
}

Result Extreme(bool is_max, Json::array_t args, const Types& types, std::uint64_t place) {
  // NULL when any argument is; numbers are smaller than texts, so mixed kinds are compared as text.
  Type type = types.front();
  for (const Type t : types) type = CommonType(type, t);
  std::vector<std::pair<Json, Json>> checks;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (IsNullConstant(args[i])) return {Null(place), Type::kNull};
    if (type == Type::kText && types[i] != Type::kText)
      args[i] = Cast(std::move(args[i]), "VARCHAR");
    // A constant is no NULL; what is one is told row by row.
    if (!IsClass(args[i], "CONSTANT")) checks.emplace_back(tree::IsNull(args[i]), Null());
  }
  Json value = Call(is_max ? "greatest" : "least", std::move(args), place);
  if (checks.empty()) return {std::move(value), type};
  return {Case(std::move(checks), std::move(value), place), type};
}

Result SqliteTypeOf(Json arg, Type type, std::uint64_t place) {
  const auto named = [&](std::string_view name) {
    return Result{Case({{tree::IsNull(arg), Text("null")}}, Text(name), place), Type::kText};
  };
  switch (type) {
    case Type::kNull:
      return {Text("null", place), Type::kText};
    case Type::kBool:
    case Type::kNarrow:
    case Type::kBigint:
    case Type::kWide:
      return named("integer");
    case Type::kReal:
      return named("real");
    case Type::kText:
    case Type::kEnum:
      return named("text");
    case Type::kBlob:
      return named("blob");
    case Type::kUnknown:
    case Type::kOther:
      break;
  }
  // DuckDB knows once it has bound the statement; the CASE is folded then.
  Json duckdb_type = Call("typeof", {arg}, place);
  const auto is = [&](std::string_view name) {
    return Compare("COMPARE_EQUAL", duckdb_type, Text(name), place);
  };
  std::vector<std::pair<Json, Json>> checks;
  checks.emplace_back(tree::IsNull(arg), Text("null"));
  for (const char* name : {"BIGINT", "INTEGER", "UINTEGER", "SMALLINT", "USMALLINT", "TINYINT",
                           "UTINYINT", "HUGEINT", "UBIGINT", "BOOLEAN"}) {
    checks.emplace_back(is(name), Text("integer"));
  }
  for (const char* name : {"DOUBLE", "FLOAT"}) checks.emplace_back(is(name), Text("real"));
  checks.emplace_back(is("BLOB"), Text("blob"));
  return {Case(std::move(checks), Text("text"), place), Type::kText};
}

// SQLite's strftime(format, time, modifiers...) and datetime(time, modifiers...), for the one
// modifier that traces need: 'unixepoch', seconds since 1970.
std::optional<Result> UnixTime(std::string_view name, const Json::array_t& args,
                               std::uint64_t place) {
  const std::size_t time = name == "strftime" ? 1 : 0;
  if (args.size() != time + 2 || TextOf(args[time + 1]) != "unixepoch") return std::nullopt;
  Json format = Text(name == "date"   ? "%Y-%m-%d"
                     : name == "time" ? "%H:%M:%S"
                                      : "%Y-%m-%d %H:%M:%S");
  if (name == "strftime") format = args[0];
  Json instant = Call(
      "make_timestamp",
      {Cast(Binary("*", Cast(args[time], "DOUBLE"), Integer(1000000), place), "BIGINT")}, place);
  return Result{Call("strftime", {std::move(instant), std::move(format)}, place), Type::kText};
}

}  // namespace

Type Rewriter::Scalar(Json& e, std::string_view name, const Types& types) {
  const auto place = Place(e);
  const std::string alias = TakeAlias(e);
  const auto become = [&](Result result) {
    e = std::move(result.value);
    e["alias"] = alias;
    return result.type;
  };
  Json& children = e["children"];
  const auto take = [&] { return children.get<Json::array_t>(); };
  const std::size_t count = types.size();

  if (name == "ifnull" && count == 2) {
    Json value = Coalesce(children[0], children[1]);
    const Type type = CommonType(types[0], types[1]);
    if (type == Type::kText && types[0] != types[1]) {
      for (Json& child : value["children"]) child = Cast(std::move(child), "VARCHAR");
    }
    return become({std::move(value), type});
  }
  if ((name == "iif" || name == "if") && (count == 2 || count == 3)) {
    return become(IfElse(take(), types, place));
  }
  if ((name == "min" || name == "max") && count > 1) {
    return become(Extreme(name == "max", take(), types, place));
  }
  if (name == "typeof" && count == 1) return become(SqliteTypeOf(children[0], types[0], place));
  if (name == "printf" || name == "format") {
    if (auto value = RewritePrintf(take(), types, place))
      return become({std::move(*value), Type::kText});
  }
  if (name == "strftime" || name == "datetime" || name == "date" || name == "time") {
    if (auto result = UnixTime(name, take(), place)) return become(std::move(*result));
  }
  if ((name == "substr" || name == "substring") && count >= 2) {
    children[0] = AsText(std::move(children[0]), types[0]);
    for (std::size_t i = 1; i < count; ++i) children[i] = Cast(std::move(children[i]), "BIGINT");
    return become({std::move(e), Type::kText});
  }
  if (name == "chr" && count != 1) {
    Json value = Text("", place);
    for (Json& child : children) {
      value = Binary("||", std::move(value),
                     Call("chr", {Cast(std::move(child), "INTEGER")}, place), place);
    }
    return become({std::move(value), Type::kText});
  }
  if (name == "chr") children[0] = Cast(std::move(children[0]), "INTEGER");
  if (name == "round" && count >= 1) {
    // Half away from zero, and a REAL always.
    children[0] = Cast(std::move(children[0]), "DOUBLE");
    if (count > 1) children[1] = Cast(std::move(children[1]), "INTEGER");
    return become({std::move(e), Type::kReal});
  }
  if (name == "log" && count == 2) {
    return become({std::move(e), Type::kReal});
  }
  if (name == "log") return become({std::move(e), Type::kReal});
  if (name == "quote" && count == 1) {
    if (IsNumber(types[0]))
      return become({Coalesce(Cast(children[0], "VARCHAR"), Text("NULL")), Type::kText});
    Json doubled = Call("replace", {AsText(children[0], types[0]), Text("'"), Text("''")}, place);
    Json quoted =
        Binary("||", Binary("||", Text("'"), std::move(doubled), place), Text("'"), place);
    return become({Coalesce(std::move(quoted), Text("NULL")), Type::kText});
  }
  if (name == "random" && count == 0) {
    // A whole number from all 64 bits; DuckDB's is a fraction.
    Json bits = Call("hash", {Call("random", {}, place)}, place);
    Json half = Binary("//", std::move(bits), Integer(2), place);
    return become({Cast(std::move(half), "BIGINT"), Type::kBigint});
  }
  if (name == "likely" || name == "unlikely") return become({children[0], types[0]});
  if (name == "zeroblob" || name == "randomblob") return become({std::move(e), Type::kBlob});
  if (name == "abs" && count == 1 && types[0] == Type::kNarrow) {
    children[0] = Cast(std::move(children[0]), "BIGINT");
    return become({std::move(e), Type::kBigint});
  }
  if (name == "nullif" && count == 2) return become({std::move(e), types[0]});
  if (name == "greatest" || name == "least") {
    Type type = types.empty() ? Type::kUnknown : types.front();
    for (const Type t : types) type = CommonType(type, t);
    return become({std::move(e), type});
  }
  const auto it =
      std::find_if(kPlain.begin(), kPlain.end(), [&](const Plain& p) { return p.name == name; });
  if (it == kPlain.end()) return become({std::move(e), Type::kUnknown});
  if (it->text_arguments) {
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_blob =
          types[i] == Type::kBlob || types[i] == Type::kUnknown || types[i] == Type::kOther;
      if (!is_blob) children[i] = AsText(std::move(children[i]), types[i]);
    }
  }
  return become({std::move(e), TypeOf(it->gives, types)});
}

}  // namespace culprit::query
