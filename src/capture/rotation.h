// Rotation: turns finished segments into whole trace files of one directory, at low priority while
// the recording goes on, and keeps their number and size bounded. The directory may hold other
// files: only names of its own pattern are ever removed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "capture/record_config.h"
#include "capture/segment.h"

namespace culprit::capture {

struct RotationLimits {
  std::size_t keep = 0;         // files; 0: no limit
  std::uint64_t max_bytes = 0;  // of all files together; 0: no limit
};

// "culprit-20261201T042345.123Z.pftrace": UTC, so that names sort by time.
std::string RotatedName(std::int64_t unix_ns);
bool IsRotatedName(std::string_view name);

// Removes the oldest rotated files of `directory` until the limits hold with `reserve_bytes` more;
// returns the names that went. The newest file stays, whatever its size.
std::vector<std::string> PruneRotated(const std::string& directory, const RotationLimits& limits,
                                      std::uint64_t reserve_bytes);

class Rotation {
 public:
  // What became of one segment.
  using Report = std::function<void(const Result<SegmentFile>&)>;

  // `report` is called in the writing thread.
  Rotation(std::string directory, RotationLimits limits, RecordConfig config, Report report);
  // Writes what is queued, then ends.
  ~Rotation();

  // Queues a segment, to be named by the time at which it began.
  void Write(Segment segment, std::int64_t begin_unix_ns);
  // Waits until nothing is queued or being written.
  void Flush();
  std::size_t waiting() const;

 private:
  struct Job {
    Segment segment;
    std::string name;
  };
  void Run();
  void WriteOne(Job job);

  std::string directory_;
  RotationLimits limits_;
  RecordConfig config_;
  Report report_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace culprit::capture
