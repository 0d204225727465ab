// culprit help: the list of verbs, one verb's help, or everything as a manual or completion script.
#include <fmt/core.h>

#include <memory>

#include "cli/manual.h"
#include "cli/program.h"
#include "cli/verbs.h"
#include "tables/schema.h"

namespace culprit::cli {
namespace {

struct HelpOptions {
  std::string verb;
  bool man = false;
  bool markdown = false;
  bool tables = false;
  std::string completion;
};

// What docs/tables.md holds: the heads of the schema files with the types that a database gives.
Result<std::string> TablesDocument() {
  CULPRIT_ASSIGN(const auto database, tables::Database::OpenInMemory());
  CULPRIT_ASSIGN(auto connection, database.Connect());
  CULPRIT_TRY(tables::CreateSchema(connection));
  CULPRIT_ASSIGN(const auto tables, tables::DescribeSchema(connection));
  return tables::TablesMarkdown(tables);
}

int PrintHelp(const HelpOptions& options) {
  const auto verbs = DescribeVerbs();
  Program program;
  if (options.man) {
    fmt::print("{}", ManPage(verbs, program.version()));
  } else if (options.markdown) {
    fmt::print("{}", Markdown(verbs));
  } else if (options.tables) {
    const auto document = TablesDocument();
    if (!document.ok()) return Fail(document.error());
    fmt::print("{}", *document);
  } else if (options.completion == "bash") {
    fmt::print("{}", BashCompletion(verbs));
  } else if (options.completion == "zsh") {
    fmt::print("{}", ZshCompletion(verbs));
  } else if (options.completion == "fish") {
    fmt::print("{}", FishCompletion(verbs));
  } else if (options.verb.empty()) {
    fmt::print("{}", program.app().help());
  } else if (const CLI::App* verb = program.FindVerb(options.verb); verb != nullptr) {
    fmt::print("{}", verb->help());
  } else {
    return Fail(UnknownVerb(options.verb), kExitUsage);
  }
  return kExitOk;
}

}  // namespace

Action DeclareHelp(CLI::App& app) {
  auto options = std::make_shared<HelpOptions>();
  auto* verb = app.add_option("verb", options->verb, "the verb to explain")->type_name("VERB");
  auto* man = app.add_flag("--man", options->man, "print the manual as a man page");
  auto* markdown = app.add_flag("--markdown", options->markdown, "print the manual in Markdown");
  auto* completion =
      app.add_option("--completion", options->completion, "print the completion script of a shell")
          ->type_name("SHELL")
          ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  auto* tables = app.add_flag("--tables", options->tables,
                              "print what the tables of a trace hold, in Markdown");
  man->excludes(verb, markdown, completion);
  tables->excludes(verb, man, markdown, completion);
  markdown->excludes(verb, completion);
  completion->excludes(verb);
  return [options] { return PrintHelp(*options); };
}

}  // namespace culprit::cli
