// Manual: the verb table and every verb's CLI::App as plain text data, from which --help, the man
// page, the completions and docs/cli.md are all written. Parses nothing and runs nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"

namespace culprit::cli {

// One option or positional argument.
struct OptionDoc {
  std::vector<std::string> flags;    // "-o", "--output"; none for a positional
  std::string value;                 // "FILE"; empty for a switch
  std::vector<std::string> choices;  // the words that the value may be, where they are known
  std::string default_value;
  std::string description;
  bool repeated = false;
  bool required = false;

  // "-o, --output FILE", "CATEGORY...".
  std::string Names() const;
};

struct VerbDoc {
  const Verb* verb = nullptr;
  std::vector<OptionDoc> positionals;
  std::vector<OptionDoc> options;  // without --help

  // "culprit record [-o FILE] ...", one a form.
  std::vector<std::string> Usages() const;
};

VerbDoc DescribeVerb(const Verb& verb, const CLI::App& app);
// All verbs, declared anew.
std::vector<VerbDoc> DescribeVerbs();

// What the program is and two lines to begin with.
inline constexpr std::string_view kProgramSummary =
    "culprit finds what makes the work on a Linux node wait, and proves it.";
inline constexpr std::string_view kProgramExamples =
    "  culprit record --for 10s -o node.trace -- make   # what every thread does meanwhile\n"
    "  culprit query node.trace \"SELECT utid, SUM(dur) FROM sched GROUP BY utid\"\n";

struct ExitStatusDoc {
  int status;
  std::string_view meaning;
};
inline constexpr ExitStatusDoc kExitStatuses[] = {
    {kExitOk, "done"},
    {kExitFailure, "it failed, or found what it looks for; the reason and a remedy are on stderr"},
    {kExitUsage, "the command line, a config or a query text cannot be understood"}};

// How wide the texts are: a terminal of 100 columns is common, of 80 always.
inline constexpr std::size_t kTextColumns = 96;

std::string HelpText(const VerbDoc& verb);
std::string ProgramHelpText(const std::vector<VerbDoc>& verbs);
std::string ManPage(const std::vector<VerbDoc>& verbs, std::string_view version);
std::string Markdown(const std::vector<VerbDoc>& verbs);
std::string BashCompletion(const std::vector<VerbDoc>& verbs);
std::string ZshCompletion(const std::vector<VerbDoc>& verbs);
std::string FishCompletion(const std::vector<VerbDoc>& verbs);

}  // namespace culprit::cli
