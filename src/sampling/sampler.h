// Sampler: samples with stacks from perf events of every CPU or of chosen processes, kept as a
// nameless perf.data file until they become packets (sample_packets.h). Nothing is parsed while it
// records.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "sampling/perf_event.h"
#include "sampling/perf_file.h"
#include "sampling/sampled_event.h"

namespace culprit::sampling {

// A finished recording of samples.
struct SampleSpool {
  UniqueFd file;  // perf.data
  std::vector<SampledEvent> events;
  SampleConfig config;
  std::string problem;  // why it ends early; empty: it does not
};

class Sampler {
 public:
  // Sampling has begun when this returns. Events that the machine lacks have their stand-in
  // (cycles: cpu-clock), which notes() tell.
  static Result<std::unique_ptr<Sampler>> Start(SampleConfig config, const std::string& directory);
  ~Sampler();

  const std::vector<std::string>& notes() const { return notes_; }
  Result<SampleSpool> Stop();

 private:
  explicit Sampler(SampleConfig config) : config_(std::move(config)) {}
  Status OpenAll();
  Status OpenOn(std::size_t event, std::int32_t tid, int cpu, std::size_t ring);
  perf_event_attr Attributes(const SampledEvent* event) const;
  Status WriteHead(std::uint64_t data_bytes);
  void Run();
  void Drain();
  void EndThread();

  SampleConfig config_;
  bool user_only_ = false;  // no rights to look into the kernel
  std::vector<std::string> notes_;
  std::vector<int> cpus_;
  std::vector<FileEvent> file_events_;  // [0] is the dummy that tells of mappings and names
  std::vector<UniqueFd> fds_;
  std::vector<std::unique_ptr<PerfRing>> rings_;  // of each of cpus_; empty: offline
  UniqueFd file_;
  std::uint64_t head_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::string problem_;
  UniqueFd stop_;  // eventfd
  std::thread thread_;
};

}  // namespace culprit::sampling
