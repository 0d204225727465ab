#include "query/dialect.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "query/parser_text.h"
#include "query/rewriter.h"
#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

bool BeginsQuery(const Token& token) {
  return token.Is("SELECT") || token.Is("WITH") || token.Is("VALUES") || token.Is("FROM");
}

std::size_t Behind(const Tokens& tokens, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].IsSymbol("(")) ++depth;
    if (tokens[i].IsSymbol(")") && --depth == 0) return i + 1;
  }
  return tokens.size();
}

// Types of CREATE TABLE columns: SQLite's INT has 64 bits and its REAL is a double.
void WidenTypes(Tokens& tokens) {
  for (Token& token : tokens) {
    if (token.Is("INT") || token.Is("INTEGER") || token.Is("LONG")) token.text = "BIGINT";
    if (token.Is("REAL") || token.Is("FLOAT")) token.text = "DOUBLE";
    if (token.Is("STRING")) token.text = "VARCHAR";
  }
}

// Looks for the place `offset` in `now`, and what stands there in `before`, a tree of the same
// shape.
std::optional<std::uint64_t> MatchPlace(const Json& now, const Json& before, std::uint64_t offset) {
  if (now.is_array() && before.is_array()) {
    for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
      if (auto found = MatchPlace(now[i], before[i], offset)) return found;
    }
    return std::nullopt;
  }
  if (!now.is_object() || !before.is_object()) return std::nullopt;
  for (const auto& [key, child] : now.items()) {
    if (!child.is_structured() || !before.contains(key)) continue;
    if (auto found = MatchPlace(child, before[key], offset)) return found;
  }
  if (Place(now) != offset) return std::nullopt;
  const std::uint64_t place = Place(before) == kNoPlace ? FirstPlace(before) : Place(before);
  if (place == kNoPlace) return std::nullopt;
  return place;
}

}  // namespace

std::size_t FindQuery(const Tokens& tokens) {
  if (tokens.empty()) return 0;
  if (BeginsQuery(tokens[0]) || tokens[0].IsSymbol("(")) return 0;
  std::size_t at = 0;
  const auto is = [&](std::string_view word) { return at < tokens.size() && tokens[at].Is(word); };
  if (is("EXPLAIN") || is("DESCRIBE") || is("SUMMARIZE")) {
    ++at;
    if (is("QUERY")) ++at;
    if (is("PLAN")) ++at;
    if (is("ANALYZE")) ++at;
    return at < tokens.size() && BeginsQuery(tokens[at]) ? at : tokens.size();
  }
  if (is("CREATE")) {
    // The AS outside parentheses.
    while (at < tokens.size() && !tokens[at].Is("AS")) {
      at = tokens[at].IsSymbol("(") ? Behind(tokens, at) : at + 1;
    }
    ++at;
    return at < tokens.size() && (BeginsQuery(tokens[at]) || tokens[at].IsSymbol("("))
               ? at
               : tokens.size();
  }
  if (is("INSERT") || is("REPLACE")) {
    while (at < tokens.size() && !BeginsQuery(tokens[at])) {
      at = tokens[at].IsSymbol("(") ? Behind(tokens, at) : at + 1;
    }
    // Rows of constants need no rewriting, and may be many.
    return at < tokens.size() && !tokens[at].Is("VALUES") ? at : tokens.size();
  }
  return tokens.size();
}

Result<Dialect> Dialect::Open(tables::Connection& connection, Catalog& catalog) {
  CULPRIT_ASSIGN(tables::Statement serialize,
                 connection.Prepare("SELECT json_serialize_sql(?::VARCHAR)"));
  CULPRIT_ASSIGN(tables::Statement deserialize,
                 connection.Prepare("SELECT json_deserialize_sql(?::JSON)"));
  return Dialect(catalog, std::move(serialize), std::move(deserialize));
}

Result<std::string> Dialect::Call(tables::Statement& function, std::string_view argument) {
  const std::array<tables::Value, 1> values = {argument};
  CULPRIT_ASSIGN(tables::QueryResult result, function.Run(values));
  CULPRIT_ASSIGN(const bool has_rows, result.Next());
  if (!has_rows || result.chunk_rows() == 0) return Error{"DuckDB gives no tree", ""};
  return result.ToText(0, 0);
}

Translation Dialect::Select(const Tokens& tokens, const Columns& parameters, bool is_top) {
  Translation out;
  const auto text = std::make_shared<const ParserText>(tokens);
  out.text = text;
  out.sql = text->text();
  const auto serialized = Call(serialize_, text->text());
  if (!serialized.ok()) {
    out.error = tables::SqlError{"Parser", serialized.error().what, std::nullopt};
    return out;
  }
  try {
    Json tree = Json::parse(*serialized);
    if (tree.value("error", false)) {
      // What DuckDB parses and cannot show as a tree (PIVOT) runs as it is.
      if (tree.value("error_type", "") == "not implemented") return out;
      tables::SqlError error{"Parser", tree.value("error_message", "syntax error"), std::nullopt};
      const std::string position = tree.value("position", "");
      std::size_t offset = 0;
      const auto parsed =
          std::from_chars(position.data(), position.data() + position.size(), offset);
      if (parsed.ec == std::errc{}) {
        // The parser counts characters.
        std::size_t bytes = 0;
        for (std::size_t characters = 0; bytes < out.sql.size(); ++bytes) {
          const bool starts = (static_cast<unsigned char>(out.sql[bytes]) & 0xC0U) != 0x80U;
          if (starts && characters++ == offset) break;
        }
        error.offset = text->SourceOf(bytes);
      }
      out.error = std::move(error);
      return out;
    }
    Rewriter rewriter(*catalog_, *text, parameters);
    for (Json& statement : tree["statements"]) {
      out.columns = rewriter.Query(statement["node"], nullptr, is_top);
      statement["named_param_map"] = Json::array();
    }
    out.tables = rewriter.tables();
    out.functions = rewriter.functions();
    out.tree = tree.dump();
    const auto sql = Call(deserialize_, out.tree);
    if (sql.ok()) {
      out.sql = *sql;
    } else {
      out.error = tables::SqlError{
          "Internal", "cannot write the statement for DuckDB: " + sql.error().what, std::nullopt};
    }
  } catch (const Json::exception& failure) {
    // Text that is no UTF-8, or a tree of another shape than we know.
    out.error = tables::SqlError{"Internal",
                                 std::string("cannot read the statement's tree: ") + failure.what(),
                                 std::nullopt};
  }
  return out;
}

Translation Dialect::Statement(const Tokens& tokens) {
  const std::size_t query = FindQuery(tokens);
  if (query == 0 && !tokens.empty()) return Select(tokens);
  Tokens head(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(query));
  const bool creates = !head.empty() && head[0].Is("CREATE");
  if (creates) {
    // What a user creates is gone with the session anyway; one schema for all is simpler.
    std::erase_if(head,
                  [](const Token& token) { return token.Is("TEMP") || token.Is("TEMPORARY"); });
    if (query == tokens.size() && head.size() > 1 && head[1].Is("TABLE")) WidenTypes(head);
  }
  if (head.size() > 2 && head[0].Is("EXPLAIN") && head[1].Is("QUERY"))
    head.erase(head.begin() + 1, head.begin() + 3);
  Translation out;
  if (query < tokens.size()) {
    Tokens body(tokens.begin() + static_cast<std::ptrdiff_t>(query), tokens.end());
    out = Select(body, {}, !creates);
    const std::string words = Join(head) + " ";
    out.sql = words + out.sql;
    out.body_begin = words.size();
  } else {
    // Spelling alone: backquotes, hexadecimal numbers and the like.
    out.text = std::make_shared<const ParserText>(head);
    out.sql = out.text->text();
  }
  out.head = std::move(head);
  return out;
}

std::optional<std::size_t> Dialect::SourceOffset(const Translation& translation,
                                                 std::size_t offset) {
  if (offset < translation.body_begin) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < translation.head.size(); ++i) {
      at += (i > 0 && translation.head[i].space_before ? 1 : 0) + translation.head[i].text.size();
      if (offset < at) return translation.head[i].source;
    }
    return std::nullopt;
  }
  if (translation.text == nullptr) return std::nullopt;
  if (translation.tree.empty()) return translation.text->SourceOf(offset - translation.body_begin);
  const auto now =
      Call(serialize_, std::string_view(translation.sql).substr(translation.body_begin));
  if (!now.ok()) return std::nullopt;
  const Json tree_now = Json::parse(*now, nullptr, false);
  const Json tree_before = Json::parse(translation.tree, nullptr, false);
  if (tree_now.is_discarded() || tree_before.is_discarded()) return std::nullopt;
  const auto place = MatchPlace(tree_now, tree_before, offset - translation.body_begin);
  if (!place) return std::nullopt;
  return translation.text->SourceOf(*place);
}

}  // namespace culprit::query
