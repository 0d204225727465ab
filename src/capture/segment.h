// A segment: what becomes one trace file. Written to it after the kernel's part is over; a
// recording has one segment, a rotating one has one a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "capture/encode.h"
#include "capture/packet_spool.h"
#include "capture/record_config.h"
#include "capture/spool.h"

namespace culprit::capture {

struct Segment {
  FtraceSpool ftrace;  // without CPUs when no kernel events were asked for
  std::unique_ptr<PacketSpool> packets;
  TimeNs begin;
  TimeNs end;
};

// Events that one CPU's ring lost, by cause.
struct CpuLoss {
  int cpu = 0;
  std::uint64_t overwritten = 0;  // by newer ones
  std::uint64_t refused = 0;      // by a full ring
  std::uint64_t nested = 0;       // interrupts inside an event being written
  std::uint64_t total() const { return overwritten + refused + nested; }
};
// CPUs that lost something.
std::vector<CpuLoss> LossOf(const FtraceSpool& spool);

struct SegmentFile {
  std::string path;
  std::uint64_t bytes = 0;
  DurationNs duration;
  EncodeSummary events;
  std::vector<CpuLoss> lost;
  std::uint64_t dropped_packets = 0;  // polls for which the disk had no room
  // Why the file holds less than what was recorded (a full disk); it is valid all the same.
  std::optional<Error> cut;
  // What a file of the default name that stood there before is called now.
  std::string moved_old_to;
};

struct WriteOptions {
  bool keep_old = false;  // an existing file at the path becomes PATH.old
  unsigned threads = 2;
  bool low_priority = true;
};

// Encodes the segment into a trace file at `path` (which appears whole or not at all).
Result<SegmentFile> WriteSegment(Segment segment, const RecordConfig& config,
                                 const std::string& path, const WriteOptions& options);

}  // namespace culprit::capture
