#include "query/macro.h"

#include <algorithm>

#include "base/text.h"

namespace culprit::query {
namespace {

// Macros of macros of macros: deeper is a macro that calls itself.
constexpr int kMaxDepth = 64;
// A statement that grows beyond this was not meant to.
constexpr std::size_t kMaxTokens = 1'000'000;

bool Opens(const Token& token) {
  return token.IsSymbol("(") || token.IsSymbol("[") || token.IsSymbol("{");
}
bool Closes(const Token& token) {
  return token.IsSymbol(")") || token.IsSymbol("]") || token.IsSymbol("}");
}

bool BeginsCall(const Tokens& tokens, std::size_t at) {
  return at + 2 < tokens.size() && tokens[at].kind == TokenKind::kWord &&
         tokens[at + 1].IsSymbol("!") && tokens[at + 2].IsSymbol("(");
}

// The arguments of the call whose parenthesis is at `at`, which then is behind the closing one;
// false when it does not close.
bool ReadArguments(const Tokens& tokens, std::size_t& at, std::vector<Tokens>& arguments) {
  std::size_t depth = 0;
  for (; at < tokens.size(); ++at) {
    const Token& token = tokens[at];
    if (Opens(token) && depth++ == 0) {
      arguments.emplace_back();
      continue;
    }
    if (Closes(token) && --depth == 0) {
      ++at;
      if (arguments.size() == 1 && arguments[0].empty()) arguments.clear();
      return true;
    }
    if (depth == 1 && token.IsSymbol(",")) {
      arguments.emplace_back();
    } else {
      arguments.back().push_back(token);
    }
  }
  return false;
}

// What Perfetto builds in: a list of names in parentheses without them.
bool IsUnparenthesize(const Token& name) {
  return name.Is("METASQL_UNPARENTHESIZE_EXPRLIST") || name.Is("METASQL_UNPARENTHESIZE_IDENTLIST");
}

bool IsIntersect(const Token& name) { return name.Is("_INTERVAL_INTERSECT"); }

// "(a, (SELECT ...), b)" -> the pieces between its commas.
std::vector<Tokens> ListItems(const Tokens& list) {
  std::vector<Tokens> items;
  std::size_t at = 0;
  if (list.empty() || !list[0].IsSymbol("(") || !ReadArguments(list, at, items)) items.clear();
  return items;
}

// _interval_intersect!((tables), (columns)) of intervals.intersect: takes any number of tables and
// columns, which no body of a macro can express. Gives ts, dur, id_0, id_1 ..., columns.
std::string IntersectSql(const std::vector<Tokens>& tables, const std::vector<Tokens>& columns) {
  const auto each = [&](std::string_view what) {
    std::string list;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      list += (i == 0 ? "i" : ", i") + std::to_string(i) + std::string(what);
    }
    return list;
  };
  const std::string begin = "max(" + each(".ts") + ")";
  const std::string end = "min(" + each(".te") + ")";
  std::string sql = "(SELECT " + begin + " AS ts, " + end + " - " + begin + " AS dur";
  for (std::size_t i = 0; i < tables.size(); ++i) {
    sql += ", i" + std::to_string(i) + ".id AS id_" + std::to_string(i);
  }
  for (const Tokens& column : columns) sql += ", i0." + Join(column) + " AS " + Join(column);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string name = "i" + std::to_string(i);
    sql += (i == 0 ? " FROM " : " JOIN ") + std::string("(SELECT *, ts + dur AS te FROM ") +
           Join(tables[i]) + ") AS " + name;
    for (std::size_t other = 0; other < i; ++other) {
      const std::string before = "i" + std::to_string(other);
      sql += other == 0 ? " ON " : " AND ";
      sql += before + ".ts < " + name + ".te AND " + name + ".ts < " + before + ".te";
    }
    for (const Tokens& column : columns) {
      if (i > 0) sql += " AND i0." + Join(column) + " = " + name + "." + Join(column);
    }
  }
  return sql + ")";
}

}  // namespace

bool MacroTable::Define(Macro macro, bool replace) {
  std::string key = ToLower(macro.name);
  if (!replace && macros_.contains(key)) return false;
  macros_.insert_or_assign(std::move(key), std::move(macro));
  return true;
}

std::optional<tables::SqlError> MacroTable::Expand(Tokens& tokens) const {
  bool any = false;
  for (std::size_t i = 0; i < tokens.size() && !any; ++i) any = BeginsCall(tokens, i);
  if (!any) return std::nullopt;
  Tokens out;
  if (auto error = ExpandAll(tokens, out, 0)) return error;
  tokens = std::move(out);
  return std::nullopt;
}

std::optional<tables::SqlError> MacroTable::ExpandAll(const Tokens& in, Tokens& out,
                                                      int depth) const {
  const auto fail = [](std::string message, const Token& at) {
    return tables::SqlError{"Macro", std::move(message), at.source};
  };
  for (std::size_t i = 0; i < in.size();) {
    if (!BeginsCall(in, i)) {
      if (out.size() >= kMaxTokens) return fail("the macros make this statement too long", in[i]);
      out.push_back(in[i++]);
      continue;
    }
    const Token& name = in[i];
    std::size_t at = i + 2;
    std::vector<Tokens> arguments;
    if (depth >= kMaxDepth) return fail("macro " + name.text + "! calls itself", name);
    if (!ReadArguments(in, at, arguments)) {
      return fail("the arguments of macro " + name.text + "! do not end", name);
    }
    for (Tokens& argument : arguments) {
      Tokens expanded;
      if (auto error = ExpandAll(argument, expanded, depth + 1)) return error;
      argument = std::move(expanded);
    }
    i = at;
    if (IsUnparenthesize(name) && arguments.size() == 1) {
      const Tokens& list = arguments[0];
      const bool wrapped =
          list.size() > 1 && list.front().IsSymbol("(") && list.back().IsSymbol(")");
      const std::size_t begin = out.size();
      out.insert(out.end(), list.begin() + (wrapped ? 1 : 0), list.end() - (wrapped ? 1 : 0));
      if (begin < out.size()) out[begin].space_before = true;
      continue;
    }
    if (IsIntersect(name) && arguments.size() == 2) {
      const std::vector<Tokens> tables = ListItems(arguments[0]);
      if (tables.size() < 2)
        return fail("_interval_intersect! takes a list of two tables or more", name);
      Tokens made = Tokenize(IntersectSql(tables, ListItems(arguments[1])));
      for (Token& token : made) token.source = name.source;
      if (!made.empty()) made.front().space_before = true;
      out.insert(out.end(), made.begin(), made.end());
      continue;
    }
    const auto found = macros_.find(ToLower(name.text));
    if (found == macros_.end()) {
      std::vector<std::string> names;
      for (const auto& [key, macro] : macros_) names.push_back(macro.name);
      std::string message = "no macro " + name.text + "!";
      const auto near = NearNames(name.text, names);
      if (!near.empty()) message += "\nDid you mean " + near.front() + "!?";
      return fail(std::move(message), name);
    }
    const Macro& macro = found->second;
    if (macro.parameters.size() != arguments.size()) {
      return fail("macro " + macro.name + "! takes " + std::to_string(macro.parameters.size()) +
                      " arguments, " + std::to_string(arguments.size()) + " are given",
                  name);
    }
    Tokens body;
    for (const Token& token : macro.body) {
      const auto parameter =
          token.kind != TokenKind::kVariable
              ? macro.parameters.end()
              : std::find_if(macro.parameters.begin(), macro.parameters.end(), [&](const auto& p) {
                  return EqualsIgnoreCase(p, std::string_view(token.text).substr(1));
                });
      if (parameter == macro.parameters.end()) {
        body.push_back(token);
        body.back().source = name.source;
        continue;
      }
      const Tokens& argument =
          arguments[static_cast<std::size_t>(parameter - macro.parameters.begin())];
      for (std::size_t a = 0; a < argument.size(); ++a) {
        body.push_back(argument[a]);
        if (a == 0) body.back().space_before = token.space_before;
      }
    }
    if (!body.empty()) body.front().space_before = name.space_before;
    if (auto error = ExpandAll(body, out, depth + 1)) return error;
  }
  return std::nullopt;
}

}  // namespace culprit::query
