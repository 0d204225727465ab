#include "capture/segment.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "capture/ring_stats.h"
#include "tracefile/writer.h"

namespace culprit::capture {
namespace {

bool IsRegularFile(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Everything into the writer; an Error of the writer itself is left for the caller to see there.
Result<EncodeSummary> FillFile(Segment& segment, const RecordConfig& config,
                               tracefile::TraceWriter& writer, const WriteOptions& options) {
  const auto stop_unless_full = [&writer](const Error& error) -> Result<EncodeSummary> {
    if (writer.write_error()) return EncodeSummary{};
    return error;
  };
  // Names and clocks first: what a full disk cuts off are the latest events.
  if (const Status status = segment.packets->CopyTo(writer); !status) {
    return stop_unless_full(status.error());
  }
  if (segment.ftrace.cpus.empty()) return EncodeSummary{};
  EncodeOptions encode;
  encode.compact_sched = config.compact_sched;
  encode.threads = options.threads;
  encode.low_priority = options.low_priority;
  auto summary = EncodeFtrace(segment.ftrace, writer, encode);
  if (!summary) return stop_unless_full(summary.error());
  return summary;
}

}  // namespace

std::vector<CpuLoss> LossOf(const FtraceSpool& spool) {
  std::vector<CpuLoss> losses;
  for (const CpuSpool& cpu : spool.cpus) {
    CpuLoss loss{cpu.cpu, cpu.at_end.overrun - cpu.at_start.overrun,
                 cpu.at_end.dropped_events - cpu.at_start.dropped_events,
                 cpu.at_end.commit_overrun - cpu.at_start.commit_overrun};
    if (loss.total() > 0) losses.push_back(loss);
  }
  return losses;
}

Result<SegmentFile> WriteSegment(Segment segment, const RecordConfig& config,
                                 const std::string& path, const WriteOptions& options) {
  tracefile::TraceWriter::Options writer_options;
  CULPRIT_ASSIGN(tracefile::TraceWriter writer,
                 tracefile::TraceWriter::Create(path, writer_options));
  SegmentFile file;
  file.path = path;
  file.duration = segment.end - segment.begin;
  file.lost = LossOf(segment.ftrace);
  file.dropped_packets = segment.packets->dropped_packets();
  CULPRIT_ASSIGN(file.events, FillFile(segment, config, writer, options));
  if (options.keep_old && IsRegularFile(path)) {
    const std::string old = path + ".old";
    if (std::rename(path.c_str(), old.c_str()) == 0) file.moved_old_to = old;
  }
  CULPRIT_ASSIGN(file.bytes, writer.Commit());
  file.cut = writer.write_error();
  return file;
}

}  // namespace culprit::capture
