// SQL that shows a finding's number on the public tables: the same walk, as a recursive query.
#pragma once

#include <string>

#include "analysis/finding_text.h"

namespace culprit::analysis {

// Gives one row with the column wait_ns; interrupts on top of what ran are not taken out, so it may
// be a little above. Empty where the tables alone do not tell it: disks, quotas, interrupts.
std::string WalkSql(const FindingContext& context);

}  // namespace culprit::analysis
