// culprit query: SQL on a trace, once or interactively.
#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/cancellable.h"
#include "cli/verbs.h"
#include "query/format.h"
#include "query/parquet.h"
#include "query/shell.h"
#include "tables/database.h"

namespace culprit::cli {
namespace {

struct QueryOptions {
  std::vector<std::string> words;  // TRACE and SQL, in either order
  std::string sql;
  std::string sql_file;
  std::string format;
  std::string output;
  bool quiet = false;
};

// What is to be done, once the arguments are understood.
struct QueryJob {
  std::string trace;
  std::optional<std::string> sql;  // nothing: the shell
  query::Format format = query::Format::kTable;
  std::string output;  // empty: stdout
  bool quiet = false;
};

Result<query::Format> ChooseFormat(const QueryOptions& options) {
  if (!options.format.empty()) {
    const auto format = query::FormatByName(options.format);
    CULPRIT_CHECK(format.has_value());  // CLI11 checked it
    return *format;
  }
  // A file's ending says it, too.
  constexpr std::pair<std::string_view, query::Format> kEndings[] = {
      {".csv", query::Format::kCsv},       {".json", query::Format::kJson},
      {".ndjson", query::Format::kNdjson}, {".jsonl", query::Format::kNdjson},
      {".md", query::Format::kMarkdown},   {".parquet", query::Format::kParquet}};
  for (const auto& [ending, format] : kEndings) {
    if (options.output.ends_with(ending)) return format;
  }
  return query::Format::kTable;
}

// The words are the trace and, unless an option gives it, the SQL. Which is which: the trace is
// the one that is there as a file.
Status AssignWords(const QueryOptions& options, QueryJob& job) {
  const auto& words = options.words;
  const bool has_sql = !options.sql.empty() || !options.sql_file.empty();
  if (words.empty()) return Error{"query: no trace is named", "culprit query TRACE \"SQL\""};
  if (words.size() > 2 || (words.size() == 2 && has_sql)) {
    return Error{"query: one argument too many: '" + words.back() + "'",
                 "one trace and one text of SQL, in quotes"};
  }
  std::size_t trace = 0;
  if (words.size() == 2 && !PathExists(words[0]) && PathExists(words[1])) trace = 1;
  job.trace = words[trace];
  if (words.size() == 2) job.sql = words[1 - trace];
  return {};
}

Result<std::string> ReadStdin() {
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t size = read(STDIN_FILENO, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoError("read", "standard input", errno);
    if (size == 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

// Usage mistakes come from here; what reads files comes later.
Result<QueryJob> Understand(const QueryOptions& options) {
  QueryJob job;
  if (!options.sql.empty() && !options.sql_file.empty()) {
    return Error{"query: SQL both as text and as a file", "give one of them"};
  }
  CULPRIT_TRY(AssignWords(options, job));
  CULPRIT_ASSIGN(job.format, ChooseFormat(options));
  job.output = options.output == "-" ? "" : options.output;
  job.quiet = options.quiet;
  if (!options.sql.empty()) job.sql = options.sql;
  if (job.format == query::Format::kParquet && job.output.empty()) {
    return Error{"query: Parquet is no text for a terminal", "name a file with -o"};
  }
  return job;
}

// Rows to the descriptor or, for Parquet, to the file at `path`.
Status RunQuery(query::Session& session, const QueryJob& job, int fd, const std::string& path,
                Cancellable& cancellable) {
  query::Output output(fd, job.output.empty() ? "standard output" : job.output);
  output.set_cancelled(&cancellable.cancelled());
  int results = 0;
  CULPRIT_TRY(session.Run(*job.sql, [&](tables::QueryResult& result) -> Status {
    if (!result.has_rows()) return {};
    ++results;
    if (job.format == query::Format::kParquet) {
      if (results > 1) {
        return Error{"several statements give rows, and a Parquet file holds one table",
                     "leave one SELECT"};
      }
      CULPRIT_ASSIGN(const auto rows, query::WriteParquet(result, session.database(), path));
      static_cast<void>(rows);
      return {};
    }
    cancellable.HideProgress();
    if (results > 1) output.text() += '\n';
    CULPRIT_ASSIGN(const auto rows, query::WriteRows(result, job.format, output));
    static_cast<void>(rows);
    return {};
  }));
  if (job.format == query::Format::kParquet && results == 0) {
    return Error{"no statement gives rows", "end with a SELECT"};
  }
  return output.Finish();
}

// Answers from an incomplete trace are told to be so.
void WarnOfLosses(query::Session& session) {
  const auto losses = session.connection().QueryText(
      "SELECT string_agg(name || ' ' || value, ', ' ORDER BY name) FROM (SELECT name, "
      "sum(value) AS value FROM stats WHERE severity IN ('data_loss', 'error') GROUP BY name "
      "HAVING sum(value) > 0) AS t");
  if (!losses.ok()) return;  // none: NULL
  fmt::print(stderr,
             "culprit: the trace is incomplete or was not all understood: {}; see table stats\n",
             SafeForTerminal(*losses));
}

Status RunJob(const QueryJob& job, Cancellable& cancellable) {
  query::SessionOptions options;
  options.on_load_progress = cancellable.OnLoadProgress();
  CULPRIT_ASSIGN(auto session, query::Session::Open(job.trace, std::move(options)));
  if (cancellable.shows_progress()) CULPRIT_TRY(session.connection().EnableProgress());
  cancellable.Watch(&session);
  const auto watched = std::unique_ptr<Cancellable, void (*)(Cancellable*)>(
      &cancellable, [](Cancellable* c) { c->Watch(nullptr); });
  if (job.output.empty()) {
    CULPRIT_TRY(RunQuery(session, job, STDOUT_FILENO, "", cancellable));
  } else if (job.format == query::Format::kParquet) {
    CULPRIT_ASSIGN(auto file, AtomicFile::ReserveName(job.output));
    CULPRIT_TRY(RunQuery(session, job, -1, file.temporary_path(), cancellable));
    CULPRIT_TRY(file.Commit());
  } else {
    CULPRIT_ASSIGN(auto file, AtomicFile::Create(job.output));
    CULPRIT_TRY(RunQuery(session, job, file.fd(), "", cancellable));
    CULPRIT_TRY(file.Commit());
  }
  if (!job.quiet) WarnOfLosses(session);
  return {};
}

int RunInteractive(const QueryJob& job, Cancellable& cancellable) {
  std::optional<query::Session> session;
  Status opened;
  cancellable.Run([&] {
    query::SessionOptions options;
    options.on_load_progress = cancellable.OnLoadProgress();
    auto result = query::Session::Open(job.trace, std::move(options));
    if (result.ok()) {
      session.emplace(std::move(result).value());
    } else {
      opened = result.error();
    }
  });
  if (cancellable.cancelled()) return kExitCancelled;
  if (!opened.ok()) return Fail(opened.error());
  if (!job.quiet) WarnOfLosses(*session);
  query::ShellOptions options;
  options.format = job.format;
  options.title = "culprit: " + job.trace;
  const auto status = query::RunShell(*session, cancellable.signals(), options);
  return status.ok() ? kExitOk : Fail(status.error());
}

int Query(const QueryOptions& options) {
  auto job = Understand(options);
  if (!job.ok()) return Fail(job.error(), kExitUsage);
  const bool from_stdin = options.sql_file == "-" ||
                          (!job->sql && options.sql_file.empty() && !IsTerminal(STDIN_FILENO));
  if (from_stdin || !options.sql_file.empty()) {
    auto text = from_stdin ? ReadStdin() : ReadFile(options.sql_file);
    if (!text.ok()) return Fail(text.error());
    job->sql = std::move(text).value();
  }
  auto cancellable = Cancellable::Open();
  if (!cancellable.ok()) return Fail(cancellable.error());
  if (!job->sql) return RunInteractive(*job, *cancellable);
  Status status;
  cancellable->Run([&] { status = RunJob(*job, *cancellable); });
  if (cancellable->cancelled()) return kExitCancelled;
  return status.ok() ? kExitOk : Fail(status.error());
}

}  // namespace

Action DeclareQuery(CLI::App& app) {
  auto options = std::make_shared<QueryOptions>();
  app.add_option("trace_and_sql", options->words,
                 "the trace (or .duckdb file), and the SQL when no option gives it")
      ->type_name("TRACE \"SQL\"");
  app.add_option("-Q,--query,--query-string", options->sql, "the SQL as text")->type_name("SQL");
  app.add_option("-f,-q,--query-file", options->sql_file, "the SQL in a file; - for standard input")
      ->type_name("FILE");
  std::vector<std::string> formats;
  for (const auto& format : query::Formats()) formats.emplace_back(format.name);
  app.add_option("--format", options->format,
                 "how rows are written; by default a table, or what the ending of -o says")
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
  app.add_option("-o,--output", options->output, "write to a file, whole or not at all")
      ->type_name("FILE");
  app.add_flag("--quiet", options->quiet, "do not say on stderr what the trace lacks");
  return [options] { return Query(*options); };
}

}  // namespace culprit::cli
