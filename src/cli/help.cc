// culprit help: the list of verbs, or one verb's help.
#include <fmt/core.h>

#include <memory>

#include "base/text.h"
#include "cli/program.h"
#include "cli/verbs.h"

namespace culprit::cli {

Action DeclareHelp(CLI::App& app) {
  auto verb = std::make_shared<std::string>();
  app.add_option("verb", *verb, "the verb to explain")->type_name("VERB");
  return [verb] {
    Program program;
    if (verb->empty()) {
      fmt::print("{}", program.app().help());
      return kExitOk;
    }
    const CLI::App* found = program.FindVerb(*verb);
    if (found == nullptr) {
      std::vector<std::string> names;
      for (const Verb& known : Verbs()) names.emplace_back(known.name);
      const auto near = NearNames(*verb, names);
      return Fail({"no such verb: '" + *verb + "'",
                   near.empty() ? "see culprit help" : "did you mean " + near.front() + "?"},
                  kExitUsage);
    }
    fmt::print("{}", found->help());
    return kExitOk;
  };
}

}  // namespace culprit::cli
