#include "tables/database.h"

#include <duckdb.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/file.h"
#include "tables/column_store.h"
#include "tables/duckdb_library.h"
#include "tables/handles.h"
#include "tables/sql_place.h"

namespace culprit::tables {
namespace {

struct Setting {
  const char* name;
  const char* value;
};

// What every database is opened with.
constexpr std::array kSettings = {
    Setting{"autoinstall_known_extensions", "false"},
    Setting{"autoload_known_extensions", "false"},
    Setting{"allow_community_extensions", "false"},
};

// What every connection is set to. Errors as JSON are the only way to an error's offset in C.
constexpr const char* kConnectionSettings = "SET errors_as_json = true;";

Status Bind(duckdb_prepared_statement statement, std::span<const Value> parameters) {
  const auto wanted = duckdb_nparams(statement);
  if (wanted != parameters.size()) {
    return Error{fmt::format("the statement has {} parameters, {} values are given", wanted,
                             parameters.size()),
                 ""};
  }
  struct Binder {
    duckdb_prepared_statement statement;
    idx_t index;
    duckdb_state operator()(std::monostate) const { return duckdb_bind_null(statement, index); }
    duckdb_state operator()(bool value) const {
      return duckdb_bind_boolean(statement, index, value);
    }
    duckdb_state operator()(std::int64_t value) const {
      return duckdb_bind_int64(statement, index, value);
    }
    duckdb_state operator()(double value) const {
      return duckdb_bind_double(statement, index, value);
    }
    duckdb_state operator()(std::string_view value) const {
      return duckdb_bind_varchar_length(statement, index, value.data(), value.size());
    }
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (std::visit(Binder{statement, i + 1}, parameters[i]) != DuckDBSuccess) {
      return Error{fmt::format("cannot bind parameter {}", i + 1), ""};
    }
  }
  return {};
}

// Owns one prepared statement.
struct Prepared {
  duckdb_prepared_statement handle = nullptr;
  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() { duckdb_destroy_prepare(&handle); }
};

struct Extracted {
  duckdb_extracted_statements handle = nullptr;
  idx_t count = 0;
  Extracted() = default;
  Extracted(const Extracted&) = delete;
  Extracted& operator=(const Extracted&) = delete;
  ~Extracted() { duckdb_destroy_extracted(&handle); }
};

}  // namespace

std::string QuoteName(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

std::string QuoteText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + '\'';
}

// --- Database ---------------------------------------------------------------------------------

Result<Database> Database::Open(const char* path, const char* access_mode,
                                const DatabaseOptions& options) {
  CULPRIT_TRY(LoadDuckDb());
  duckdb_config config = nullptr;
  CULPRIT_CHECK(duckdb_create_config(&config) == DuckDBSuccess);
  const std::unique_ptr<duckdb_config, decltype(&duckdb_destroy_config)> owner(
      &config, &duckdb_destroy_config);
  const auto set = [&config](const char* name, const std::string& value) {
    CULPRIT_CHECK(duckdb_set_config(config, name, value.c_str()) == DuckDBSuccess);
  };
  for (const Setting& setting : kSettings) set(setting.name, setting.value);
  set("access_mode", access_mode);
  if (options.threads != 0) set("threads", std::to_string(options.threads));
  if (options.memory_limit_bytes != 0) {
    set("max_memory", fmt::format("{}KiB", options.memory_limit_bytes / 1024));
  }
  duckdb_database handle = nullptr;
  char* message = nullptr;
  if (duckdb_open_ext(path, &handle, config, &message) != DuckDBSuccess) {
    const SqlError error = ParseSqlError(TakeString(message));
    return Error{
        fmt::format("open {}: {}", path == nullptr ? "a database in memory" : path, error.message),
        ""};
  }
  return Database(std::shared_ptr<_duckdb_database>(
                      handle, [](duckdb_database owned) { duckdb_close(&owned); }),
                  std::make_shared<ColumnStore>(options.memory_limit_bytes), path != nullptr);
}

Result<Database> Database::OpenInMemory(const DatabaseOptions& options) {
  return Open(nullptr, "automatic", options);
}

Result<Database> Database::OpenFile(const std::string& path, FileMode mode,
                                    const DatabaseOptions& options) {
  // DuckDB takes prefixes such as "md:" or "s3://" for other things than files.
  const std::string plain =
      path.find(':') == std::string::npos || path.starts_with("/") ? path : "./" + path;
  if (mode == FileMode::kReadOnly) {
    CULPRIT_TRY(culprit::OpenFile(path, O_RDONLY));
    return Open(plain.c_str(), "READ_ONLY", options);
  }
  if (PathExists(path)) return Error{"create " + path + ": it exists", "remove it first"};
  return Open(plain.c_str(), "READ_WRITE", options);
}

Result<Connection> Database::Connect() const {
  auto state = std::make_shared<Connection::State>();
  state->database = handle_;
  state->store = store_;
  if (duckdb_connect(handle_.get(), &state->connection) != DuckDBSuccess) {
    return Error{"DuckDB gives no connection", ""};
  }
  Connection connection(std::move(state));
  CULPRIT_TRY(connection.Execute(kConnectionSettings));
  return connection;
}

// --- Connection -------------------------------------------------------------------------------

Error Connection::State::Fail(const char* message, std::string_view sql) {
  last_error = ParseSqlError(message == nullptr ? "DuckDB gives no reason" : message);
  CountInBytes(last_error, sql);
  return ToError(last_error, sql);
}

Connection::Connection(std::shared_ptr<State> state) : state_(std::move(state)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

_duckdb_connection* Connection::handle() const { return state_->connection; }
const std::shared_ptr<ColumnStore>& Connection::store() const { return state_->store; }
const SqlError& Connection::last_error() const { return state_->last_error; }
void Connection::Interrupt() const { duckdb_interrupt(state_->connection); }

std::optional<double> Connection::ProgressPct() const {
  const auto progress = duckdb_query_progress(state_->connection);
  if (progress.percentage < 0) return std::nullopt;
  return progress.percentage;
}

Status Connection::EnableProgress() {
  return Execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
}

Status Connection::Execute(std::string_view script) {
  const std::string text(script);
  duckdb_result result{};
  const auto status = duckdb_query(state_->connection, text.c_str(), &result);
  Status outcome;
  if (status != DuckDBSuccess) outcome = state_->Fail(duckdb_result_error(&result), script);
  duckdb_destroy_result(&result);
  return outcome;
}

Result<std::size_t> Connection::CountStatements(std::string_view sql) {
  const std::string text(sql);
  Extracted statements;
  statements.count =
      duckdb_extract_statements(state_->connection, text.c_str(), &statements.handle);
  const char* failure = duckdb_extract_statements_error(statements.handle);
  if (statements.count == 0 && failure != nullptr) return state_->Fail(failure, sql);
  return static_cast<std::size_t>(statements.count);
}

Result<QueryResult> Connection::Query(std::string_view sql, std::span<const Value> parameters,
                                      Fetch fetch) {
  const std::string text(sql);
  Extracted statements;
  statements.count =
      duckdb_extract_statements(state_->connection, text.c_str(), &statements.handle);
  if (statements.count == 0) {
    const char* failure = duckdb_extract_statements_error(statements.handle);
    if (failure != nullptr) return state_->Fail(failure, sql);
    return Error{"there is no statement in the SQL", ""};
  }
  if (statements.count > 1 && !parameters.empty()) {
    return Error{"parameters go with one statement, not with several", ""};
  }
  for (idx_t i = 0;; ++i) {
    Prepared statement;
    if (duckdb_prepare_extracted_statement(state_->connection, statements.handle, i,
                                           &statement.handle) != DuckDBSuccess) {
      return state_->Fail(duckdb_prepare_error(statement.handle), sql);
    }
    CULPRIT_TRY(Bind(statement.handle, parameters));
    const bool last = i + 1 == statements.count;
    auto result = std::make_unique<QueryResult::State>();
    const auto status = last && fetch == Fetch::kStreaming
                            ? duckdb_execute_prepared_streaming(statement.handle, &result->result)
                            : duckdb_execute_prepared(statement.handle, &result->result);
    if (status != DuckDBSuccess) return state_->Fail(duckdb_result_error(&result->result), sql);
    if (!last) continue;
    result->keep_alive = state_;
    result->ReadTypes();
    return QueryResult(std::move(result));
  }
}

Result<std::int64_t> Connection::QueryInteger(std::string_view sql,
                                              std::span<const Value> parameters) {
  CULPRIT_ASSIGN(auto result, Query(sql, parameters));
  CULPRIT_ASSIGN(const bool any, result.Next());
  if (!any || result.IsNull(0, 0))
    return Error{"the query gives no value: " + std::string(sql), ""};
  return result.Integer(0, 0);
}

Result<std::string> Connection::QueryText(std::string_view sql, std::span<const Value> parameters) {
  CULPRIT_ASSIGN(auto result, Query(sql, parameters));
  CULPRIT_ASSIGN(const bool any, result.Next());
  if (!any || result.IsNull(0, 0))
    return Error{"the query gives no value: " + std::string(sql), ""};
  return result.ToText(0, 0);
}

// --- Statement --------------------------------------------------------------------------------

struct Statement::State {
  std::shared_ptr<Connection::State> connection;
  std::string sql;
  Prepared prepared;
};

Statement::Statement(std::unique_ptr<State> state) : state_(std::move(state)) {}
Statement::Statement(Statement&&) noexcept = default;
Statement& Statement::operator=(Statement&&) noexcept = default;
Statement::~Statement() = default;

std::size_t Statement::parameter_count() const { return duckdb_nparams(state_->prepared.handle); }

Result<Statement> Connection::Prepare(std::string_view sql) {
  auto state = std::make_unique<Statement::State>();
  state->connection = state_;
  state->sql = sql;
  if (duckdb_prepare(state_->connection, state->sql.c_str(), &state->prepared.handle) !=
      DuckDBSuccess) {
    return state_->Fail(duckdb_prepare_error(state->prepared.handle), sql);
  }
  return Statement(std::move(state));
}

Result<QueryResult> Statement::Run(std::span<const Value> parameters, Fetch fetch) {
  CULPRIT_TRY(Bind(state_->prepared.handle, parameters));
  auto result = std::make_unique<QueryResult::State>();
  const auto status =
      fetch == Fetch::kStreaming
          ? duckdb_execute_prepared_streaming(state_->prepared.handle, &result->result)
          : duckdb_execute_prepared(state_->prepared.handle, &result->result);
  if (status != DuckDBSuccess) {
    return state_->connection->Fail(duckdb_result_error(&result->result), state_->sql);
  }
  result->keep_alive = state_->connection;
  result->ReadTypes();
  return QueryResult(std::move(result));
}

}  // namespace culprit::tables
