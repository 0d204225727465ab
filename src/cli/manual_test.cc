#include "cli/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "base/file.h"
#include "cli/program.h"

namespace culprit::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Values {
  std::string output, format;
  std::vector<std::string> words;
  std::vector<int> pids;
  bool quiet = false;
};

Action DeclareFake(CLI::App& app) {
  auto values = std::make_shared<Values>();
  app.add_option("-o,--output", values->output, "write to FILE; nothing else is touched")
      ->type_name("FILE");
  app.add_option("--format", values->format, "how rows are printed")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "csv"}))
      ->default_val("table");
  app.add_option("--pid", values->pids, "a process [any]")->type_name("PID");
  app.add_flag("--quiet", values->quiet, "say it's nothing");
  app.add_flag("--secret", values->quiet, "not shown")->group("");
  app.add_option("category", values->words, "what to record")->type_name("CATEGORY");
  return [values] { return kExitOk; };
}

constexpr Verb kFake = {"fake",
                        "[-o FILE] [CATEGORY...]\n--quiet",
                        "a verb for tests",
                        "  culprit fake -o x   # an example\n",
                        DeclareFake,
                        "First words\nof a paragraph.\n\n  kept as it is\n"};

VerbDoc Fake() {
  CLI::App app;
  (void)DeclareFake(app);
  return DescribeVerb(kFake, app);
}

TEST(Manual, AVerbAsData) {
  const VerbDoc doc = Fake();
  EXPECT_THAT(doc.Usages(),
              ElementsAre("culprit fake [-o FILE] [CATEGORY...]", "culprit fake --quiet"));
  ASSERT_EQ(doc.options.size(), 4U);
  EXPECT_EQ(doc.options[0].Names(), "-o, --output FILE");
  EXPECT_EQ(doc.options[1].Names(), "--format FORMAT");
  EXPECT_THAT(doc.options[1].choices, testing::UnorderedElementsAre("table", "csv"));
  EXPECT_EQ(doc.options[1].default_value, "table");
  EXPECT_TRUE(doc.options[2].repeated);
  EXPECT_EQ(doc.options[3].Names(), "--quiet");
  ASSERT_EQ(doc.positionals.size(), 1U);
  EXPECT_EQ(doc.positionals[0].Names(), "CATEGORY...");
  EXPECT_THAT(doc.positionals[0].choices, testing::Contains("sched"));
}

TEST(Manual, HelpText) {
  const std::string help = HelpText(Fake());
  EXPECT_THAT(
      help,
      HasSubstr("Usage: culprit fake [-o FILE] [CATEGORY...]\n       culprit fake --quiet\n"));
  EXPECT_THAT(help, HasSubstr("First words of a paragraph.\n\n  kept as it is\n"));
  EXPECT_THAT(help, HasSubstr("  -o, --output FILE  write to FILE"));
  EXPECT_THAT(help, HasSubstr("(default: table)"));
  EXPECT_THAT(help, HasSubstr("Examples:\n  culprit fake -o x   # an example\n"));
  EXPECT_THAT(help, Not(HasSubstr("secret")));
  std::size_t longest = 0;
  for (std::size_t at = 0; at < help.size();) {
    const auto end = help.find('\n', at);
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  EXPECT_LE(longest, kTextColumns);
}

TEST(Manual, ManPageEscapes) {
  const std::string page = ManPage({Fake()}, "1.2.3");
  EXPECT_THAT(page, HasSubstr(".TH CULPRIT 1 \"\" \"culprit 1.2.3\""));
  EXPECT_THAT(page, HasSubstr("\\-o, \\-\\-output FILE"));
  EXPECT_THAT(page, Not(HasSubstr("\n'")));
}

TEST(Manual, EveryOptionOfEveryVerbIsDescribed) {
  for (const VerbDoc& verb : DescribeVerbs()) {
    EXPECT_FALSE(verb.verb->summary.empty()) << verb.verb->name;
    EXPECT_FALSE(verb.verb->examples.empty()) << verb.verb->name << " shows no example";
    for (const auto* list : {&verb.options, &verb.positionals}) {
      for (const OptionDoc& option : *list) {
        EXPECT_FALSE(option.description.empty()) << verb.verb->name << " " << option.Names();
        EXPECT_THAT(option.value, Not(HasSubstr("TEXT")))
            << verb.verb->name << " " << option.Names();
        EXPECT_FALSE(option.description.ends_with('.')) << verb.verb->name << " " << option.Names();
      }
    }
  }
}

// Runs a command with a script in its environment; its output, or nothing when it fails.
std::string OutputOf(const std::string& command, const std::string& script) {
  const std::string path = testing::TempDir() + "culprit_completion_script";
  std::ofstream(path) << script;
  setenv("SCRIPT", path.c_str(), 1);
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  if (pipe == nullptr) return output;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output.push_back(static_cast<char>(c));
  return pclose(pipe) == 0 ? output : "";
}

// What bash completes for the words of a command line, the last of which is begun.
std::string Bash(const std::string& words) {
  return OutputOf("bash -c 'source $SCRIPT; COMP_WORDS=(" + words +
                      "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _culprit; echo -n ${COMPREPLY[*]}'",
                  BashCompletion({Fake()}));
}

TEST(Completion, BashCompletesVerbsOptionsAndValues) {
  EXPECT_EQ(Bash("culprit fa"), "fake");
  EXPECT_EQ(Bash("culprit fake --fo"), "--format");
  EXPECT_EQ(Bash("culprit fake --format t"), "table");
  EXPECT_EQ(Bash("culprit fake sch"), "sched");
  EXPECT_EQ(Bash("culprit fake -o /proc/vers"), "/proc/version");
  EXPECT_EQ(Bash("culprit fake --output x --q"), "--quiet");
}

bool HasShell(const std::string& name) { return OutputOf("command -v " + name, "") != ""; }

TEST(Completion, ZshScriptParses) {
  if (!HasShell("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(OutputOf("zsh -n $SCRIPT 2>&1 && echo ok", ZshCompletion({Fake()})), "ok\n");
}

TEST(Completion, FishCompletes) {
  if (!HasShell("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string script = FishCompletion({Fake()});
  EXPECT_THAT(OutputOf("fish -N -c 'source $SCRIPT; complete -C\"culprit fa\"'", script),
              HasSubstr("fake\ta verb"));
  EXPECT_THAT(
      OutputOf("fish -N -c 'source $SCRIPT; complete -C\"culprit fake --format t\"'", script),
      HasSubstr("table"));
}

TEST(Program, AMistypedVerbHasANearName) {
  EXPECT_EQ(UnknownVerb("hepl").ToString(), "no such verb: 'hepl'; did you mean help?");
}

}  // namespace
}  // namespace culprit::cli
