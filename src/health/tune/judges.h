// The advice that depends on the node: one function a knob, named by the table (knob_table.cc).
// They see facts and the present value; they read no file and write nothing.
#pragma once

#include "health/tune/knob.h"

namespace culprit::tune {

Advice JudgeSwappiness(const JudgeInput& input);
Advice JudgeDirty(const JudgeInput& input);
Advice JudgeDirtyBackground(const JudgeInput& input);
Advice JudgeMinFree(const JudgeInput& input);
Advice JudgeWatermarkScale(const JudgeInput& input);
Advice JudgeNumaOnly(const JudgeInput& input);
Advice JudgeNumaBalancing(const JudgeInput& input);
Advice JudgeSocketMax(const JudgeInput& input);
Advice JudgeTcpMem(const JudgeInput& input);
Advice JudgeNetdevBacklog(const JudgeInput& input);
Advice JudgeMtuProbing(const JudgeInput& input);
Advice JudgeNeighbours(const JudgeInput& input);
Advice JudgeConntrack(const JudgeInput& input);
Advice JudgeGovernor(const JudgeInput& input);
Advice JudgeNofile(const JudgeInput& input);
Advice JudgeMemlock(const JudgeInput& input);

}  // namespace culprit::tune
