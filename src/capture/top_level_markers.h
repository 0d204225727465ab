// trace_marker texts on kernels that deliver them to the top-level buffer alone (all that lack the
// option copy_trace_marker): borrows that buffer, if nobody else traces in it, and gives it back as
// it was. Reads no ring: drain.h does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "kernel/tracefs.h"

namespace culprit::capture {

// The option of an instance (Linux 6.17) by which it gets the texts too.
inline constexpr std::string_view kCopyTraceMarker = "copy_trace_marker";

// A control file and what to write to it.
struct ControlWrite {
  std::string path;
  std::string text;
};

class TopLevelMarkers {
 public:
  // Looks and changes nothing. An Error says what stands against it: a tracer or an event that is
  // on, a stopped trace that somebody may still want to read, other events in the buffer, another
  // recorder that borrows it, sub-buffers of another size than `page_bytes`.
  static Result<TopLevelMarkers> Inspect(const kernel::TraceDirectory& top,
                                         std::uint32_t page_bytes);

  TopLevelMarkers(TopLevelMarkers&& other) noexcept;
  TopLevelMarkers& operator=(TopLevelMarkers&&) = delete;
  ~TopLevelMarkers() { End(); }

  // Sets the clock, which empties the buffer, and makes it `ring_bytes` a CPU if it was smaller.
  [[nodiscard]] Status Begin(std::string_view clock, std::uint64_t ring_bytes);
  // Nobody has begun to trace there since; once false, what is in the buffer is not ours to take.
  bool IsAlone() const;
  // Gives it back; nothing when somebody else traces there now.
  void End();

  const kernel::TraceDirectory& directory() const { return top_; }
  // What End writes: for the guardian, should this process be gone.
  const std::vector<ControlWrite>& restores() const { return restores_; }

 private:
  explicit TopLevelMarkers(kernel::TraceDirectory top) : top_(std::move(top)) {}

  kernel::TraceDirectory top_;
  UniqueFd lock_;  // flock on the directory: one recorder at a time
  std::vector<ControlWrite> restores_;
  std::uint64_t ring_kb_ = 0;  // as it was
  bool is_borrowed_ = false;
};

}  // namespace culprit::capture
