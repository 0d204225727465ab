// RAII owners of DuckDB's handles (C API): a database, its connections, prepared statements,
// results. Nothing here knows which tables there are (schema.h) or rewrites SQL (query/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tables/query_result.h"

struct _duckdb_database;
struct _duckdb_connection;
struct _duckdb_prepared_statement;

namespace culprit::tables {

class ColumnStore;
class Connection;

// `text` as a quoted name ("a""b") or a text literal ('it''s') of SQL.
std::string QuoteName(std::string_view text);
std::string QuoteText(std::string_view text);

struct DatabaseOptions {
  unsigned threads = 0;                  // 0: one a CPU
  std::uint64_t memory_limit_bytes = 0;  // 0: DuckDB's own, 80 % of the machine
};

enum class FileMode {
  kReadOnly,
  kCreate,  // an Error when the file is there
};

// Extensions are neither fetched nor loaded by themselves: a query cannot reach for the network.
// Moves keep connections valid; connections keep the database alive.
class Database {
 public:
  static Result<Database> OpenInMemory(const DatabaseOptions& options = {});
  static Result<Database> OpenFile(const std::string& path, FileMode mode,
                                   const DatabaseOptions& options = {});

  Result<Connection> Connect() const;
  // Tables that are kept outside of DuckDB and read through it (stored_scan.h); empty at first.
  const std::shared_ptr<ColumnStore>& store() const { return store_; }
  bool is_file() const { return is_file_; }

 private:
  Database(std::shared_ptr<_duckdb_database> handle, std::shared_ptr<ColumnStore> store,
           bool is_file)
      : handle_(std::move(handle)), store_(std::move(store)), is_file_(is_file) {}
  static Result<Database> Open(const char* path, const char* access_mode,
                               const DatabaseOptions& options);
  std::shared_ptr<_duckdb_database> handle_;
  std::shared_ptr<ColumnStore> store_;
  bool is_file_;
};

// A value bound to a parameter (?, $1, $name); monostate is NULL.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string_view>;

// What the last failed call on a connection met, beyond the text of its Error.
struct SqlError {
  std::string type;     // "Parser", "Binder", "Catalog", "Conversion", "Interrupt" ...
  std::string message;  // without the type and without the place
  std::optional<std::size_t> offset;  // in bytes from the start of the SQL that was given
};

// Whether a result is computed whole before it is returned, or while it is read: a streaming one
// takes little memory, and lets its connection do nothing else until it is read or dropped.
enum class Fetch { kWhole, kStreaming };

// A statement with parameters, to run many times. Keeps its connection alive.
class Statement {
 public:
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  std::size_t parameter_count() const;
  Result<QueryResult> Run(std::span<const Value> parameters = {}, Fetch fetch = Fetch::kWhole);

 private:
  friend class Connection;
  struct State;
  explicit Statement(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One thread at a time, except Interrupt and progress, which any thread may call.
class Connection {
 public:
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  // Runs every statement of `script`, stopping at the first that fails.
  Status Execute(std::string_view script);

  // Runs every statement of `sql` and returns the result of the last. Parameters are allowed when
  // it is one statement. An Error's `place` shows the line of the SQL with a caret.
  Result<QueryResult> Query(std::string_view sql, std::span<const Value> parameters = {},
                            Fetch fetch = Fetch::kWhole);

  // The first column of the first row; an Error when there is no row or it is NULL.
  Result<std::int64_t> QueryInteger(std::string_view sql, std::span<const Value> parameters = {});
  Result<std::string> QueryText(std::string_view sql, std::span<const Value> parameters = {});

  Result<Statement> Prepare(std::string_view sql);

  // Where the statements of `sql` are, without running them: how many, or the syntax error.
  Result<std::size_t> CountStatements(std::string_view sql);

  // Makes the query under way fail soon, with SqlError::type "Interrupt".
  void Interrupt() const;
  // Percent of the query under way, or nothing when DuckDB cannot tell. Only after EnableProgress,
  // which makes queries a little slower.
  std::optional<double> ProgressPct() const;
  Status EnableProgress();

  const SqlError& last_error() const;

  // That of its database.
  const std::shared_ptr<ColumnStore>& store() const;
  // For appenders and for what the C API offers beyond this class.
  _duckdb_connection* handle() const;

 private:
  friend class Database;
  friend class Statement;
  struct State;
  explicit Connection(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace culprit::tables
