// BundleDecoder: bundles decoded ahead by threads of its own, in the order of their first events,
// while the merging thread is busy with earlier ones. Decoding depends on the bundle alone, so the
// events are the same on any number of threads; memory is that of kAhead bundles.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "load/event.h"
#include "load/trace_index.h"

namespace culprit::load {

class BundleDecoder {
 public:
  // Without threads everything is decoded in Take.
  BundleDecoder(const TraceIndex& index, unsigned threads);
  ~BundleDecoder();
  BundleDecoder(const BundleDecoder&) = delete;
  BundleDecoder& operator=(const BundleDecoder&) = delete;

  // The events of bundle `bundle` of index.cpus[cpu]; each bundle once, from one thread.
  void Take(std::size_t cpu, std::size_t bundle, DecodedBundle& out);

 private:
  static constexpr std::size_t kAhead = 64;
  enum class Phase : std::uint8_t { kWaiting, kUnderWay, kDone };
  struct Job {
    const BundleRef* bundle;
    Phase phase = Phase::kWaiting;
    std::unique_ptr<DecodedBundle> decoded;  // kDone
  };
  void Work();

  const ClockMap& clocks_;
  std::vector<Job> jobs_;                          // in order of first_ts
  std::vector<std::vector<std::size_t>> jobs_of_;  // by CPU and bundle, into jobs_
  std::mutex mutex_;
  std::condition_variable work_;  // there is room to decode ahead
  std::condition_variable done_;  // a job is done
  std::size_t next_ = 0;          // the first job that no thread has looked at
  std::size_t taken_ = 0;
  bool is_over_ = false;
  std::vector<std::unique_ptr<DecodedBundle>> spare_;  // keep their memory
  std::vector<std::thread> threads_;
};

}  // namespace culprit::load
