// The scenarios of `culprit lab`: programs with a fault whose culprit and share are known, as a
// table. Running one is RunScenario; recording and explaining it is the verb's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/signal_watch.h"
#include "base/units.h"
#include "lab/truth.h"

namespace culprit::lab {

struct Options {
  std::string scenario;
  DurationNs duration = Seconds(10);
  std::int64_t scale = 0;  // 0: the scenario's own
  std::string fault;       // empty: the scenario's own
  std::string directory;   // where its private folder is made
  std::uint64_t seed = 1;
};

class Stage;
// Starts the crew, lets it run, and says what happened.
using Script = Status (*)(Stage& stage, Truth& truth);

struct Scenario {
  std::string_view name;
  std::string_view what;      // one line
  std::string_view scale_is;  // what --scale counts; empty: nothing
  std::int64_t scale = 1;     // its default; 0: from the number of CPUs
  std::int64_t scale_most = 1;
  std::string_view faults;  // words of --fault with blanks, the default first; empty: none
  std::string_view needs;   // "" or what it needs beyond an ordinary user
  std::string_view watch;   // what to look at in check, explain and flame
  Script play;
};

std::span<const Scenario> Scenarios();
const Scenario* FindScenario(std::string_view name);

// Checks the options, runs, cleans up. `signals` must have been made before any thread.
Result<Truth> RunScenario(const Options& options, SignalWatch& signals);

}  // namespace culprit::lab
