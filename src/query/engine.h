// Engine: runs SQL and PerfettoSQL on a database whose tables are there already. Keeps what the
// statements of a session define: macros, functions, included modules. Loads nothing (session.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/catalog.h"
#include "query/dialect.h"
#include "query/macro.h"
#include "query/perfetto_sql.h"
#include "tables/database.h"

namespace culprit::query {

class Engine {
 public:
  using OnResult = std::function<Status(tables::QueryResult& result)>;
  // Told what each statement mentions before it runs; true when it made that there (then the
  // statement is read again).
  using OnMention = std::function<Result<bool>(const Translation& translation)>;

  // `settings` go to each connection of the engine before anything else.
  static Result<std::unique_ptr<Engine>> Open(tables::Database& database, std::string_view settings,
                                              OnMention on_mention);

  // Runs the statements of `sql`; results with rows go to `on_result`.
  Status Run(std::string_view sql, const OnResult& on_result, tables::Fetch fetch);
  // The result of the last statement that has rows; of the last at all when none has.
  Result<tables::QueryResult> Run(std::string_view sql);

  void Interrupt();
  std::optional<double> ProgressPct() const { return connection_.ProgressPct(); }
  bool was_interrupted() const { return error_.type == "Interrupt"; }
  // Of the last Error, in bytes from the start of the SQL given to Run.
  std::optional<std::size_t> error_offset() const { return error_.offset; }

  tables::Connection& connection() { return connection_; }
  // After tables were made or filled beside the engine.
  void Forget() { catalog_.Forget(); }

 private:
  Engine(tables::Connection connection, tables::Connection questions, OnMention on_mention)
      : connection_(std::move(connection)),
        questions_(std::move(questions)),
        catalog_(questions_),
        on_mention_(std::move(on_mention)) {}

  // What a statement ends with: a result, or nothing for those that only define something.
  using Outcome = std::optional<tables::QueryResult>;

  // Runs every statement; `visit` gets each outcome that has rows. False: error_ says why.
  bool RunAll(std::string_view sql, tables::Fetch fetch, const OnResult& visit,
              std::optional<Error>& failure);
  bool RunStatement(Tokens tokens, tables::Fetch fetch, Outcome& outcome);
  bool RunPlain(const Tokens& tokens, tables::Fetch fetch, Outcome& outcome);
  bool RunPerfetto(const PerfettoStatement& statement);
  bool CreateRelation(const PerfettoStatement& statement);
  bool CreateFunction(const PerfettoStatement& statement);
  bool Include(const PerfettoStatement& statement);
  bool IncludeModule(std::string_view name, std::string_view text);
  // The prelude is made when a statement first uses something of it: opening stays quick.
  bool IncludePrelude(const Tokens& tokens);
  // Tells what a translation mentions; true when it must be made again.
  bool Mention(const Translation& translation, bool& again);
  Translation Translate(const Tokens& body, const Columns& parameters, bool is_top);
  void Suggest(const Translation& translation, tables::SqlError& error);
  // Runs SQL of ours; a failure lies at `offset` of the user's.
  bool Execute(const std::string& sql, std::size_t offset);

  bool Fail(tables::SqlError error);
  bool Fail(std::string message, std::size_t offset) {
    return Fail(tables::SqlError{"", std::move(message), offset});
  }

  tables::Connection connection_;
  tables::Connection questions_;  // for columns and trees, while connection_ may be streaming
  Catalog catalog_;
  std::optional<Dialect> dialect_;
  MacroTable macros_;
  std::set<std::string, std::less<>> included_;
  OnMention on_mention_;
  bool in_prelude_ = false;
  tables::SqlError error_;
};

// The statements of a script, without their ";".
std::vector<Tokens> SplitStatements(Tokens tokens);

}  // namespace culprit::query
