// The kernel's side of a recording: an instance with its rings, clock, events, trigger and filters
// set up as a RecordConfig says, started and stopped. Reads no event: ring_reader.h does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/instance.h"
#include "capture/record_config.h"
#include "capture/ring_stats.h"
#include "capture/spool.h"
#include "capture/top_level_markers.h"
#include "kernel/tracefs.h"

namespace culprit::capture {

// The name that trace_clock has for it.
std::string_view TraceClockName(TraceClock clock);

// The condition under which sched_switch records a kernel stack: the thread that leaves sleeps
// uninterruptibly. 2 is D on every kernel; 130 is D with TASK_WAKEKILL, which kernels before 4.14
// report as it is. An idle kernel thread (I) and a preempted one have other values everywhere.
inline constexpr std::string_view kDStateTrigger =
    "stacktrace if prev_state == 2 || prev_state == 130";

// Whether a `stacktrace` trigger of an instance writes into that instance. Before Linux 5.17 (and
// its stable releases) it wrote into the top-level buffer, which others may be using. Tries it
// where the release leaves it open, with one stack of this thread; the instance, which must not be
// tracing, is left as it was.
[[nodiscard]] Result<bool> StackTriggerStaysInside(const kernel::TraceDirectory& instance);

class KernelSession {
 public:
  // Sets a fresh instance up, tracing off. What this kernel lacks or refuses and the recording can
  // do without goes to notes().
  // `markers`: where the texts of trace_marker come from if not from the instance.
  static Result<KernelSession> Open(Instance instance, const RecordConfig& config,
                                    std::optional<TopLevelMarkers> markers = std::nullopt);

  [[nodiscard]] Status Start() { return directory().SetTracingOn(true); }
  [[nodiscard]] Status Stop() { return directory().SetTracingOn(false); }
  // Removes the instance.
  [[nodiscard]] Status Remove();

  const kernel::TraceDirectory& directory() const { return instance_.directory(); }
  const std::optional<TopLevelMarkers>& top_level_markers() const { return markers_; }
  const std::string& name() const { return instance_.name(); }
  const std::vector<int>& cpus() const { return cpus_; }
  std::uint64_t ring_bytes_per_cpu() const { return ring_bytes_per_cpu_; }
  // Of the CPUs that are online at the start.
  std::uint64_t ring_bytes() const { return ring_bytes_; }
  std::uint32_t page_bytes() const { return description_.page_bytes; }
  const std::vector<std::string>& events() const { return events_; }
  // One line each, for the user.
  const std::vector<std::string>& notes() const { return notes_; }

  // Zeros for a CPU that never was online.
  RingStats Stats(int cpu) const;
  // Of the top-level buffer.
  RingStats MarkerStats(int cpu) const;

  // A spool with everything that describes the events, and no pages.
  FtraceSpool Description() const;

 private:
  KernelSession(Instance instance, std::optional<TopLevelMarkers> markers)
      : instance_(std::move(instance)), markers_(std::move(markers)) {}

  [[nodiscard]] Status SetUpRings(const RecordConfig& config);
  void ChooseEvents(const RecordConfig& config, const std::vector<std::string>& available);
  void EnableEvents(const std::vector<std::string>& available);
  void SetUpStacks();
  void SetUpMarkers();
  [[nodiscard]] Status FilterPids(const std::vector<std::int32_t>& pids);
  void ReadDescription();

  Instance instance_;
  std::optional<TopLevelMarkers> markers_;
  std::vector<int> cpus_;
  std::uint64_t ring_bytes_per_cpu_ = 0;
  std::uint64_t ring_bytes_ = 0;
  std::vector<std::string> events_;
  std::vector<std::string> notes_;
  FtraceSpool description_;  // without CPUs
};

}  // namespace culprit::capture
