// The packets that are no ftrace bundles: process trees and stats, system counters, events
// of programs (track_event_importer.h), samples (perf_sample_importer.h), and what is said once
// about the whole trace. Decodes and passes on to the Importer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "load/importer.h"
#include "load/perf_sample_importer.h"
#include "load/trace_index.h"
#include "load/track_event_importer.h"

namespace culprit::load {

struct MetadataRow {
  std::string name;
  std::variant<std::int64_t, std::string> value;
  bool is_of_machine = false;  // else of the trace
};

struct CpuRow {
  std::uint32_t cpu = 0;
  std::string processor;
  std::int64_t capacity = -1;  // not known
};

class PacketImporter {
 public:
  PacketImporter(const TraceIndex& index, Importer& importer)
      : index_(index),
        importer_(importer),
        track_events_(index, importer),
        perf_samples_(index, importer) {}

  // Before the first event: what is said of the whole trace.
  void Untimed();
  void Timed(const PacketRef& packet);

  const PerfSampleImporter& perf_samples() const { return perf_samples_; }
  std::vector<MetadataRow>& metadata() { return metadata_; }
  const std::vector<MetadataRow>& metadata() const { return metadata_; }
  const std::vector<CpuRow>& cpus() const { return cpus_; }

 private:
  struct DiskState {
    bool is_known = false;
    std::int64_t values[8] = {};
  };

  void SystemInfo(std::string_view body);
  void FtraceStats(std::string_view body);
  void FtraceCpuStats(std::string_view body, bool is_end);
  void TraceStats(std::string_view body);
  void CpuInfo(std::string_view body);
  void ProcessTree(std::int64_t ts, std::string_view body);
  void ProcessStats(std::int64_t ts, std::string_view body);
  void SysStats(std::int64_t ts, std::string_view body);
  void CpuTimes(std::int64_t ts, std::string_view body);
  void DiskStat(std::int64_t ts, std::string_view body);
  void Global(std::int64_t ts, std::string_view type, std::string_view name, double value,
              std::string_view unit = {});

  const TraceIndex& index_;
  Importer& importer_;
  TrackEventImporter track_events_;
  PerfSampleImporter perf_samples_;
  std::vector<MetadataRow> metadata_;
  std::vector<CpuRow> cpus_;
  std::unordered_map<StringId, DiskState> disks_;
  std::uint64_t page_bytes_ = 4096;
};

}  // namespace culprit::load
