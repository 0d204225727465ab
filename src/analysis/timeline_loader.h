// Reads a Timeline out of the tables of a recording. Asks for whole columns in the order they are
// stored in and sorts nothing in SQL; interprets states, not waits.
#pragma once

#include "analysis/timeline.h"
#include "base/result.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::analysis {

// `connection` finds the tables of one recording by their names.
[[nodiscard]] Result<Timeline> LoadTimeline(tables::Connection& connection);

}  // namespace culprit::analysis
