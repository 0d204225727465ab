// The shape of a verb: what main, --help, the completions, the man page and docs/cli.md are made
// from. The table itself is verbs.cc; each verb lives in a file of its own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace culprit::cli {

// Exit statuses that every verb keeps to (a verb with more of its own documents them in its help).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// What runs once the command line is parsed; the exit status is returned.
using Action = std::function<int()>;

struct Verb {
  std::string_view name;
  std::string_view
      usage;  // what follows the name: "[-o FILE] TRACE"; forms stand on lines of their own
  std::string_view summary;  // one line, lower case, no full stop
  std::string_view
      examples;  // lines of "  culprit ...   # what it does", shown at the end of --help
  // Declares the verb's options on `app` and returns the action over the values they fill. Every
  // option has a description (lower case, no full stop) and, if it takes a value, a type_name, from
  // which completions follow: one with FILE, TRACE or CONFIG in it is a file, DIR a directory, PID
  // a process; a CLI::IsMember check gives the words.
  Action (*declare)(CLI::App& app);
  // More for --help and the manual: paragraphs; lines that begin with two blanks stay as they are.
  std::string_view details = "";
};

// Every verb, in the order in which they are listed.
std::span<const Verb> Verbs();

// Prints "culprit: what; remedy" to stderr in one line, and the place below it where there is one,
// all safe for a terminal; returns `status`.
int Fail(const Error& error, int status = kExitFailure);

// Colours and progress only on a terminal, and never with NO_COLOR set.
bool IsTerminal(int fd);
bool UseColour(int fd);

}  // namespace culprit::cli
