// The words of findings of the walk: one line of summary, the lines of evidence, and the command
// that helps. Numbers come in with the finding; strings are as the recording has them.
#pragma once

#include <string>

#include "analysis/culprits.h"
#include "analysis/explanation.h"
#include "analysis/findings.h"

namespace culprit::analysis {

// What the words need beside the finding.
struct FindingContext {
  const Timeline& timeline;
  const Culprits& culprits;
  const Walked& worst;  // the victim that the numbers are of
  const Blame& blame;
  const BlameSum& sum;
};

// "logcollector (pid 991, nice 0)", "pt_data_worker (tid 4123)".
std::string NameWithId(const TaskName& task, bool is_process);
std::string Percent(double share);  // "19.8 %"

// Fills summary, evidence, remedy, confidence.
void Describe(const FindingContext& context, ExplainFinding& finding);

// The CPUs of a list as taskset takes them: "0-3,7".
std::string CpuList(const std::vector<std::int16_t>& cpus);

}  // namespace culprit::analysis
