#include "capture/system_info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "base/file.h"
#include "capture/trace_clock.h"
#include "kernel/proc_scan.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

std::int32_t TimezoneOffsetMinutes() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  return localtime_r(&now, &local) == nullptr ? 0 : static_cast<std::int32_t>(local.tm_gmtoff / 60);
}

}  // namespace

std::string SystemInfoPacket(TraceClock clock, const std::string& version,
                             const std::string& root) {
  std::string bytes;
  protozero::pbf_writer packet(bytes);
  WritePacketHead(packet, HeadAt(clock, NowNs(clock), fields::Sequence::kSession));
  {
    protozero::pbf_writer info(packet, fields::TracePacket::kSystemInfo);
    utsname name{};
    if (uname(&name) == 0) {
      protozero::pbf_writer names(info, fields::SystemInfo::kUtsname);
      names.add_string(fields::Utsname::kSysname, name.sysname);
      names.add_string(fields::Utsname::kVersion, name.version);
      names.add_string(fields::Utsname::kRelease, name.release);
      names.add_string(fields::Utsname::kMachine, name.machine);
    }
    info.add_int64(fields::SystemInfo::kHz, sysconf(_SC_CLK_TCK));
    info.add_string(fields::SystemInfo::kTracingServiceVersion, "culprit " + version);
    info.add_uint32(fields::SystemInfo::kPageSize,
                    static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)));
    info.add_int32(fields::SystemInfo::kTimezoneOffMins, TimezoneOffsetMinutes());
    info.add_uint32(fields::SystemInfo::kNumCpus,
                    static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_CONF)));
    std::vector<kernel::NamedValue> values;  // point into the text
    const auto text = ReadFile(JoinPath(root, "proc/meminfo"));
    if (text) kernel::ParseNamedValues(*text, values);
    if (const auto ram = kernel::FindValue(values, "MemTotal"); ram) {
      info.add_uint64(fields::SystemInfo::kSystemRamBytes, *ram);
    }
    info.add_string(fields::SystemInfo::kMachineName, name.nodename);
  }
  return bytes;
}

std::string TraceConfigPacket(const RecordConfig& config) {
  std::string bytes;
  protozero::pbf_writer packet(bytes);
  WritePacketHead(packet, HeadAt(config.clock, NowNs(config.clock), fields::Sequence::kSession));
  if (!config.trace_config.empty()) {
    packet.add_message(fields::TracePacket::kTraceConfig, config.trace_config);
    return bytes;
  }
  constexpr std::int32_t kRingBuffer = 1;  // BufferConfig.FillPolicy
  constexpr std::int32_t kDiscard = 2;
  constexpr std::uint32_t kFtraceEvents = 1;  // FtraceConfig.ftrace_events
  {
    protozero::pbf_writer message(packet, fields::TracePacket::kTraceConfig);
    {
      protozero::pbf_writer buffer(message, fields::TraceConfig::kBuffers);
      buffer.add_uint32(fields::TraceConfig::BufferConfig::kSizeKb,
                        static_cast<std::uint32_t>(config.ring_bytes / 1024));
      buffer.add_enum(fields::TraceConfig::BufferConfig::kFillPolicy,
                      config.fill_policy == FillPolicy::kDiscard ? kDiscard : kRingBuffer);
    }
    {
      protozero::pbf_writer source(message, fields::TraceConfig::kDataSources);
      protozero::pbf_writer inner(source, fields::TraceConfig::DataSource::kConfig);
      inner.add_string(fields::DataSourceConfig::kName, "linux.ftrace");
      protozero::pbf_writer ftrace(inner, fields::DataSourceConfig::kFtraceConfig);
      for (const EventRequest& event : config.events)
        ftrace.add_string(kFtraceEvents, event.pattern);
    }
    if (config.duration.value > 0) {
      message.add_uint32(fields::TraceConfig::kDurationMs,
                         static_cast<std::uint32_t>(config.duration.value / 1'000'000));
    }
  }
  return bytes;
}

}  // namespace culprit::capture
