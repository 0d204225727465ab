// Explain: the tables of a recording in, an Explanation out: chooses the victims, walks their time,
// and names what is above the thresholds. Prints nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/explanation.h"
#include "base/result.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::analysis {

struct ExplainOptions {
  std::string thread_glob;  // comm; at most one of these five is set
  std::string process_glob;
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> tid;
  std::string slice_glob;  // threads with a slice of that name, in the time of these slices
  Interval window;         // length 0: the whole recording
  std::size_t top = 8;     // victims shown in full, chains, findings of level info
};

[[nodiscard]] Result<Explanation> Explain(tables::Connection& connection,
                                          const ExplainOptions& options);

}  // namespace culprit::analysis
