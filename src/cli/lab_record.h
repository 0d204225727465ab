// A lab scenario under culprit record, and culprit explain afterwards: this very program, started
// for each. What a scenario is, the lab stage knows.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/scenario.h"

namespace culprit::cli {

struct LabRecording {
  lab::Options options;
  std::string trace;  // empty: a temporary one
  std::string truth;  // empty: stdout alone
  bool json = false;
  bool explain = false;
};

// The exit status of the verb.
int RecordScenario(const LabRecording& recording);

Status SaveTruth(const std::string& path, const std::string& json);

}  // namespace culprit::cli
