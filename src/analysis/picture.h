// The picture of a wait: what the victim did around it, and below, on the same time, what its
// culprit, the CPUs and the disk did. Plain data; views draw it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/explanation.h"
#include "analysis/timeline.h"

namespace culprit::analysis {

// One picture for the worst wait of each of the first findings.
std::vector<Picture> MakePictures(const Timeline& timeline,
                                  std::span<const ExplainFinding> findings);

}  // namespace culprit::analysis
