// The text side of queries: tokens, spelling for DuckDB's parser, PerfettoSQL, macros, patterns.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "query/engine.h"
#include "query/like_pattern.h"
#include "query/macro.h"
#include "query/parser_text.h"
#include "query/perfetto_sql.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit::query;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 4096) return 0;
  TokenError token_error;
  const Tokens tokens = Tokenize(text, &token_error);
  CULPRIT_CHECK(token_error.offset <= size);
  std::size_t last = 0;
  for (const Token& token : tokens) {
    CULPRIT_CHECK(!token.text.empty() && token.source >= last && token.source < size);
    CULPRIT_CHECK(text.substr(token.source, token.text.size()) == token.text);
    last = token.source;
    static_cast<void>(token.Name());
  }
  MacroTable macros;
  for (Tokens& statement : SplitStatements(tokens)) {
    std::optional<culprit::tables::SqlError> error = macros.Expand(statement);
    if (error || statement.size() > 10000) return 0;
    const auto perfetto = ParsePerfetto(statement, error);
    if (error) {
      CULPRIT_CHECK(!error->message.empty() && error->offset && *error->offset <= size);
      continue;
    }
    if (perfetto && perfetto->kind == PerfettoStatement::Kind::kMacro) {
      Macro macro{perfetto->name, {}, perfetto->body};
      for (const Column& parameter : perfetto->parameters)
        macro.parameters.push_back(parameter.name);
      macros.Define(std::move(macro), true);
      continue;
    }
    CULPRIT_CHECK(FindQuery(statement) <= statement.size());
    const ParserText spelled(statement);
    for (std::size_t i = 0; i <= spelled.text().size(); i += 7) {
      CULPRIT_CHECK(spelled.SourceOf(i) <= size);
      static_cast<void>(spelled.LikeAt(i));
      static_cast<void>(spelled.SelectListAt(i));
    }
  }
  static_cast<void>(GlobPattern::Of(text));
  return 0;
}
