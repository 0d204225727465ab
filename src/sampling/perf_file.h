// The records of what ran before sampling began (mappings and names of processes, where the kernel
// is), and the head of a perf.data file: the form in which samples are kept until the stop.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace culprit::sampling {

struct FileEvent {
  perf_event_attr attributes{};
  std::vector<std::uint64_t> ids;
};

// The head; samples follow it. `data_bytes` 0: not finished. Its size depends on events and ids
// alone.
std::string PerfFileHead(std::span<const FileEvent> events, std::uint64_t data_bytes);

// MMAP of the kernel, COMM and MMAP2 of these processes (none: all), with build ids, as records
// without a time. `sample_type` is that of the file's first event.
std::string KnownProcesses(std::span<const std::int32_t> pids);

// A FINISHED_ROUND: all rings were read.
std::string RoundRecord();

}  // namespace culprit::sampling
