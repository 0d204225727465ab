#include "cli/program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <system_error>

#include "base/text.h"
#include "cli/manual.h"

#ifndef CULPRIT_VERSION
#error "CULPRIT_VERSION comes from CMake"
#endif

namespace culprit::cli {
namespace {

class VerbHelp : public CLI::FormatterBase {
 public:
  explicit VerbHelp(const Verb& verb) : verb_(verb) {}
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return HelpText(DescribeVerb(verb_, *app));
  }

 private:
  const Verb& verb_;
};

class ProgramHelp : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App*, std::string, CLI::AppFormatMode) const override {
    return ProgramHelpText(DescribeVerbs());
  }
};

// Nothing can be said about a stderr that takes nothing, and fmt would throw.
void PrintToStderr(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const auto near = NearNames(word, known);
  return near.empty() ? "" : "did you mean " + near.front() + "?";
}

}  // namespace

int Fail(const Error& error, int status) {
  std::string text = "culprit: " + SafeForTerminal(error.ToString()) + "\n";
  for (const auto line : SplitLines(error.place)) text += "  " + SafeForTerminal(line) + "\n";
  PrintToStderr(text);
  return status;
}

bool IsTerminal(int fd) { return isatty(fd) == 1; }

bool UseColour(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return IsTerminal(fd) && (no_color == nullptr || *no_color == '\0');
}

Error UnknownVerb(std::string_view name) {
  std::vector<std::string> names;
  for (const Verb& known : Verbs()) names.emplace_back(known.name);
  std::string near = DidYouMean(name, names);
  return {"no such verb: '" + std::string(name) + "'",
          near.empty() ? "culprit --help lists the verbs" : std::move(near)};
}

Program::Program() : app_("", "culprit") {
  app_.set_version_flag("--version", "culprit " CULPRIT_VERSION);
  app_.formatter(std::make_shared<ProgramHelp>());
  app_.require_subcommand(1);
  for (const Verb& verb : Verbs()) {
    CLI::App* sub = app_.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->formatter(std::make_shared<VerbHelp>(verb));
    actions_.push_back(verb.declare(*sub));
  }
}

std::string_view Program::version() const { return CULPRIT_VERSION; }

Error Program::Explain(const CLI::ParseError& error) const {
  const auto parsed = app_.get_subcommands();
  if (parsed.empty()) return {error.what(), "see culprit --help"};
  const CLI::App& verb = *parsed.front();
  const std::string help = "see culprit " + verb.get_name() + " --help";
  std::vector<std::string> extras;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) extras = verb.remaining();
  if (extras.empty()) return {verb.get_name() + ": " + error.what(), help};
  // The first that looks like an option is what was mistyped; its value is an extra, too.
  const auto option = std::ranges::find_if(
      extras, [](const std::string& extra) { return extra.size() > 1 && extra.starts_with('-'); });
  if (option == extras.end()) {
    return {verb.get_name() + ": one argument too many: '" + extras.front() + "'", help};
  }
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> flags;
  for (const CLI::Option* known : verb.get_options()) {
    if (known->get_group().empty()) continue;
    for (const std::string& long_name : known->get_lnames()) flags.push_back("--" + long_name);
    for (const std::string& short_name : known->get_snames()) flags.push_back("-" + short_name);
  }
  std::string near = name.starts_with("--") ? DidYouMean(name, flags) : "";
  return {verb.get_name() + ": no such option: '" + name + "'",
          near.empty() ? help : std::move(near)};
}

// The words for the parser, last one first as it wants them. For a verb that runs a COMMAND, the
// words behind "--" become values of its hidden option --command-word, each with a '=' before it:
// the parser would mix them with the verb's own and read meaning into some.
std::vector<std::string> Program::CommandLine(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const CLI::App* verb = words.empty() ? nullptr : FindVerb(words.front());
  const auto mark = std::ranges::find(words, "--");
  if (verb != nullptr && mark != words.end() &&
      verb->get_option_no_throw("--command-word") != nullptr) {
    for (auto word = mark + 1; word != words.end(); ++word) word->insert(0, "--command-word==");
    words.erase(mark);
  }
  std::ranges::reverse(words);
  return words;
}

int Program::Run(int argc, char** argv) {
  if (argc < 2) {
    PrintToStderr(app_.help());
    return kExitUsage;
  }
  if (argv[1][0] != '-' && FindVerb(argv[1]) == nullptr)
    return Fail(UnknownVerb(argv[1]), kExitUsage);
  std::vector<std::string> words = CommandLine(argc, argv);
  try {
    app_.parse(words);
  } catch (const CLI::Success& help) {  // --help, --version
    app_.exit(help);
    std::cout.flush();
    return std::cout ? kExitOk : Fail(ErrnoError("write", "standard output", errno));
  } catch (const CLI::ParseError& error) {
    return Fail(Explain(error), kExitUsage);
  }
  int status = kExitUsage;
  // What we call may throw: no memory, or a full disk behind stdout. It ends in one line, too.
  try {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      if (app_.got_subcommand(std::string(Verbs()[i].name))) status = actions_[i]();
    }
  } catch (const std::bad_alloc&) {
    return Fail({"out of memory", ""});
  } catch (const std::system_error& error) {
    return Fail({error.what(), ""});
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail(ErrnoError("write", "standard output", errno));
  }
  return status;
}

CLI::App* Program::FindVerb(std::string_view name) {
  const auto verbs =
      app_.get_subcommands([name](CLI::App* verb) { return verb->get_name() == name; });
  return verbs.empty() ? nullptr : verbs.front();
}

}  // namespace culprit::cli
