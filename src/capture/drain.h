// The drain: keeps the kernel's rings from running over by moving their pages to nameless spool
// files, in a thread that sleeps until rings are part full; or, without that thread, moves them all
// at the end. Cuts the recording into segments without losing an event. Parses nothing.
//
//   ring of each CPU ──splice──> SpoolFile of each CPU ──NextSegment/Finish──> FtraceSpool
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"
#include "capture/kernel_session.h"
#include "capture/ring_reader.h"
#include "capture/spool.h"

namespace culprit::capture {

class Drain {
 public:
  struct Options {
    std::string spool_directory;  // where the trace file goes: same disk, same room
    DurationNs period;            // also look this often; 0: only when part full
    std::uint64_t max_bytes = 0;  // of spooled pages; 0: no limit
  };

  static Result<std::unique_ptr<Drain>> Open(KernelSession& kernel, Options options);
  ~Drain();

  // Starts the thread that reads while the recording goes on.
  [[nodiscard]] Status StartReader();

  // All events up to now; later ones go to the next segment.
  Result<FtraceSpool> NextSegment();
  // After a NextSegment has made room again: forgets why the spool was full and goes on reading.
  [[nodiscard]] Status Resume();
  // After the kernel has stopped: ends the thread and gives the rest.
  Result<FtraceSpool> Finish();

  // What became of markers of the top-level buffer, where not all was well.
  std::string MarkersNote() const;

  // Readable once the spool takes no more (full disk, max_bytes, a failing read): stop then.
  int full_fd() const { return full_.get(); }
  // Why; empty while all is well.
  std::string FullReason() const;
  std::uint64_t spooled_bytes() const { return total_bytes_.load(std::memory_order_relaxed); }

 private:
  Drain(KernelSession& kernel, Options options) : kernel_(kernel), options_(std::move(options)) {}

  void ReadUntilStopped();
  // Moves what is there; true when a ring was at least half full, that is, time presses.
  bool MoveRound();
  [[nodiscard]] Status OpenSegment();
  FtraceSpool CloseSegment();
  void SetFull(std::string reason);
  [[nodiscard]] Status OpenReaders(const kernel::TraceDirectory& directory,
                                   const std::vector<int>& cpus);
  // Of `readers_`: the rings of the recording come first, then those of the top-level buffer.
  bool IsMarkers(std::size_t reader) const { return reader >= kernel_.cpus().size(); }
  RingStats StatsOf(std::size_t reader) const;
  // False for markers once somebody else traces in the top-level buffer: that is not ours to read.
  bool MayRead(std::size_t reader);
  // What is in a ring that goes on recording, up to now.
  Result<RingReader::Outcome> MoveLive(std::size_t reader);
  bool RoomLeft();
  void CountBytes();

  KernelSession& kernel_;
  Options options_;
  bool markers_ended_ = false;
  std::uint64_t lost_markers_ = 0;  // of closed segments
  bool in_memory_ = false;  // no room on the disk: the spool is memory, bounded by the rings' size

  mutable std::mutex mutex_;  // readers_, spools_, started_, reason_
  std::vector<RingReader> readers_;
  std::vector<SpoolFile> spools_;    // beside readers_
  std::vector<RingStats> at_start_;  // beside readers_
  std::string reason_;
  std::atomic<std::uint64_t> total_bytes_ = 0;  // of all segments
  std::uint64_t closed_bytes_ = 0;              // of those before this one

  UniqueFd stop_;  // eventfds
  UniqueFd full_;
  std::thread thread_;
};

}  // namespace culprit::capture
