// What `culprit record` says at the end: one screen for a person, one JSON object for a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "capture/record_config.h"
#include "capture/segment.h"
#include "sampling/sample_packets.h"

namespace culprit::cli {

struct RecorderCost {
  DurationNs cpu_recording;  // until the stop
  DurationNs cpu_total;
  std::uint64_t peak_memory_bytes = 0;
};

struct RecordSummary {
  capture::SegmentFile file;
  capture::FillPolicy fill_policy = capture::FillPolicy::kDrain;
  TimeNs begin;
  std::string ended_by;  // "the time was over", "a buffer was full", ...
  std::vector<std::string> notes;
  RecorderCost cost;
  std::optional<int> command_status;
  std::optional<sampling::SampleSummary> samples;
};

// CPU time and memory of this process up to now.
DurationNs OwnCpuTime();
std::uint64_t PeakMemoryBytes();

std::string SummaryText(const RecordSummary& summary);
std::string SummaryJson(const RecordSummary& summary);

}  // namespace culprit::cli
