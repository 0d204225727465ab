// LoadTrace: a trace file (Perfetto's format, ftrace text, Chrome's JSON) into the tables of a
// database. Creates no tables and answers no queries: tables::CreateSchema comes before, query
// comes after.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace culprit::tables {
class Database;
}

namespace culprit::load {

// What to fill. The groups are independent: kRaw alone runs over the file again and gives the ids
// and utids that the pass for kCore gave.
enum TableGroup : unsigned {
  kCore = 1,  // everything but the following
  kRaw = 2,   // ftrace_event and args of every ftrace event: large, so only when a query asks
};

struct LoadProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t events_done = 0;
};

struct LoadOptions {
  unsigned threads = 0;  // 0: one for each CPU of this machine, at most 8
  unsigned groups = kCore;
  // Called now and then from the loading thread; returning false ends the load with an Error.
  std::function<bool(const LoadProgress&)> progress;
};

// One number of the trace that says how complete it is: the rows of the stats table.
struct LoadStat {
  std::string name;
  std::int64_t idx = -1;  // CPU or similar; -1: none
  std::int64_t value = 0;
  bool is_error = false;  // data is missing or wrong because of it: shown with every answer
};

struct LoadSummary {
  std::string format;  // "perfetto", "ftrace text", "Chrome JSON"
  std::uint64_t file_bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t events = 0;        // ftrace events decoded
  std::uint64_t sched_events = 0;  // of these, switches and wakings
  std::uint64_t lost_events = 0;   // by the kernel's own count
  bool truncated = false;          // the file ends within a packet
  TimeNs start;
  TimeNs end;
  std::vector<LoadStat> stats;  // those above zero
};

[[nodiscard]] Result<LoadSummary> LoadTrace(const std::string& path, tables::Database& database,
                                            const LoadOptions& options = {});

}  // namespace culprit::load
