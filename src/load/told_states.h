// The states of threads as a recording without root tells them: rows of thread_state and sched, and
// what says that they are of these threads alone. No state machine: the recorder had one.
#pragma once

#include <vector>

#include "load/importer.h"
#include "load/packet_importer.h"
#include "load/trace_index.h"

namespace culprit::load {

// After all events.
void ImportToldStates(const TraceIndex& index, Importer& importer,
                      std::vector<MetadataRow>& metadata);

}  // namespace culprit::load
