// Reads a Timeline out of the tables of a recording. Asks for whole columns in the order they are
// stored in and sorts nothing in SQL; interprets states, not waits.
#pragma once

#include <string>
#include <vector>

#include "analysis/timeline.h"
#include "base/result.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::analysis {

// `connection` finds the tables of one recording by their names.
[[nodiscard]] Result<Timeline> LoadTimeline(tables::Connection& connection);

// The times within `window` in which a thread had a slice whose name fits `glob`, joined where they
// overlap, and those threads. An Error when there is none.
[[nodiscard]] Status LoadSlices(tables::Connection& connection, const std::string& glob,
                                Interval window, std::vector<Interval>& times,
                                std::vector<Utid>& threads);

}  // namespace culprit::analysis
