// The sides of `culprit record` that record nothing: --list, --status, --stop, --cleanup. Each
// prints and returns the exit status.
#pragma once

#include "cli/record_options.h"

namespace culprit::cli {

int ListCategories(const RecordOptions& options);
int ShowRecordings(const RecordOptions& options);
int StopRecording(const RecordOptions& options);
int CleanUp(const RecordOptions& options);

}  // namespace culprit::cli
