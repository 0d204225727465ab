// culprit check: is this node healthy, what is wrong, and what to do.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "cli/verbs.h"
#include "health/baseline.h"
#include "health/checker.h"
#include "health/report.h"

namespace culprit::cli {
namespace {

struct CheckFlags {
  std::string sample = "1s", watch, deadline = "10s", only, format = "text", exit_style = "nagios";
  std::string root, root_next, baseline, save_baseline, config, explain;
  std::uint64_t rounds = 0;
  bool list = false, all = false, strict_unknown = false;
};

// UNKNOWN is what a caller makes of a check that could not be run.
int FailCheck(const CheckFlags& flags, const Error& error) {
  return Fail(error, flags.exit_style == "npd" ? 2 : 3);
}

Result<health::CheckOptions> OptionsOf(const CheckFlags& flags) {
  health::CheckOptions options;
  CULPRIT_ASSIGN(options.sample, ParseDuration(flags.sample));
  CULPRIT_ASSIGN(options.deadline, ParseDuration(flags.deadline));
  CULPRIT_ASSIGN(options.rules, health::SelectRules(flags.only));
  if (options.sample < Milliseconds(10))
    return Error{"a sample of less than 10 ms says nothing", "give --sample 1s"};
  if (options.deadline < options.sample + Milliseconds(500)) {
    return Error{"--deadline leaves no time beside --sample", "give at least half a second more"};
  }
  if (!flags.config.empty()) {
    CULPRIT_ASSIGN(const std::string text, ReadFile(flags.config, 1 << 20));
    CULPRIT_ASSIGN(options.config, health::CheckConfig::Parse(text, flags.config));
  }
  options.root = flags.root == "/" ? "" : flags.root;
  options.root_next = flags.root_next;
  while (options.root.ends_with('/')) options.root.pop_back();
  // DIR/0 and DIR/1 are two samples of one node.
  if (!options.root.empty() && options.root_next.empty() && PathExists(options.root + "/0/proc") &&
      PathExists(options.root + "/1/proc")) {
    options.root_next = options.root + "/1";
    options.root += "/0";
  }
  if (!options.root.empty() && !PathExists(options.root + "/proc")) {
    return Error{"no folder proc in " + options.root, "give a tree with /proc and /sys of a node"};
  }
  if (options.root.empty() && !options.root_next.empty()) {
    return Error{"--root-next without --root", "give both samples of a captured tree"};
  }
  if (!flags.baseline.empty()) {
    CULPRIT_ASSIGN(options.baseline, health::LoadBaseline(flags.baseline));
  }
  options.strict_unknown = flags.strict_unknown;
  return options;
}

std::string Format(const CheckFlags& flags, const health::Report& report) {
  if (flags.format == "json") return health::ReportJson(report);
  if (flags.format == "ndjson") return health::ReportNdjson(report);
  if (flags.format == "openmetrics") return health::ReportOpenMetrics(report);
  if (flags.format == "nagios") return health::ReportNagios(report);
  return health::ReportText(report, {.colour = UseColour(STDOUT_FILENO), .all = flags.all});
}

Status Print(std::string_view text) { return WriteAll(STDOUT_FILENO, text, "the output"); }

int RunCheck(const CheckFlags& flags) {
  auto options = OptionsOf(flags);
  if (!options.ok()) return FailCheck(flags, options.error());
  if (flags.list) {
    const Status printed =
        Print(flags.format == "json"       ? health::RuleListJson(options->config)
              : flags.format == "markdown" ? health::RuleListMarkdown()
                                           : health::RuleListText(options->config));
    return printed.ok() ? kExitOk : FailCheck(flags, printed.error());
  }
  if (!flags.explain.empty()) {
    const health::Rule* rule = health::FindRule(flags.explain);
    if (rule == nullptr) {
      return FailCheck(flags, {"no check '" + SafeForTerminal(flags.explain) + "'",
                               health::NearRules(flags.explain)});
    }
    const Status printed = Print(health::RuleText(*rule, options->config));
    return printed.ok() ? kExitOk : FailCheck(flags, printed.error());
  }
  if (flags.format == "markdown")
    return FailCheck(flags, {"markdown is for --list", "give --format text"});
  std::optional<DurationNs> every;
  if (!flags.watch.empty()) {
    const auto parsed = ParseDuration(flags.watch);
    if (!parsed.ok()) return FailCheck(flags, parsed.error());
    every = *parsed;
    if (*every < Milliseconds(100))
      return FailCheck(flags, {"--watch is at least 100 ms", "give --watch 5s"});
    if (!options->root.empty())
      return FailCheck(flags, {"--watch wants a live node", "leave --root away"});
  }
  health::Checker checker(std::move(options).value());
  for (std::uint64_t round = 1;; ++round) {
    const health::Report report = checker.Run(every.value_or(DurationNs{}));
    if (!flags.save_baseline.empty()) {
      if (auto saved = health::SaveBaseline(flags.save_baseline, report.seen); !saved.ok()) {
        return FailCheck(flags, saved.error());
      }
    }
    const Status printed = Print(Format(flags, report));
    if (!printed.ok()) return FailCheck(flags, printed.error());  // a lost report is none
    if (!every || round == flags.rounds) {
      return health::ExitStatus(report.verdict, flags.exit_style == "npd");
    }
    if (flags.format == "text" && !Print("\n").ok()) return kExitOk;
  }
}

}  // namespace

Action DeclareCheck(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  app.add_option("--sample", flags->sample, "time between the two samples")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--watch", flags->watch,
                 "repeat at this interval; what is new and what is over is marked")
      ->type_name("TIME");
  app.add_option("--rounds", flags->rounds, "with --watch: end after so many reports")
      ->type_name("N");
  app.add_option("--deadline", flags->deadline,
                 "most time for a report; what has not answered by then is a finding")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--only", flags->only, "resources or checks, with commas: cpu,disk,tasks.dstate")
      ->type_name("LIST");
  app.add_option("--format", flags->format, "how to print")
      ->check(CLI::IsMember({"text", "json", "ndjson", "openmetrics", "nagios", "markdown"}))
      ->capture_default_str();
  app.add_option("--exit-style", flags->exit_style,
                 "nagios: 0 OK, 1 WARN, 2 CRIT, 3 UNKNOWN; npd: 0 OK, 1 problem, 2 unknown")
      ->check(CLI::IsMember({"nagios", "npd"}))
      ->capture_default_str();
  app.add_flag("--strict-unknown", flags->strict_unknown,
               "a check that could not be made is as bad as one that failed");
  app.add_option("--root", flags->root,
                 "read a captured tree (DIR/proc, DIR/sys); DIR/0 and DIR/1 are two samples")
      ->type_name("DIR");
  app.add_option("--root-next", flags->root_next, "the second sample of a captured tree")
      ->type_name("DIR");
  app.add_option("--baseline", flags->baseline, "compare the hardware with this saved state")
      ->type_name("FILE");
  app.add_option("--save-baseline", flags->save_baseline, "write the hardware that is seen now")
      ->type_name("FILE");
  app.add_option("--config", flags->config, "thresholds and checks that are off (docs/check.md)")
      ->type_name("FILE");
  app.add_option("--explain", flags->explain,
                 "what a check reads, its thresholds and what fools it")
      ->type_name("CHECK-ID");
  app.add_flag("--list", flags->list, "every check, and whether it is on");
  app.add_flag("--all", flags->all, "print what is OK and what does not apply, too");
  return [flags] { return RunCheck(*flags); };
}

}  // namespace culprit::cli
