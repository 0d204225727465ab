// Session: a trace or a database file opened for questions in SQL as Perfetto's users write it.
// Formats no rows and prints nothing: results go to query/format, errors to the verb.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "load/load.h"
#include "tables/query_result.h"

namespace culprit::tables {
class Connection;
class Database;
}  // namespace culprit::tables

namespace culprit::query {

struct SessionOptions {
  unsigned threads = 0;                  // for loading and for queries; 0: one a CPU
  std::uint64_t memory_limit_bytes = 0;  // of DuckDB; 0: its own, 80 % of the machine
  // Called from the loading thread, in Open and when a query first mentions the raw tables;
  // returning false ends the load (and with it Open or Run) with an Error.
  std::function<bool(const load::LoadProgress&)> on_load_progress;
};

// One thread at a time, except Interrupt and ProgressPct, which any thread may call.
//
// The tables of the input are never changed: what a user creates lives in memory and is gone with
// the session, also when the input is a database file.
class Session {
 public:
  // `path` is a trace file, which is loaded, or a file of `culprit load` (.duckdb), opened at once.
  static Result<Session> Open(const std::string& path, SessionOptions options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Runs the statements of `sql`, separated by ";". Each result goes to `on_result`, which reads it
  // before the next statement runs; statements without rows (CREATE, INCLUDE ...) give none. Stops
  // at the first Error, of a statement or of `on_result`.
  using OnResult = std::function<Status(tables::QueryResult& result)>;
  Status Run(std::string_view sql, const OnResult& on_result);

  // The result of the last statement that has rows (or of the last one when none has), as
  // trace_processor shows it.
  Result<tables::QueryResult> Run(std::string_view sql);

  // Whether `sql` ends outside strings, comments and parentheses with a ";": the shell's question.
  static bool IsComplete(std::string_view sql);

  // Makes the statement under way fail soon with an Error; also the load of the raw tables.
  void Interrupt();
  // Whether the last Error of Run came from Interrupt().
  bool WasInterrupted() const;
  // Percent of the query under way, or nothing when it cannot be told.
  std::optional<double> ProgressPct() const;

  // What loading the trace met; nothing for a database file.
  const std::optional<load::LoadSummary>& load_summary() const;

  // Where the last Error of Run lies in the SQL that was given to it, in bytes from its start.
  std::optional<std::size_t> last_error_offset() const;

  // For completion, export and the like: SQL here is DuckDB's own and is not rewritten.
  tables::Connection& connection();
  tables::Database& database();

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace culprit::query
