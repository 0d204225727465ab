#include "capture/encode.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "capture/encode_pipeline.h"
#include "capture/encode_plan.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace tf = tracefile;
using protozero::pbf_writer;

constexpr std::size_t kFormatsPerPacket = 64;

std::uint64_t Nanoseconds(std::optional<TimeNs> time) {
  return time ? static_cast<std::uint64_t>(time->value) : 0;
}

void WriteCpuStats(pbf_writer& stats, int cpu, const RingStats& ring) {
  namespace Field = tf::FtraceCpuStats;
  pbf_writer message(stats, tf::FtraceStats::kCpuStats);
  message.add_uint64(Field::kCpu, static_cast<std::uint64_t>(cpu));
  message.add_uint64(Field::kEntries, ring.entries);
  message.add_uint64(Field::kOverrun, ring.overrun);
  message.add_uint64(Field::kCommitOverrun, ring.commit_overrun);
  message.add_uint64(Field::kBytesRead, ring.bytes);
  message.add_double(Field::kOldestEventTs, ring.oldest_event_ts_s);
  message.add_double(Field::kNowTs, ring.now_ts_s);
  message.add_uint64(Field::kDroppedEvents, ring.dropped_events);
  message.add_uint64(Field::kReadEvents, ring.read_events);
}

// Counters of the rings as they were when the recording began.
Status WriteStartStats(const FtraceSpool& spool, std::uint64_t time_ns, tf::TraceWriter& writer) {
  std::string data;
  pbf_writer packet(data);
  tf::WritePacketHead(packet, {.timestamp_ns = time_ns});
  {
    pbf_writer stats(packet, tf::TracePacket::kFtraceStats);
    stats.add_enum(tf::FtraceStats::kPhase, tf::FtraceStats::Phase::kStartOfTrace);
    for (const CpuSpool& cpu : spool.cpus) WriteCpuStats(stats, cpu.cpu, cpu.at_start);
    for (const auto& name : spool.unknown_events) {
      stats.add_string(tf::FtraceStats::kUnknownFtraceEvents, name);
    }
    for (const auto& name : spool.failed_events) {
      stats.add_string(tf::FtraceStats::kFailedFtraceEvents, name);
    }
  }
  return writer.Append(data);
}

// The counters at the end, and what could not be decoded.
Status WriteEndStats(const FtraceSpool& spool, std::uint64_t time_ns,
                     const std::vector<std::uint32_t>& statuses, std::size_t symbols,
                     tf::TraceWriter& writer) {
  std::string data;
  pbf_writer packet(data);
  tf::WritePacketHead(packet, {.timestamp_ns = time_ns});
  {
    pbf_writer stats(packet, tf::TracePacket::kFtraceStats);
    stats.add_enum(tf::FtraceStats::kPhase, tf::FtraceStats::Phase::kEndOfTrace);
    for (const CpuSpool& cpu : spool.cpus) WriteCpuStats(stats, cpu.cpu, cpu.at_end);
    if (symbols != 0) {
      stats.add_uint32(tf::FtraceStats::kKernelSymbolsParsed, static_cast<std::uint32_t>(symbols));
    }
    for (const std::uint32_t status : statuses) {
      stats.add_enum(tf::FtraceStats::kFtraceParseErrors, static_cast<std::int32_t>(status));
    }
  }
  return writer.Append(data);
}

// The format texts, so that the loader decodes states and fields as this kernel defines them.
Status WriteFormats(const FtraceSpool& spool, tf::TraceWriter& writer) {
  for (std::size_t begin = 0; begin < spool.formats.size(); begin += kFormatsPerPacket) {
    const std::size_t end = std::min(begin + kFormatsPerPacket, spool.formats.size());
    std::string data;
    pbf_writer packet(data);
    tf::WritePacketHead(packet, {});
    {
      pbf_writer ours(packet, tf::TracePacket::kCulpritData);
      for (std::size_t i = begin; i < end; ++i) {
        pbf_writer format(ours, tf::CulpritData::kEventFormats);
        format.add_string(tf::CulpritData::EventFormat::kGroup, spool.formats[i].group);
        format.add_string(tf::CulpritData::EventFormat::kName, spool.formats[i].name);
        format.add_string(tf::CulpritData::EventFormat::kFormat, spool.formats[i].format);
      }
    }
    CULPRIT_TRY(writer.Append(data));
  }
  return {};
}

Status WriteGaps(const EncodeSummary& summary, tf::TraceWriter& writer) {
  namespace Field = tf::CulpritData::LostGap;
  std::string data;
  pbf_writer packet(data);
  tf::WritePacketHead(packet, {.timestamp_ns = Nanoseconds(summary.last)});
  bool has_gap = false;
  {
    pbf_writer ours(packet, tf::TracePacket::kCulpritData);
    for (const CpuEncodeSummary& cpu : summary.cpus) {
      for (const LostGap& gap : cpu.gaps) {
        has_gap = true;
        pbf_writer lost(ours, tf::CulpritData::kLostGaps);
        lost.add_uint32(Field::kCpu, static_cast<std::uint32_t>(cpu.cpu));
        if (gap.begin) lost.add_uint64(Field::kBeginNs, Nanoseconds(gap.begin));
        lost.add_uint64(Field::kEndNs, Nanoseconds(gap.end));
        if (gap.events) lost.add_uint64(Field::kEvents, *gap.events);
      }
    }
  }
  return has_gap ? writer.Append(data) : Status();
}

}  // namespace

Result<EncodeSummary> EncodeFtrace(const FtraceSpool& spool, tf::TraceWriter& writer,
                                   const EncodeOptions& options) {
  CULPRIT_ASSIGN(const EncodePlan plan, EncodePlan::Make(spool, options.compact_sched));
  if (spool.page_bytes < plan.page().data_offset) {
    return Error{"encode: a ring page of " + std::to_string(spool.page_bytes) + " bytes", {}};
  }
  LazySymbols symbols(options.root);
  Pipeline pipeline(spool, plan, symbols, writer);
  CULPRIT_TRY(pipeline.Prepare());
  CULPRIT_TRY(WriteFormats(spool, writer));
  CULPRIT_TRY(WriteStartStats(spool, pipeline.first_page_ns().value_or(0), writer));
  const Status ran = pipeline.Run(options.threads, options.low_priority);
  // A full disk is for the writer to tell; what was encoded until then is still to be summed up.
  if (!ran.ok() && !writer.write_error()) return ran.error();
  EncodeSummary summary;
  pipeline.Summarise(summary);
  for (const std::string& refused : plan.refused()) {
    ++summary.parse_errors;
    summary.error_samples.push_back(refused);
  }
  summary.symbols_missing = symbols.missing();
  if (!ran.ok()) return summary;
  CULPRIT_TRY(
      WriteEndStats(spool, Nanoseconds(summary.last), pipeline.statuses(), symbols.size(), writer));
  CULPRIT_TRY(WriteGaps(summary, writer));
  return summary;
}

}  // namespace culprit::capture
