#include "query/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "query/modules.h"
#include "query/rewriter.h"
#include "query/span_join.h"
#include "tables/sql_place.h"

namespace culprit::query {
namespace {

using Kind = PerfettoStatement::Kind;

// A macro of DuckDB ends where its statement does; a last ";" inside would end it early.
std::string ParameterList(const Columns& parameters) {
  std::string list;
  for (const Column& parameter : parameters) {
    if (!list.empty()) list += ", ";
    list += ParameterName(parameter.name);
  }
  return list;
}

std::string NameList(const Columns& columns) {
  std::string list;
  for (const Column& column : columns) {
    if (!list.empty()) list += ", ";
    list += QuoteName(column.name);
  }
  return list;
}

// What DuckDB calls an overflow of SUM, in the words of its user.
void Clarify(tables::SqlError& error) {
  if (error.message.find("INT128") != std::string::npos &&
      error.message.find("INT64") != std::string::npos) {
    error.message = "a sum does not fit into 64 bits\nSum doubles instead: SUM(x * 1.0)";
  }
}

// Where the name that an error quotes first is written, for errors without a place.
std::optional<std::size_t> PlaceOfName(const Tokens& tokens, const std::string& message) {
  const auto begin = message.find('"');
  const auto end = begin == std::string::npos ? begin : message.find('"', begin + 1);
  if (end == std::string::npos) return std::nullopt;
  const std::string name = message.substr(begin + 1, end - begin - 1);
  const auto it = std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) {
    return (token.kind == TokenKind::kWord || token.kind == TokenKind::kQuoted) &&
           EqualsIgnoreCase(token.Name(), name);
  });
  return it == tokens.end() ? std::nullopt : std::optional(it->source);
}

}  // namespace

std::vector<Tokens> SplitStatements(Tokens tokens) {
  std::vector<Tokens> statements;
  Tokens statement;
  for (Token& token : tokens) {
    if (!token.IsSymbol(";")) {
      statement.push_back(std::move(token));
      continue;
    }
    if (!statement.empty()) statements.push_back(std::move(statement));
    statement.clear();
  }
  if (!statement.empty()) statements.push_back(std::move(statement));
  return statements;
}

Result<std::unique_ptr<Engine>> Engine::Open(tables::Database& database, std::string_view settings,
                                             OnMention on_mention) {
  CULPRIT_ASSIGN(tables::Connection connection, database.Connect());
  CULPRIT_ASSIGN(tables::Connection questions, database.Connect());
  for (tables::Connection* each : {&connection, &questions}) {
    CULPRIT_TRY(each->Execute(settings));
    CULPRIT_TRY(each->Execute(kDialectSettings));
  }
  std::unique_ptr<Engine> engine(
      new Engine(std::move(connection), std::move(questions), std::move(on_mention)));
  CULPRIT_ASSIGN(Dialect dialect, Dialect::Open(engine->questions_, engine->catalog_));
  engine->dialect_.emplace(std::move(dialect));
  return engine;
}

Status Engine::Run(std::string_view sql, const OnResult& on_result, tables::Fetch fetch) {
  std::optional<Error> failure;
  if (!RunAll(sql, fetch, on_result, failure)) return *failure;
  return {};
}

Result<tables::QueryResult> Engine::Run(std::string_view sql) {
  std::optional<tables::QueryResult> last;
  std::optional<Error> failure;
  const auto keep = [&](tables::QueryResult& result) -> Status {
    last.emplace(std::move(result));
    return {};
  };
  if (!RunAll(sql, tables::Fetch::kWhole, keep, failure)) return *failure;
  if (last) return std::move(*last);
  // Something that has no rows.
  return connection_.Query("SET VARIABLE culprit_done = 1");
}

void Engine::Interrupt() {
  connection_.Interrupt();
  questions_.Interrupt();
}

bool Engine::RunAll(std::string_view sql, tables::Fetch fetch, const OnResult& visit,
                    std::optional<Error>& failure) {
  error_ = {};
  TokenError token_error;
  Tokens tokens = Tokenize(sql, &token_error);
  if (!token_error.what.empty()) Fail({"Parser", token_error.what, token_error.offset});
  if (error_.message.empty()) {
    for (Tokens& statement : SplitStatements(std::move(tokens))) {
      Outcome outcome;
      if (!RunStatement(std::move(statement), fetch, outcome)) break;
      if (!outcome || !outcome->has_rows() || visit == nullptr) continue;
      const Status visited = visit(*outcome);
      if (visited.ok()) continue;
      // Rows that fail while they are read are the query's fault, the rest is the reader's.
      error_ = fetch == tables::Fetch::kStreaming ? connection_.last_error() : tables::SqlError{};
      error_.offset.reset();
      failure = visited.error();
      return false;
    }
  }
  if (error_.message.empty()) return true;
  failure = tables::ToError(error_, sql);
  return false;
}

bool Engine::Fail(tables::SqlError error) {
  error_ = std::move(error);
  if (error_.message.empty()) error_.message = "failed";
  return false;
}

bool Engine::RunStatement(Tokens tokens, tables::Fetch fetch, Outcome& outcome) {
  const bool defines_macro = tokens.size() > 4 && tokens[0].Is("CREATE") &&
                             (tokens[2].Is("MACRO") || tokens[4].Is("MACRO"));
  if (!IncludePrelude(tokens)) return false;
  if (!defines_macro) {
    if (auto error = macros_.Expand(tokens)) return Fail(std::move(*error));
  }
  std::optional<tables::SqlError> error;
  const auto statement = ParsePerfetto(tokens, error);
  if (error) return Fail(std::move(*error));
  if (statement) return RunPerfetto(*statement);
  return RunPlain(tokens, fetch, outcome);
}

bool Engine::Mention(const Translation& translation, bool& again) {
  again = false;
  if (on_mention_ == nullptr || in_prelude_ ||
      (translation.tables.empty() && translation.functions.empty()))
    return true;
  auto made = on_mention_(translation);
  if (!made.ok()) return Fail({"Load", made.error().ToString(), std::nullopt});
  again = *made;
  if (again) {
    catalog_.Forget();
    catalog_.ForgetArguments();
  }
  return true;
}

Translation Engine::Translate(const Tokens& body, const Columns& parameters, bool is_top) {
  Translation translation = dialect_->Select(body, parameters, is_top);
  bool again = false;
  if (!translation.error && !Mention(translation, again)) {
    translation.error = error_;
  } else if (again) {
    translation = dialect_->Select(body, parameters, is_top);
  }
  return translation;
}

bool Engine::RunPlain(const Tokens& tokens, tables::Fetch fetch, Outcome& outcome) {
  Translation translation = dialect_->Statement(tokens);
  if (translation.error) return Fail(*translation.error);
  bool again = false;
  if (!Mention(translation, again)) return false;
  if (again) translation = dialect_->Statement(tokens);
  auto result = connection_.Query(translation.sql, {}, fetch);
  const bool is_query = FindQuery(tokens) == 0;
  if (!is_query) {
    catalog_.Forget();
    if (tokens.size() > 2 && tokens[0].Is("CREATE")) {
      // "CREATE TABLE name": what is known of a trace's table of that name is known no longer.
      for (std::size_t i = 1; i < tokens.size() && i < 8; ++i) {
        if (tokens[i].IsSymbol("(") || tokens[i].Is("AS")) break;
        catalog_.AddUserTable(tokens[i].Name());
      }
    }
  }
  if (result.ok()) {
    outcome.emplace(std::move(*result));
    return true;
  }
  tables::SqlError error = connection_.last_error();
  Clarify(error);
  if (error.offset) error.offset = dialect_->SourceOffset(translation, *error.offset);
  if (error.type == "Catalog") Suggest(translation, error);
  if (!error.offset) error.offset = PlaceOfName(tokens, error.message);
  return Fail(std::move(error));
}

// DuckDB suggests names of its own tables; better are those of the trace and of modules.
void Engine::Suggest(const Translation& translation, tables::SqlError& error) {
  for (const auto* names : {&translation.tables, &translation.functions}) {
    for (const std::string& name : *names) {
      if (error.message.find(" " + name + " does not exist") == std::string::npos) continue;
      const std::string_view module = ModuleWith(name);
      if (!module.empty() && !included_.contains(module)) {
        error.message =
            fmt::format("no \"{}\" here\nINCLUDE PERFETTO MODULE {} makes it", name, module);
        return;
      }
      if (names != &translation.tables) continue;
      std::vector<std::string> known;
      auto tables = questions_.Query(
          "SELECT table_name FROM duckdb_tables() WHERE NOT internal UNION SELECT view_name FROM "
          "duckdb_views() "
          "WHERE NOT internal ORDER BY 1");
      while (tables.ok()) {
        const auto more = tables->Next();
        if (!more.ok() || !*more) break;
        for (std::size_t row = 0; row < tables->chunk_rows(); ++row) {
          std::string table = tables->ToText(0, row);
          if (!table.starts_with("_")) known.push_back(std::move(table));
        }
      }
      error.message = fmt::format("no table \"{}\"", name);
      const auto near = NearNames(name, known);
      if (!near.empty()) error.message += fmt::format("\nDid you mean {}?", fmt::join(near, ", "));
      return;
    }
  }
}

bool Engine::Execute(const std::string& sql, std::size_t offset) {
  const Status done = connection_.Execute(sql);
  catalog_.Forget();
  if (done.ok()) return true;
  tables::SqlError error = connection_.last_error();
  Clarify(error);
  error.offset = offset;
  return Fail(std::move(error));
}

bool Engine::RunPerfetto(const PerfettoStatement& statement) {
  const std::string name = QuoteName(statement.name);
  const char* if_exists = statement.if_exists ? "IF EXISTS " : "";
  switch (statement.kind) {
    case Kind::kInclude:
      return Include(statement);
    case Kind::kTable:
    case Kind::kView:
      return CreateRelation(statement);
    case Kind::kFunction:
      return CreateFunction(statement);
    case Kind::kMacro: {
      Macro macro{statement.name, {}, statement.body};
      for (const Column& parameter : statement.parameters)
        macro.parameters.push_back(parameter.name);
      if (macros_.Define(std::move(macro), statement.replace)) return true;
      return Fail("there is a macro \"" + statement.name +
                      "\" already\nUse CREATE OR REPLACE PERFETTO MACRO",
                  statement.name_offset);
    }
    case Kind::kIndex:
      // DuckDB scans its columns with their minima and maxima; there is nothing to be built.
      if (catalog_.Find(name) != nullptr) return true;
      return Fail("no table \"" + statement.name + "\"", statement.name_offset);
    case Kind::kDropTable:
      return Execute(fmt::format("DROP TABLE {}{}", if_exists, name), statement.name_offset);
    case Kind::kDropView:
      return Execute(fmt::format("DROP VIEW {}{}", if_exists, name), statement.name_offset);
    case Kind::kDropIndex:
      return true;
    case Kind::kSpanJoin: {
      if (statement.if_exists && catalog_.Find(name) != nullptr) return true;
      const auto sql =
          SpanJoinQuery(catalog_, statement.span_kind, statement.left, statement.right);
      if (!sql.ok()) return Fail(sql.error().ToString(), statement.name_offset);
      catalog_.AddUserTable(statement.name);
      return Execute(fmt::format("CREATE VIEW {} AS {}", name, *sql), statement.name_offset);
    }
    case Kind::kRunMetric:
      break;
  }
  return Fail(
      "RUN_METRIC is not offered: metrics of trace_processor are programs of their own\n"
      "Ask the tables, or INCLUDE PERFETTO MODULE",
      statement.name_offset);
}

bool Engine::CreateRelation(const PerfettoStatement& statement) {
  Translation body = Translate(statement.body, {}, false);
  if (body.error) return Fail(*body.error);
  if (!statement.columns.empty() && !body.columns.empty() &&
      body.columns.size() != statement.columns.size()) {
    return Fail(fmt::format("\"{}\" is declared with {} columns, its query has {}", statement.name,
                            statement.columns.size(), body.columns.size()),
                statement.name_offset);
  }
  const bool is_table = statement.kind == Kind::kTable;
  const std::string columns =
      statement.columns.empty() || is_table ? "" : "(" + NameList(statement.columns) + ")";
  const std::string head =
      fmt::format("CREATE {}{} {}{} AS ", statement.replace ? "OR REPLACE " : "",
                  is_table ? "TABLE" : "VIEW", QuoteName(statement.name), columns);
  catalog_.AddUserTable(statement.name);
  std::string sql = body.sql;
  if (is_table && !statement.columns.empty()) {
    sql = fmt::format("SELECT * FROM ({}) AS declared({})", sql, NameList(statement.columns));
  }
  const Status done = connection_.Execute(head + sql);
  catalog_.Forget();
  if (done.ok()) return true;
  tables::SqlError error = connection_.last_error();
  Clarify(error);
  const std::size_t begin =
      head.size() +
      (sql.size() == body.sql.size() ? 0 : std::string_view("SELECT * FROM (").size());
  if (error.offset && *error.offset >= begin) {
    error.offset = dialect_->SourceOffset(body, *error.offset - begin);
  } else {
    error.offset = statement.name_offset;
  }
  return Fail(std::move(error));
}

bool Engine::CreateFunction(const PerfettoStatement& statement) {
  Translation body = Translate(statement.body, statement.parameters, false);
  if (body.error) return Fail(*body.error);
  UserFunction function{statement.name, statement.parameters, statement.result, statement.columns,
                        statement.returns_table};
  std::string sql = body.sql;
  if (statement.returns_table) {
    if (!body.columns.empty() && body.columns.size() != statement.columns.size()) {
      return Fail(fmt::format("\"{}\" returns {} columns, its query has {}", statement.name,
                              statement.columns.size(), body.columns.size()),
                  statement.name_offset);
    }
    sql = fmt::format("TABLE SELECT * FROM ({}) AS declared({})", sql, NameList(statement.columns));
  } else {
    const std::string_view type = DuckdbType(statement.result);
    sql = type.empty() ? fmt::format("({})", sql) : fmt::format("(CAST(({}) AS {}))", sql, type);
  }
  if (!Execute(fmt::format("CREATE {}MACRO {}({}) AS {}", statement.replace ? "OR REPLACE " : "",
                           QuoteName(statement.name), ParameterList(statement.parameters), sql),
               statement.name_offset)) {
    return false;
  }
  catalog_.AddFunction(std::move(function));
  return true;
}

bool Engine::Include(const PerfettoStatement& statement) {
  const auto modules = FindModules(statement.name);
  if (modules.empty()) {
    std::string message = "no module \"" + statement.name + "\"";
    const auto near = NearModules(statement.name);
    if (!near.empty()) message += fmt::format("\nDid you mean {}?", fmt::join(near, ", "));
    return Fail(std::move(message), statement.name_offset);
  }
  for (const Module& module : modules) {
    if (!IncludeModule(module.name, module.text)) {
      error_.message = fmt::format("module {}: {}", module.name, error_.message);
      error_.offset = statement.name_offset;
      return false;
    }
  }
  return true;
}

bool Engine::IncludePrelude(const Tokens& tokens) {
  if (included_.contains(kPreludeName)) return true;
  const bool is_used = std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return token.kind == TokenKind::kWord && PreludeMakes(token.text);
  });
  if (!is_used) return true;
  // That a function of it could ask for args does not mean that anyone does.
  in_prelude_ = true;
  const bool included = IncludeModule(kPreludeName, PreludeText());
  in_prelude_ = false;
  return included;
}

bool Engine::IncludeModule(std::string_view name, std::string_view text) {
  if (!included_.insert(std::string(name)).second) return true;
  for (Tokens& statement : SplitStatements(Tokenize(text))) {
    Outcome outcome;
    if (RunStatement(std::move(statement), tables::Fetch::kWhole, outcome)) continue;
    included_.erase(included_.find(name));
    return false;
  }
  return true;
}

}  // namespace culprit::query
