// A recording session: everything between "start" and a Segment. Owns the kernel's side, the
// guardian, the drain, the pollers and the packet spool, and brings them up and down in the one
// order that loses nothing and leaves nothing. Knows no terminal and no signal; main loops are in
// the verb.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "capture/drain.h"
#include "capture/guardian.h"
#include "capture/kernel_session.h"
#include "capture/own_threads/own_threads.h"
#include "capture/packet_spool.h"
#include "capture/pollers.h"
#include "capture/process_notes.h"
#include "capture/record_config.h"
#include "capture/segment.h"

namespace culprit::capture {

// How a recording stands, cheap enough for every half second.
struct LiveState {
  DurationNs elapsed;
  double fill_pct = 0;  // of the fullest ring
  std::uint64_t lost_events = 0;
  std::uint64_t spooled_bytes = 0;
  std::uint64_t events = 0;
};

class Session {
 public:
  struct Options {
    std::string spool_directory;  // of the trace file
    std::string version;          // of culprit
  };

  // The recording has begun when this returns. Removes what dead recorders left first.
  static Result<std::unique_ptr<Session>> Start(RecordConfig config, Options options);
  // Without Finish: everything is thrown away, nothing is left in the kernel.
  ~Session();

  const RecordConfig& config() const { return config_; }
  // What the kernel lacks, what was cleaned up: one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  // Empty when no kernel events were asked for.
  std::string instance_name() const { return kernel_ ? kernel_->name() : ""; }
  std::uint64_t ring_bytes() const { return kernel_ ? kernel_->ring_bytes() : 0; }
  TimeNs begin() const { return begin_; }

  LiveState State() const;
  // With stop_when_full: a ring refuses events.
  bool RingIsFull() const;

  // For poll: readable when the spool takes no more (drain.h), -1 when there is no drain.
  int full_fd() const { return drain_ ? drain_->full_fd() : -1; }
  std::string FullReason() const { return drain_ ? drain_->FullReason() : ""; }
  // After NextSegment has made room: goes on reading.
  [[nodiscard]] Status ResumeDrain();
  // For poll: readable when the guardian is gone; then RenewGuardian. -1 when there is none.
  int guardian_fd() const { return guardian_ ? guardian_->death_fd() : -1; }
  [[nodiscard]] Status RenewGuardian();
  // A process that the recording is about: a command that it was made for.
  [[nodiscard]] Status NoteTarget(std::int32_t pid);

  // What was recorded up to now; the recording goes on without losing an event.
  Result<Segment> NextSegment();
  // Ends the recording and leaves the kernel as it was.
  Result<Segment> Finish();

 private:
  Session(RecordConfig config, Options options)
      : config_(std::move(config)), options_(std::move(options)) {}

  [[nodiscard]] Status SetUpKernel();
  [[nodiscard]] Status OpenPackets();
  void WriteHead(PacketSpool& packets) const;
  std::uint64_t LostEvents() const;

  std::vector<ProcessNote> targets_;
  RecordConfig config_;
  Options options_;
  std::vector<std::string> notes_;
  // In the order of construction: the guardian outlives the instance that it guards.
  std::optional<Guardian> guardian_;
  std::optional<KernelSession> kernel_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<PacketSpool> packets_;
  std::unique_ptr<Pollers> pollers_;
  std::unique_ptr<OwnThreads> own_threads_;
  TimeNs begin_;
  TimeNs segment_begin_;
};

}  // namespace culprit::capture
