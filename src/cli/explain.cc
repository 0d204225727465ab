// culprit explain: what made the work wait, from a recording.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/explain.h"
#include "analysis/trace_time.h"
#include "base/atomic_file.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cancellable.h"
#include "cli/explain_live.h"
#include "cli/verbs.h"
#include "tables/database.h"
#include "views/explain/explain_view.h"

namespace culprit::cli {
namespace {

constexpr int kExitFound = 3;

struct ExplainVerbOptions {
  std::string trace;
  analysis::ExplainOptions selection;
  std::string from, to;
  std::string format = "text";
  std::string output;
  std::string fail_on;
  bool show_sql = false;
  bool chains = false;
  bool list_rules = false;
  bool live = false;
  std::string duration;
  std::vector<std::string> command;  // each word with a '=' before it
};

constexpr const char* kDefaultLive = "10s";

// The part of the recording between --from and --to.
Result<analysis::Interval> WindowOf(tables::Connection& connection,
                                    const ExplainVerbOptions& options) {
  CULPRIT_ASSIGN(const auto start, connection.QueryInteger("SELECT start_ts FROM trace_bounds"));
  CULPRIT_ASSIGN(const auto end, connection.QueryInteger("SELECT end_ts FROM trace_bounds"));
  analysis::Interval window{start, end};
  const analysis::Interval trace = window;
  if (trace.length() == 0) {
    return Error{options.trace + ": nothing in it has a time", "record again"};
  }
  if (!options.from.empty()) {
    CULPRIT_ASSIGN(window.begin, analysis::ParseTraceTime(options.from, trace));
  }
  if (!options.to.empty()) {
    CULPRIT_ASSIGN(window.end, analysis::ParseTraceTime(options.to, trace));
  }
  if (window.length() == 0)
    return Error{"--from is not before --to", "culprit explain TRACE --from 1s --to 2s"};
  return window;
}

Result<analysis::Explanation> ExplainTrace(const ExplainVerbOptions& options,
                                           Cancellable& cancellable) {
  query::SessionOptions session_options;
  session_options.on_load_progress = cancellable.OnLoadProgress();
  CULPRIT_ASSIGN(auto session, query::Session::Open(options.trace, std::move(session_options)));
  analysis::ExplainOptions selection = options.selection;
  CULPRIT_ASSIGN(selection.window, WindowOf(session.connection(), options));
  return analysis::Explain(session.connection(), selection);
}

std::string Render(const analysis::Explanation& explanation, const ExplainVerbOptions& options) {
  if (options.format == "json") return views::ExplainJson(explanation, options.trace);
  if (options.format == "html") return views::ExplainHtml(explanation, options.trace);
  if (options.format == "markdown") {
    return views::ExplainMarkdown(explanation, options.trace, options.show_sql);
  }
  const bool to_terminal = options.output.empty() || options.output == "-";
  const char* no_colour = std::getenv("NO_COLOR");
  const bool colour =
      to_terminal && IsTerminal(STDOUT_FILENO) && (no_colour == nullptr || *no_colour == '\0');
  return views::ExplainText(explanation, {.colour = colour,
                                          .show_sql = options.show_sql,
                                          .all_chains = options.chains,
                                          .top = options.selection.top});
}

Status Write(const std::string& path, std::string_view bytes) {
  if (path.empty() || path == "-") return WriteAll(STDOUT_FILENO, bytes, "standard output");
  CULPRIT_ASSIGN(auto file, AtomicFile::Create(path));
  CULPRIT_TRY(WriteAll(file.fd(), bytes, path));
  return file.Commit();
}

int ListRules() {
  fmt::print("{}", views::ExplainRulesText());
  return kExitOk;
}

int RunExplain(const ExplainVerbOptions& options);

int RunLive(const ExplainVerbOptions& options) {
  if (!options.trace.empty()) {
    return Fail({"explain: --live makes its own recording, no TRACE is to be named", ""},
                kExitUsage);
  }
  LiveOptions live;
  live.duration = options.duration;
  live.pid = options.selection.pid;
  for (const std::string& word : options.command) live.command.push_back(word.substr(1));
  if (live.duration.empty() && live.command.empty()) live.duration = kDefaultLive;
  const auto recording = LiveRecording::Make(live);
  if (!recording.ok()) return Fail(recording.error());
  if (recording->exit_status() != kExitOk) {
    fmt::print(stderr, "culprit: the command or its recording ended with {}\n",
               recording->exit_status());
  }
  ExplainVerbOptions recorded = options;
  recorded.live = false;
  recorded.duration.clear();
  recorded.command.clear();
  recorded.trace = recording->path();
  return RunExplain(recorded);
}

int RunExplain(const ExplainVerbOptions& options) {
  if (options.list_rules) return ListRules();
  if (options.live) return RunLive(options);
  if (!options.command.empty() || !options.duration.empty()) {
    return Fail({"explain: a command and --for are for --live", "culprit explain --live ..."},
                kExitUsage);
  }
  if (options.trace.empty()) {
    return Fail({"explain: no trace is named", "culprit explain TRACE"}, kExitUsage);
  }
  auto cancellable = Cancellable::Open();
  if (!cancellable.ok()) return Fail(cancellable.error());
  Result<analysis::Explanation> explanation = Error{};
  cancellable->Run([&] { explanation = ExplainTrace(options, *cancellable); });
  if (cancellable->cancelled()) return kExitCancelled;
  if (!explanation.ok()) return Fail(explanation.error());
  const Status written = Write(options.output, Render(*explanation, options));
  if (!written.ok()) return Fail(written.error());
  const auto limit =
      options.fail_on == "crit" ? analysis::Level::kCritical : analysis::Level::kWarning;
  const bool is_bad = explanation->level >= limit || !explanation->is_conclusive;
  return !options.fail_on.empty() && is_bad ? kExitFound : kExitOk;
}

}  // namespace

Action DeclareExplain(CLI::App& app) {
  auto options = std::make_shared<ExplainVerbOptions>();
  analysis::ExplainOptions& selection = options->selection;
  app.add_option("trace", options->trace, "the recording, or a file of culprit load")
      ->type_name("TRACE");
  auto* thread =
      app.add_option("--thread", selection.thread_glob, "explain the threads with a name that fits")
          ->type_name("GLOB");
  auto* process = app.add_option("--process", selection.process_glob,
                                 "explain the processes with a name that fits")
                      ->type_name("GLOB");
  auto* pid =
      app.add_option("--pid", selection.pid, "explain the threads of a process")->type_name("PID");
  auto* tid = app.add_option("--tid", selection.tid, "explain one thread")->type_name("TID");
  auto* slice = app.add_option("--slice", selection.slice_glob,
                               "explain the threads with slices of that name, in their time alone")
                    ->type_name("GLOB");
  CLI::Option* choices[] = {thread, process, pid, tid, slice};
  for (CLI::Option* a : choices) {
    for (CLI::Option* b : choices) {
      if (a != b) a->excludes(b);
    }
  }
  app.add_option(
         "--from", options->from,
         "begin there: 1.5s after the start, -2s before the end, or ns of the trace's clock")
      ->type_name("TIME");
  app.add_option("--to", options->to, "end there")->type_name("TIME");
  app.add_option("--top", selection.top, "victims, chains and minor findings to show")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--format", options->format, "how the report is written")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "markdown", "html"}))
      ->capture_default_str();
  app.add_option("-o,--output", options->output, "write to a file, whole or not at all")
      ->type_name("FILE");
  app.add_option("--fail-on", options->fail_on,
                 "exit with 3 when a finding is that bad, or nothing can be told")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"warn", "crit"}));
  app.add_flag("--show-sql", options->show_sql,
               "with each finding the SQL behind its number (of a walk through wakers: near it)");
  app.add_flag(
      "--live", options->live,
      "record now (all of the machine, --pid N, or -- COMMAND) and explain that; ^C ends the "
      "recording and explains what there is; the exit status is explain's own");
  app.add_option("--for", options->duration,
                 "with --live: how long (default: until COMMAND ends, else 10s)")
      ->type_name("TIME");
  app.add_option("--command-word", options->command)->group("")->allow_extra_args(false);
  app.add_flag("--chains", options->chains,
               "the wait chains of all victims and waits, not of the first alone");
  app.add_flag("--list-rules", options->list_rules, "what is looked for, from which share on, why");
  return [options] { return RunExplain(*options); };
}

}  // namespace culprit::cli
