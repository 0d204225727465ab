// Program: the command line built from the verb table. Parsing, help and the generated documents
// (man page, completions, docs/cli.md) all read the same CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/verb.h"

namespace culprit::cli {

class Program {
 public:
  Program();

  // Parses and runs; returns the exit status.
  int Run(int argc, char** argv);
  CLI::App& app() { return app_; }
  std::string_view version() const;
  // The verb of that name, or nullptr.
  CLI::App* FindVerb(std::string_view name);

 private:
  std::vector<std::string> CommandLine(int argc, char** argv);
  // What is wrong with a command line that the parser refused.
  Error Explain(const CLI::ParseError& error) const;
  CLI::App app_;
  std::vector<Action> actions_;  // beside Verbs()
};

// "no such verb: 'rekord'; did you mean record?".
Error UnknownVerb(std::string_view name);

}  // namespace culprit::cli
