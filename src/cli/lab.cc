// culprit lab: faults with a known truth, to see what the other verbs say about them.
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/signal_watch.h"
#include "base/text.h"
#include "cli/lab_record.h"
#include "cli/verbs.h"
#include "lab/scenario.h"

namespace culprit::cli {
namespace {

constexpr int kExitInterrupted = 130;

struct LabFlags {
  std::string scenario, duration = "10s", directory, fault, record, truth;
  std::int64_t scale = 0;
  std::uint64_t seed = 1;
  bool list = false, json = false, explain = false, with_parent = false;
};

std::string DefaultDirectory() {
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr && *directory != '\0' ? directory : "/tmp";
}

int List() {
  for (const lab::Scenario& scenario : lab::Scenarios()) {
    fmt::print("{}\n  {}\n", scenario.name, scenario.what);
    if (!scenario.scale_is.empty()) {
      const std::string preset = scenario.scale > 0 ? fmt::format("{}", scenario.scale)
                                                    : std::string("by the number of CPUs");
      fmt::print("  --scale   {}: {}, at most {}\n", scenario.scale_is, preset,
                 scenario.scale_most);
    }
    if (!scenario.faults.empty()) fmt::print("  --fault   {}\n", scenario.faults);
    if (!scenario.needs.empty()) fmt::print("  needs     {}\n", scenario.needs);
    fmt::print("  watch     {}\n\n", scenario.watch);
  }
  return kExitOk;
}

// In this process.
int Play(const LabFlags& flags, const lab::Options& options) {
  if (flags.with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto signals = SignalWatch::Open();
  if (!signals) return Fail(signals.error());
  const auto truth = lab::RunScenario(options, *signals);
  if (!truth) return Fail(truth.error());
  const std::string text = lab::ToJson(*truth);
  if (!flags.truth.empty()) {
    if (const Status saved = SaveTruth(flags.truth, text); !saved) return Fail(saved.error());
  }
  if (!flags.json) fmt::print(stderr, "lab {}: {}\n", truth->scenario, lab::ToSentence(*truth));
  std::fputs(text.c_str(), stdout);
  return truth->interrupted ? kExitInterrupted : kExitOk;
}

int Lab(const LabFlags& flags) {
  if (flags.list) return List();
  if (flags.scenario.empty()) {
    return Fail({"which scenario?", "culprit lab --list shows them"}, kExitUsage);
  }
  lab::Options options;
  options.scenario = flags.scenario;
  options.fault = flags.fault;
  options.scale = flags.scale;
  options.seed = flags.seed;
  options.directory = flags.directory.empty() ? DefaultDirectory() : flags.directory;
  const auto duration = ParseDuration(flags.duration);
  if (!duration) return Fail(duration.error(), kExitUsage);
  options.duration = *duration;
  if (lab::FindScenario(options.scenario) == nullptr || (flags.record.empty() && !flags.explain)) {
    return Play(flags, options);
  }
  return RecordScenario({options, flags.record, flags.truth, flags.json, flags.explain});
}

}  // namespace

Action DeclareLab(CLI::App& app) {
  auto flags = std::make_shared<LabFlags>();
  app.add_option("scenario", flags->scenario, "what to do: culprit lab --list")
      ->type_name("SCENARIO");
  app.add_option("--for", flags->duration, "how long")->type_name("TIME")->capture_default_str();
  app.add_option("--scale", flags->scale, "how much of it; what it counts says --list")
      ->type_name("N");
  app.add_option("--fault", flags->fault, "which fault, for scenarios with a choice")
      ->type_name("FAULT");
  app.add_option("--record", flags->record, "record the scenario to this trace file")
      ->type_name("FILE");
  app.add_flag("--explain", flags->explain, "record it, and run culprit explain on the recording");
  app.add_option("--truth", flags->truth, "write the JSON of what happened also to this file")
      ->type_name("FILE");
  app.add_option("--dir", flags->directory,
                 "where its private folder is made (default: TMPDIR, else /tmp)")
      ->type_name("DIR");
  app.add_option("--seed", flags->seed, "of what is random")->type_name("N")->capture_default_str();
  app.add_flag("--json", flags->json, "print the JSON alone, without the sentence on stderr");
  app.add_flag("--list", flags->list, "every scenario and what to watch");
  app.add_flag("--with-parent", flags->with_parent, "end with the recorder")->group("");
  return [flags] { return Lab(*flags); };
}

}  // namespace culprit::cli
