// How good the evidence is: what was lost, cut off or not recorded in the time that was examined.
#pragma once

#include <span>

#include "analysis/explanation.h"
#include "analysis/findings.h"

namespace culprit::analysis {

Evidence WeighEvidence(const Timeline& timeline, std::span<const Walked> victims, Interval window);

}  // namespace culprit::analysis
