// SysStats: /proc and /sys counters of the machine in the trace format's own message. Files stay
// open and are read again with pread. Decides nothing about when to read: pollers.h does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "capture/record_config.h"
#include "kernel/proc_scan.h"

#include <protozero/pbf_writer.hpp>

namespace culprit::capture {

// A file of /proc or /sys that is read many times.
class PolledFile {
 public:
  PolledFile() = default;
  // One that is missing reads as nothing, for good.
  explicit PolledFile(const std::string& path);

  bool valid() const { return fd_.valid(); }
  // False, and closed for good, when the kernel refuses (PSI that is switched off).
  bool Read(std::string& text);

 private:
  UniqueFd fd_;
};

class SysStatsReader {
 public:
  // Opens what `periods` asks for.
  SysStatsReader(const PollPeriods& periods, PollCounters counters, const std::string& root = "/");

  // Appends the fields of one source each; nothing when it is missing here.
  void ReadStat(protozero::pbf_writer& stats);
  void ReadMeminfo(protozero::pbf_writer& stats);
  // Counters that changed since the last reading; all of them at the first and every
  // kFullEvery-th.
  void ReadVmstat(protozero::pbf_writer& stats);
  void ReadPressure(protozero::pbf_writer& stats);
  void ReadDisks(protozero::pbf_writer& stats);
  void ReadCpuFrequencies(protozero::pbf_writer& stats);

  // The next reading of everything is a full one: a new file begins.
  void Restart();

  // A counter holds until its next value, so one that stands still need not be written; but a ring
  // of packets forgets its beginning.
  static constexpr unsigned kFullEvery = 100;

 private:
  PollCounters counters_;
  PolledFile stat_, meminfo_, vmstat_, disks_;
  PolledFile pressure_[3];               // cpu, io, memory
  std::vector<PolledFile> frequencies_;  // index: CPU
  std::string text_;
  std::vector<kernel::NamedValue> values_;
  unsigned vmstat_polls_ = 0;
  unsigned interrupt_polls_ = 0;
  std::vector<std::uint64_t> last_vmstat_;      // index: key
  std::vector<std::uint64_t> last_interrupts_;  // index: number
};

}  // namespace culprit::capture
