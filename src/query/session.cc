#include "query/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/file.h"
#include "query/engine.h"
#include "query/token.h"
#include "query/trace_facts.h"
#include "tables/database.h"
#include "tables/schema.h"

namespace culprit::query {
namespace {

// The name under which a database file is attached, and where tables are then looked for: those
// that a user makes lie in memory, before the file's.
constexpr std::string_view kAttached = "SET search_path = 'memory.main,trace.main'; ";

// A file of DuckDB: eight bytes of checksum, then this.
constexpr std::string_view kDatabaseMagic = "DUCK";
constexpr std::size_t kDatabaseMagicOffset = 8;

Result<bool> IsDatabaseFile(const std::string& path) {
  CULPRIT_ASSIGN(const UniqueFd file, OpenFile(path, O_RDONLY));
  std::array<char, kDatabaseMagicOffset + kDatabaseMagic.size()> head{};
  const auto got = ::pread(file.get(), head.data(), head.size(), 0);
  return got == static_cast<ssize_t>(head.size()) &&
         std::string_view(head.data() + kDatabaseMagicOffset, kDatabaseMagic.size()) ==
             kDatabaseMagic;
}

template <std::size_t N>
bool MentionsAny(const std::set<std::string>& mentioned,
                 const std::array<std::string_view, N>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return mentioned.contains(std::string(name)); });
}

}  // namespace

struct Session::State {
  std::string path;
  SessionOptions options;
  std::optional<tables::Database> database;
  std::unique_ptr<Engine> engine;
  std::optional<load::LoadSummary> summary;
  bool is_file = false;
  bool raw_loaded = false;
  std::atomic<bool> interrupted = false;

  Result<load::LoadSummary> Load(unsigned groups) {
    load::LoadOptions load_options;
    load_options.threads = options.threads;
    load_options.groups = groups;
    load_options.progress = [this](const load::LoadProgress& progress) {
      if (interrupted.load(std::memory_order_relaxed)) return false;
      return options.on_load_progress == nullptr || options.on_load_progress(progress);
    };
    return load::LoadTrace(path, *database, load_options);
  }

  // Raw events are many and rarely asked for: they are loaded when a statement mentions them.
  Result<bool> LoadMentioned(const Translation& translation) {
    if (raw_loaded || (!MentionsAny(translation.tables, kRawTables) &&
                       !MentionsAny(translation.functions, kRawFunctions))) {
      return false;
    }
    if (is_file) return false;
    const auto loaded = Load(load::kRaw);
    if (!loaded.ok()) {
      if (interrupted) return Error{"the query was cancelled while the raw events were loaded", ""};
      return loaded.error();
    }
    raw_loaded = true;
    return true;
  }

  Status OpenTrace() {
    CULPRIT_ASSIGN(tables::Connection connection, database->Connect());
    CULPRIT_TRY(tables::CreateSchema(connection));
    CULPRIT_ASSIGN(summary, Load(load::kCore));
    return {};
  }

  Status OpenDatabaseFile() {
    is_file = true;
    CULPRIT_ASSIGN(tables::Connection connection, database->Connect());
    // DuckDB takes prefixes such as "md:" or "s3://" for other things than files.
    const bool is_plain = path.find(':') == std::string::npos || path.starts_with("/");
    const Status attached = connection.Execute(
        "ATTACH " + QuoteText(is_plain ? path : "./" + path) + " AS trace (READ_ONLY)");
    if (!attached.ok()) {
      return Error{"open " + path + ": " + attached.error().what,
                   "make it again with culprit load"};
    }
    CULPRIT_TRY(connection.Execute(kAttached));
    CULPRIT_TRY(tables::CheckSchema(connection, path));
    return {};
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::Open(const std::string& path, SessionOptions options) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->options = std::move(options);
  CULPRIT_ASSIGN(const bool is_file, IsDatabaseFile(path));
  tables::DatabaseOptions database_options;
  database_options.threads = state->options.threads;
  database_options.memory_limit_bytes = state->options.memory_limit_bytes;
  CULPRIT_ASSIGN(state->database, tables::Database::OpenInMemory(database_options));
  CULPRIT_TRY(is_file ? state->OpenDatabaseFile() : state->OpenTrace());
  State* raw = state.get();
  CULPRIT_ASSIGN(state->engine,
                 Engine::Open(*state->database, is_file ? kAttached : "",
                              [raw](const Translation& t) { return raw->LoadMentioned(t); }));
  return Session(std::move(state));
}

Status Session::Run(std::string_view sql, const OnResult& on_result) {
  state_->interrupted = false;
  return state_->engine->Run(sql, on_result, tables::Fetch::kStreaming);
}

Result<tables::QueryResult> Session::Run(std::string_view sql) {
  state_->interrupted = false;
  return state_->engine->Run(sql);
}

bool Session::IsComplete(std::string_view sql) {
  TokenError error;
  const Tokens tokens = Tokenize(sql, &error);
  if (!error.what.empty() || tokens.empty()) return false;
  int depth = 0;
  for (const Token& token : tokens) {
    if (token.IsSymbol("(")) ++depth;
    if (token.IsSymbol(")")) --depth;
  }
  // A parenthesis too many is an error that running shows.
  return depth <= 0 && tokens.back().IsSymbol(";");
}

void Session::Interrupt() {
  state_->interrupted = true;
  state_->engine->Interrupt();
}

bool Session::WasInterrupted() const {
  return state_->interrupted || state_->engine->was_interrupted();
}

std::optional<double> Session::ProgressPct() const { return state_->engine->ProgressPct(); }

const std::optional<load::LoadSummary>& Session::load_summary() const { return state_->summary; }

std::optional<std::size_t> Session::last_error_offset() const {
  return state_->engine->error_offset();
}

tables::Connection& Session::connection() { return state_->engine->connection(); }
tables::Database& Session::database() { return *state_->database; }

}  // namespace culprit::query
