#include "lab/scenario.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "lab/caretaker.h"
#include "lab/cgroup.h"
#include "lab/crew.h"
#include "lab/stage.h"

namespace culprit::lab {
namespace {

constexpr DurationNs kShortest = Milliseconds(100);
constexpr DurationNs kLongest = Seconds(3600);

std::int64_t DefaultScale(const Scenario& scenario) {
  if (scenario.scale > 0) return scenario.scale;
  const auto cpus = static_cast<std::int64_t>(AllowedCpus().size());
  const std::int64_t each = scenario.name == "oversub" ? 8 : 2;
  return std::min(cpus * each, scenario.scale_most);
}

Status Settle(const Scenario& scenario, Options& options) {
  if (options.duration < kShortest || options.duration > kLongest) {
    return Error{"--for is out of range", "give 100ms to 1h"};
  }
  if (options.scale == 0) options.scale = DefaultScale(scenario);
  if (options.scale < 1 || options.scale > scenario.scale_most) {
    return Error{fmt::format("--scale {} is out of range for {}", options.scale, scenario.name),
                 scenario.scale_is.empty()
                     ? std::string("leave it out")
                     : fmt::format("1 to {} {}", scenario.scale_most, scenario.scale_is)};
  }
  const auto faults = SplitWords(scenario.faults);
  if (faults.empty() && !options.fault.empty()) {
    return Error{fmt::format("{} takes no --fault", scenario.name), "leave it out"};
  }
  if (!faults.empty()) {
    if (options.fault.empty()) options.fault = faults.front();
    if (std::ranges::find(faults, options.fault) == faults.end()) {
      return Error{fmt::format("{} has no fault {}", scenario.name, options.fault),
                   fmt::format("one of: {}", scenario.faults)};
    }
  }
  std::error_code failed;
  const auto absolute = std::filesystem::canonical(options.directory, failed);
  if (failed) return ErrnoError("open", options.directory, failed.value());
  options.directory = absolute.string();
  return {};
}

}  // namespace

const Scenario* FindScenario(std::string_view name) {
  const auto all = Scenarios();
  const auto found = std::ranges::find(all, name, &Scenario::name);
  return found == all.end() ? nullptr : &*found;
}

Result<Truth> RunScenario(const Options& asked, SignalWatch& signals) {
  const Scenario* scenario = FindScenario(asked.scenario);
  if (scenario == nullptr) {
    std::vector<std::string> names;
    for (const Scenario& each : Scenarios()) names.emplace_back(each.name);
    const auto near = NearNames(asked.scenario, names);
    return Error{fmt::format("no such scenario: {}", asked.scenario),
                 near.empty() ? "culprit lab --list shows them"
                              : fmt::format("did you mean {}?", near.front())};
  }
  Options options = asked;
  CULPRIT_TRY(Settle(*scenario, options));
  // Cgroups first: their processes may still use what is in the folder.
  std::vector<std::string> places = CgroupMounts();
  places.push_back(options.directory);
  SweepLeftovers(places);

  Truth truth;
  truth.scenario = scenario->name;
  truth.fault = options.fault;
  truth.scale = options.scale;
  truth.duration = options.duration;
  truth.seed = options.seed;

  CULPRIT_ASSIGN(Caretaker caretaker, Caretaker::Start());
  Status played;
  {
    CULPRIT_ASSIGN(Crew crew, Crew::Make(caretaker, signals));
    Stage stage(options, caretaker, crew);
    played = scenario->play(stage, truth);
  }
  const Status clean = caretaker.Finish();
  CULPRIT_TRY(played);
  CULPRIT_TRY(clean);
  return truth;
}

}  // namespace culprit::lab
