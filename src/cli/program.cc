#include "cli/program.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>

#include "base/text.h"
#include "cli/verbs.h"

#ifndef CULPRIT_VERSION
#error "CULPRIT_VERSION comes from CMake"
#endif

namespace culprit::cli {
namespace {

// CLI11 lists options well, but its usage line knows nothing of how a verb is really typed.
class VerbHelp : public CLI::Formatter {
 public:
  explicit VerbHelp(const Verb& verb) : verb_(verb) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return fmt::format("Usage: culprit {} {}\n", verb_.name, verb_.usage);
  }

 private:
  const Verb& verb_;
};

}  // namespace

int Fail(const Error& error, int status) {
  fmt::print(stderr, "culprit: {}\n", SafeForTerminal(error.ToString()));
  for (const auto line : SplitLines(error.place)) {
    fmt::print(stderr, "  {}\n", SafeForTerminal(line));
  }
  return status;
}

bool IsTerminal(int fd) { return isatty(fd) == 1; }

bool UseColour(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return IsTerminal(fd) && (no_color == nullptr || *no_color == '\0');
}

Program::Program()
    : app_("culprit finds what makes the work on this node wait, and proves it.", "culprit") {
  app_.set_version_flag("--version", "culprit " CULPRIT_VERSION);
  app_.require_subcommand(1);
  for (const Verb& verb : Verbs()) {
    CLI::App* sub = app_.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->formatter(std::make_shared<VerbHelp>(verb));
    if (!verb.examples.empty()) sub->footer(fmt::format("Examples:\n{}", verb.examples));
    actions_.push_back(verb.declare(*sub));
  }
}

int Program::Run(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help, --version
    return app_.exit(help);
  } catch (const CLI::ParseError& error) {
    const auto parsed = app_.get_subcommands();
    const std::string verb = parsed.empty() ? "" : " " + parsed.front()->get_name();
    return Fail({error.what(), "see culprit" + verb + " --help"}, kExitUsage);
  }
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (app_.got_subcommand(std::string(Verbs()[i].name))) return actions_[i]();
  }
  return kExitUsage;
}

CLI::App* Program::FindVerb(std::string_view name) {
  const auto verbs =
      app_.get_subcommands([name](CLI::App* verb) { return verb->get_name() == name; });
  return verbs.empty() ? nullptr : verbs.front();
}

}  // namespace culprit::cli
