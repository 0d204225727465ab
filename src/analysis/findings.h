// Findings: sums of blame held against the thresholds, worst first, with the names of who is meant.
// Sentences and commands are finding_text.h's.
#pragma once

#include <span>
#include <vector>

#include "analysis/attribution.h"
#include "analysis/culprits.h"
#include "analysis/explanation.h"
#include "analysis/victims.h"

namespace culprit::analysis {

// A victim with its walk.
struct Walked {
  Victim victim;
  Attribution walk;
  std::int64_t alive_ns = 0;  // of the walk's times

  // Ready, not running.
  std::int64_t ReadyNs() const;
};

TaskName NameTask(const Timeline& timeline, Utid utid);

std::vector<ExplainFinding> MakeFindings(const Timeline& timeline, const VictimChoice& choice,
                                         std::span<const Walked> victims, const Culprits& culprits);

// Worst first: by level, then by share, that of main threads before that of those who feed them.
void SortFindings(std::span<const Walked> victims, std::vector<ExplainFinding>& findings);

}  // namespace culprit::analysis
