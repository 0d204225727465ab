// From the pages of a spool to the packets of a trace file: event bundles of each CPU in order of
// time, ftrace stats at start and end, the format texts, and the stacks of the kernel. Streams:
// memory does not grow with the spool. Knows nothing of how the spool was filled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "capture/spool.h"
#include "tracefile/writer.h"

namespace culprit::capture {

struct EncodeOptions {
  bool compact_sched = true;  // sched_switch and sched_waking as columns
  unsigned threads = 2;
  // The worker threads run as SCHED_BATCH, nice 19 and with the lowest I/O priority; the caller's
  // thread is left as it is.
  bool low_priority = true;
  std::string root = "/";  // where proc/kallsyms is found, for the names of stack frames
};

// A stretch in which a CPU's ring lost events.
struct LostGap {
  std::optional<TimeNs> begin;          // the last event before; none: nothing was seen before
  TimeNs end;                           // the first event after
  std::optional<std::uint64_t> events;  // none: the kernel did not say how many
};

struct CpuEncodeSummary {
  int cpu = 0;
  std::uint64_t events = 0;
  std::uint64_t lost_events = 0;  // sum of what the pages say
  std::vector<LostGap> gaps;      // in order of time
  std::uint64_t bad_pages = 0;    // pages (or rests of pages) that could not be decoded
  std::optional<TimeNs> first;
  std::optional<TimeNs> last;
};

struct EncodeSummary {
  std::map<std::string, std::uint64_t> events;  // "sched/sched_switch" -> count
  std::vector<CpuEncodeSummary> cpus;           // in order of their number
  std::optional<TimeNs> first;
  std::optional<TimeNs> last;
  std::uint64_t total_events = 0;
  std::uint64_t parse_errors = 0;
  std::vector<std::string> error_samples;  // the first few, as text
  std::uint64_t kernel_stacks = 0;
  // Why stack frames have no names; empty when they have, or when there was no stack.
  std::string symbols_missing;
};

// An Error only where nothing useful can come out (no header_page, a failing read of the spool);
// bad pages and unknown events are counted in the summary and skipped. When the writer fails half
// way (a full disk), its write_error() says so and the summary is of what was encoded until then.
Result<EncodeSummary> EncodeFtrace(const FtraceSpool& spool, tracefile::TraceWriter& writer,
                                   const EncodeOptions& options);

}  // namespace culprit::capture
