#include "query/shell.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

// readline's headers come behind <cstdio>, which they need and do not include.
#include <cstdio>
// clang-format off
#include <readline/readline.h>
#include <readline/history.h>
// clang-format on

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "query/completion.h"
#include "query/history.h"
#include "query/progress.h"
#include "query/shell_commands.h"
#include "tables/schema.h"

namespace culprit::query {
namespace {

constexpr const char* kPrompt = "culprit> ";
constexpr const char* kMorePrompt = "    ...> ";
constexpr int kHistoryLines = 2000;

class Shell;

// readline calls back without a word of whom it serves: this is the one shell of the process.
Shell* g_shell = nullptr;

class Shell {
 public:
  Shell(Session& session, SignalWatch& signals, const ShellOptions& options)
      : session_(session), signals_(signals), format_(options.format) {
    g_shell = this;
    rl_readline_name = "culprit";
    rl_catch_signals = 0;  // they come through signals_
    rl_attempted_completion_function = [](const char*, int, int end) {
      rl_attempted_completion_over = 1;  // no file names
      return g_shell->Complete(static_cast<std::size_t>(end));
    };
    // Words hold dots: "s.du" is completed as a whole, and so is ".tables".
    rl_basic_word_break_characters = " \t\n\"\\'`@$><=;|&{(,+-*/%";
    rl_completer_word_break_characters = rl_basic_word_break_characters;
    using_history();
    stifle_history(kHistoryLines);
    history_path_ = HistoryPath();
    if (history_path_) read_history(history_path_->c_str());
  }
  ~Shell() {
    if (history_path_) {
      const auto old_mask = umask(0077);
      write_history(history_path_->c_str());
      umask(old_mask);
    }
    g_shell = nullptr;
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  Status Run() {
    while (!done_) {
      CULPRIT_TRY(ReadLine());
      if (interrupted_) {
        interrupted_ = false;
        statement_.clear();
      } else if (line_) {
        Take(*line_);
      } else {
        done_ = true;
        fmt::print("\n");
      }
    }
    return {};
  }

 private:
  // Fills line_: nothing at the end of input. interrupted_ when ^C came.
  Status ReadLine() {
    got_line_ = false;
    line_.reset();
    rl_callback_handler_install(statement_.empty() ? kPrompt : kMorePrompt, [](char* line) {
      g_shell->got_line_ = true;
      if (line != nullptr) g_shell->line_ = line;
      std::free(line);
      // Before anything is printed: readline gives the terminal back.
      rl_callback_handler_remove();
    });
    pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    while (!got_line_) {
      if (poll(waits, 2, -1) < 0) {
        if (errno == EINTR) continue;  // SIGWINCH, of which readline takes note
        rl_callback_handler_remove();
        return ErrnoError("poll", "the terminal", errno);
      }
      if (waits[1].revents != 0 && signals_.Take() != 0) {
        interrupted_ = true;
        rl_free_line_state();
        rl_callback_sigcleanup();
        rl_callback_handler_remove();
        fmt::print("^C\n");
        return {};
      }
      if (waits[0].revents != 0) rl_callback_read_char();
    }
    return {};
  }

  void Take(const std::string& line) {
    if (statement_.empty() && TrimBlanks(line).empty()) return;
    if (statement_.empty() && TrimBlanks(line).starts_with('.')) {
      add_history(line.c_str());
      Command(TrimBlanks(line));
      return;
    }
    statement_ += line;
    if (!Session::IsComplete(statement_)) {
      statement_ += '\n';
      return;
    }
    const std::string statement = std::exchange(statement_, {});
    add_history(statement.c_str());
    RunSql(statement);
  }

  void Command(std::string_view line) {
    const auto words = SplitWords(line);
    const std::string_view argument = words.size() > 1 ? words[1] : "";
    if (words[0] == ".quit" || words[0] == ".exit" || words[0] == ".q") {
      done_ = true;
    } else if (words[0] == ".help") {
      for (const ShellCommand& command : ShellCommands()) {
        fmt::print("{:<20}{}\n", fmt::format("{} {}", command.name, command.arguments),
                   command.summary);
      }
      fmt::print("Everything else is SQL, up to a semicolon. ^C drops or cancels it.\n");
    } else if (words[0] == ".tables") {
      RunSql(
          "SELECT name FROM (SELECT table_name AS name FROM duckdb_tables() WHERE NOT internal "
          "UNION "
          "SELECT view_name FROM duckdb_views() WHERE NOT internal) AS t "
          "WHERE substr(name, 1, 2) <> '__' ORDER BY name");
    } else if (words[0] == ".schema") {
      ShowSchema(argument);
    } else if (words[0] == ".format") {
      const auto format = FormatByName(argument);
      if (!format || *format == Format::kParquet) {
        Complain({"no such format: '" + std::string(argument) + "'",
                  "table, csv, json, ndjson or markdown"});
      } else {
        format_ = *format;
      }
    } else if (words[0] == ".read") {
      const auto text = ReadFile(std::string(argument));
      if (text.ok()) {
        RunSql(*text);
      } else {
        Complain(text.error());
      }
    } else {
      Complain({"no such command: " + std::string(words[0]), ".help lists them"});
    }
  }

  void ShowSchema(std::string_view wanted) {
    const auto tables = tables::DescribeSchema(session_.connection());
    if (!tables.ok()) return Complain(tables.error());
    bool found = false;
    for (const auto& table : *tables) {
      if (!wanted.empty() && table.name != wanted) continue;
      fmt::print("{}{}: {}\n", found ? "\n" : "", table.name, table.summary);
      if (!table.notes.empty()) fmt::print("{}\n", table.notes);
      for (const auto& column : table.columns) {
        fmt::print("  {:<24} {:<8} {}\n", column.name, column.type, column.text);
      }
      found = true;
    }
    // Tables that the user or a module made have no documentation, but columns.
    if (!found)
      RunSql("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = " +
             tables::QuoteText(wanted) + " ORDER BY column_index");
  }

  void RunSql(const std::string& sql) {
    std::atomic<bool> cancelled = false;
    Status status;
    Output output(STDOUT_FILENO, "standard output");
    output.set_cancelled(&cancelled);
    ProgressLine progress;
    std::atomic<bool> printing = false;
    const TimeNs start = NowBoottime();
    std::uint64_t rows = 0;
    bool has_rows = false;
    signals_.During(
        [&] {
          status = session_.Run(sql, [&](tables::QueryResult& result) -> Status {
            CULPRIT_ASSIGN(const auto count, WriteRows(result, format_, output));
            printing = true;
            rows += count;
            has_rows |= result.has_rows();
            return {};
          });
          printing = true;
        },
        [&] {
          cancelled = true;
          session_.Interrupt();
        },
        [&](DurationNs elapsed) {
          // Again: one that comes before a statement has begun is lost on it.
          if (cancelled) session_.Interrupt();
          if (!printing) progress.Show("query", session_.ProgressPct(), elapsed);
        });
    progress.Clear();
    if (!status.ok()) {
      static_cast<void>(output.Finish());
      if (cancelled) {
        fmt::print(stderr, "cancelled\n");
      } else {
        Complain(status.error());
      }
      return;
    }
    if (const auto written = output.Finish(); !written.ok()) return Complain(written.error());
    if (has_rows && format_ == Format::kTable) {
      fmt::print("({} {}, {})\n", FormatCount(rows), rows == 1 ? "row" : "rows",
                 FormatDuration(NowBoottime() - start));
    }
    completion_.reset();  // there may be new tables
  }

  void Complain(const Error& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", SafeForTerminal(error.ToString()));
    for (const auto line : SplitLines(error.place)) {
      fmt::print(stderr, "  {}\n", SafeForTerminal(line));
    }
  }

  char** Complete(std::size_t end) {
    if (!completion_) {
      auto read = Completion::Read(session_.connection());
      if (!read.ok()) return nullptr;
      completion_ = std::move(read).value();
    }
    const std::string_view line(rl_line_buffer);
    const auto candidates =
        completion_->Candidates(statement_ + std::string(line.substr(0, end)), line.substr(end));
    if (candidates.empty()) return nullptr;
    // readline wants: what all have in common, the candidates, a null; all of malloc.
    std::string common = candidates.front();
    for (const auto& candidate : candidates) {
      std::size_t same = 0;
      while (same < common.size() && same < candidate.size() && common[same] == candidate[same]) {
        ++same;
      }
      common.resize(same);
    }
    const std::size_t count = candidates.size() == 1 ? 0 : candidates.size();
    auto** matches = static_cast<char**>(std::calloc(count + 2, sizeof(char*)));
    matches[0] = strdup(common.c_str());
    for (std::size_t i = 0; i < count; ++i) matches[i + 1] = strdup(candidates[i].c_str());
    return matches;
  }

  Session& session_;
  SignalWatch& signals_;
  Format format_;
  std::optional<std::string> history_path_;
  std::optional<Completion> completion_;
  std::string statement_;  // lines so far
  std::optional<std::string> line_;
  bool got_line_ = false;
  bool interrupted_ = false;
  bool done_ = false;
};

}  // namespace

Status RunShell(Session& session, SignalWatch& signals, const ShellOptions& options) {
  fmt::print("{}\n.help for help, .quit to leave; statements end with a semicolon.\n",
             SafeForTerminal(options.title));
  std::fflush(stdout);
  CULPRIT_TRY(session.connection().EnableProgress());
  Shell shell(session, signals, options);
  return shell.Run();
}

}  // namespace culprit::query
