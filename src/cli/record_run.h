// The recording itself, as the verb runs it: background, signals, the command, the main loop, the
// file or files, and what is said about them.
#pragma once

#include "cli/record_options.h"

namespace culprit::cli {

int RunRecording(const RecordOptions& options, RecordPlan plan);

}  // namespace culprit::cli
