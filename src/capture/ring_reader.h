// Moves the pages of one CPU's ring from the kernel to a spool file, by splice and without looking
// at them. Does not wait: when to read is the business of drain.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "kernel/tracefs.h"

namespace culprit::capture {

// Where the pages of one CPU go: a nameless file and how much of it is whole pages.
struct SpoolFile {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};

class RingReader {
 public:
  static Result<RingReader> Open(const kernel::TraceDirectory& instance, int cpu,
                                 std::uint32_t page_bytes);

  int cpu() const { return cpu_; }
  // trace_pipe_raw, for poll.
  int fd() const { return raw_.get(); }

  enum class Outcome { kEmpty, kSpoolFull };

  // Moves every page that the kernel has filled. kSpoolFull: the disk takes no more; what was moved
  // before is whole.
  Result<Outcome> MoveFullPages(SpoolFile& spool);
  // Then the page that is being filled, as far as it is written: one read, so that it ends on a
  // live ring too.
  Result<Outcome> MoveOpenPage(SpoolFile& spool);
  // All that is in a ring that no longer records.
  Result<Outcome> MoveAll(SpoolFile& spool);

 private:
  RingReader() = default;
  Result<Outcome> PipeToSpool(SpoolFile& spool, std::size_t bytes);

  int cpu_ = 0;
  std::uint32_t page_bytes_ = 4096;
  UniqueFd raw_;
  UniqueFd pipe_read_;
  UniqueFd pipe_write_;
  std::size_t pipe_bytes_ = 0;
  bool copies_ = false;  // this file system takes no splice: copy through page_
  std::vector<char> page_;
};

}  // namespace culprit::capture
