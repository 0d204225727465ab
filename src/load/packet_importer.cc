#include "load/packet_importer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_set>

#include "load/config_text.h"
#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tracefile::ProtoReader;

std::int64_t SecondsToNs(double seconds) {
  const double ns = seconds * 1e9;
  // Rings that were never written give nonsense.
  if (!(ns < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return ns < 0 ? 0 : static_cast<std::int64_t>(ns);
}

struct NamedField {
  std::uint32_t field;
  std::string_view name;
};

// Process memory in kB, shown in bytes as "mem.NAME" (as in Perfetto).
constexpr NamedField kProcessMemory[] = {
    {tracefile::ProcessStats::Process::kVmSizeKb, "virt"},
    {tracefile::ProcessStats::Process::kVmRssKb, "rss"},
    {tracefile::ProcessStats::Process::kRssAnonKb, "rss.anon"},
    {tracefile::ProcessStats::Process::kRssFileKb, "rss.file"},
    {tracefile::ProcessStats::Process::kRssShmemKb, "rss.shmem"},
    {tracefile::ProcessStats::Process::kVmSwapKb, "swap"},
    {tracefile::ProcessStats::Process::kVmLockedKb, "locked"},
    {tracefile::ProcessStats::Process::kVmHwmKb, "rss.watermark"},
    {tracefile::ProcessStats::Process::kDmabufRssKb, "dmabuf_rss"},
};
constexpr NamedField kProcessSmaps[] = {
    {tracefile::ProcessStats::Process::kSmrRssKb, "rss"},
    {tracefile::ProcessStats::Process::kSmrPssKb, "pss"},
    {tracefile::ProcessStats::Process::kSmrPssAnonKb, "pss.anon"},
    {tracefile::ProcessStats::Process::kSmrPssFileKb, "pss.file"},
    {tracefile::ProcessStats::Process::kSmrPssShmemKb, "pss.smem"},
    {tracefile::ProcessStats::Process::kSmrSwapPssKb, "swap.pss"},
};

constexpr std::string_view NameOf(std::span<const NamedField> table, std::uint32_t field) {
  for (const NamedField& named : table) {
    if (named.field == field) return named.name;
  }
  return {};
}

// Workers of the kernel show the queue that they served last behind their name; it says nothing
// about the thread: "kworker/45:2-mm_percpu_wq" is kworker/45:2.
std::string_view PlainWorkerName(std::string_view name) {
  if (!name.starts_with("kworker/")) return name;
  return name.substr(0, name.find_first_of("+-", 8));
}

}  // namespace

void PacketImporter::Untimed() {
  namespace TracePacket = tracefile::TracePacket;
  for (const std::string_view packet : index_.untimed) {
    ProtoReader field(packet);
    while (field.Next()) {
      switch (field.id()) {
        case TracePacket::kSystemInfo:
          SystemInfo(field.bytes());
          break;
        case TracePacket::kFtraceStats:
          FtraceStats(field.bytes());
          break;
        case TracePacket::kTraceStats:
          TraceStats(field.bytes());
          break;
        case TracePacket::kCpuInfo:
          CpuInfo(field.bytes());
          break;
        case TracePacket::kTraceUuid: {
          std::uint64_t parts[3] = {};
          ProtoReader part(field.bytes());
          while (part.Next()) {
            if (part.id() < 3) parts[part.id()] = part.u64();
          }
          const std::uint64_t high = parts[tracefile::TraceUuid::kMsb];
          const std::uint64_t low = parts[tracefile::TraceUuid::kLsb];
          metadata_.push_back(
              {"trace_uuid",
               fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xFFFF,
                           high & 0xFFFF, low >> 48, low & 0xFFFFFFFFFFFF)});
          break;
        }
        case TracePacket::kTraceConfig: {
          metadata_.push_back({"trace_config_pbtxt", ConfigText(field.bytes())});
          ProtoReader part(field.bytes());
          while (part.Next()) {
            if (part.id() == tracefile::TraceConfig::kUniqueSessionName) {
              metadata_.push_back({"unique_session_name", std::string(part.bytes())});
            }
            if (part.id() == tracefile::TraceConfig::kDurationMs) {
              metadata_.push_back({"trace_duration_ms", part.i64()});
            }
          }
          break;
        }
        default:
          break;
      }
    }
  }
}

void PacketImporter::SystemInfo(std::string_view body) {
  namespace Info = tracefile::SystemInfo;
  constexpr std::int64_t kGb = 1'000'000'000;
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case Info::kUtsname: {
        constexpr NamedField kNames[] = {{tracefile::Utsname::kSysname, "system_name"},
                                         {tracefile::Utsname::kVersion, "system_version"},
                                         {tracefile::Utsname::kRelease, "system_release"},
                                         {tracefile::Utsname::kMachine, "system_machine"}};
        ProtoReader part(field.bytes());
        while (part.Next()) {
          const std::string_view name = NameOf(kNames, part.id());
          if (!name.empty())
            metadata_.push_back({std::string(name), std::string(part.bytes()), true});
          if (part.id() == tracefile::Utsname::kMachine) importer_.SetMachine(part.bytes());
        }
        break;
      }
      case Info::kTracingServiceVersion:
        metadata_.push_back({"tracing_service_version", std::string(field.bytes()), true});
        break;
      case Info::kTimezoneOffMins:
        metadata_.push_back({"timezone_off_mins", field.i64(), true});
        break;
      case Info::kHz:
        metadata_.push_back({"user_hz", field.i64(), true});
        break;
      case Info::kPageSize:
        if (field.u64() != 0) page_bytes_ = field.u64();
        metadata_.push_back({"page_size", field.i64(), true});
        break;
      case Info::kNumCpus:
        metadata_.push_back({"num_cpus", field.i64(), true});
        break;
      case Info::kSystemRamBytes:
        metadata_.push_back({"system_ram_bytes", field.i64(), true});
        metadata_.push_back({"system_ram_gb", (field.i64() + kGb / 2) / kGb, true});
        break;
      case Info::kMachineName:
        metadata_.push_back({"machine_name", std::string(field.bytes()), true});
        break;
      default:
        break;
    }
  }
}

void PacketImporter::FtraceStats(std::string_view body) {
  namespace Stats = tracefile::FtraceStats;
  bool is_end = false;
  ProtoReader phase(body);
  while (phase.Next()) {
    if (phase.id() == Stats::kPhase) is_end = phase.u32() == Stats::Phase::kEndOfTrace;
  }
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case Stats::kCpuStats:
        FtraceCpuStats(field.bytes(), is_end);
        break;
      case Stats::kUnknownFtraceEvents:
      case Stats::kFailedFtraceEvents:
        if (is_end) break;  // said at the start already
        importer_.stats().Add("ftrace_setup_errors");
        metadata_.push_back({field.id() == Stats::kUnknownFtraceEvents ? "ftrace_unknown_event"
                                                                       : "ftrace_failed_event",
                             std::string(field.bytes())});
        break;
      case Stats::kFtraceParseErrors:
        importer_.stats().Add("ftrace_parse_errors");
        break;
      default:
        break;
    }
  }
}

void PacketImporter::FtraceCpuStats(std::string_view body, bool is_end) {
  namespace Cpu = tracefile::FtraceCpuStats;
  constexpr NamedField kCounts[] = {
      {Cpu::kEntries, "entries"},        {Cpu::kOverrun, "overrun"},
      {Cpu::kBytesRead, "bytes"},        {Cpu::kCommitOverrun, "commit_overrun"},
      {Cpu::kReadEvents, "read_events"}, {Cpu::kDroppedEvents, "dropped_events"},
  };
  std::int64_t cpu = 0;
  std::int64_t counts[std::size(kCounts)] = {};
  ProtoReader field(body);
  double oldest = 0;
  double now = 0;
  while (field.Next()) {
    if (field.id() == Cpu::kCpu) cpu = field.i64();
    if (field.id() == Cpu::kOldestEventTs) oldest = field.real();
    if (field.id() == Cpu::kNowTs) now = field.real();
    for (std::size_t i = 0; i < std::size(kCounts); ++i) {
      if (field.id() == kCounts[i].field) counts[i] = field.i64();
    }
  }
  load::TraceStats& stats = importer_.stats();
  const std::string_view ending = is_end ? "_end" : "_begin";
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    const std::string name = fmt::format("ftrace_cpu_{}", kCounts[i].name);
    stats.Set(name + std::string(ending), counts[i], cpu);
    if (is_end) stats.Set(name + "_delta", counts[i] - stats.Get(name + "_begin", cpu), cpu);
  }
  stats.Set(fmt::format("ftrace_cpu_oldest_event_ts{}", ending), SecondsToNs(oldest), cpu);
  stats.Set(fmt::format("ftrace_cpu_now_ts{}", ending), SecondsToNs(now), cpu);
}

void PacketImporter::TraceStats(std::string_view body) {
  namespace Buffer = tracefile::TraceStats::BufferStats;
  constexpr NamedField kCounts[] = {
      {Buffer::kBytesWritten, "traced_buf_bytes_written"},
      {Buffer::kChunksOverwritten, "traced_buf_chunks_overwritten"},
      {Buffer::kChunksDiscarded, "traced_buf_chunks_discarded"},
      {Buffer::kBufferSize, "traced_buf_buffer_size"},
      {Buffer::kTraceWriterPacketLoss, "traced_buf_trace_writer_packet_loss"},
  };
  std::int64_t buffer = 0;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() != tracefile::TraceStats::kBufferStats) continue;
    ProtoReader part(field.bytes());
    while (part.Next()) {
      const std::string_view name = NameOf(kCounts, part.id());
      if (!name.empty()) importer_.stats().Set(name, part.i64(), buffer);
    }
    ++buffer;
  }
}

void PacketImporter::CpuInfo(std::string_view body) {
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() != tracefile::CpuInfo::kCpus) continue;
    CpuRow cpu;
    cpu.cpu = static_cast<std::uint32_t>(cpus_.size());
    ProtoReader part(field.bytes());
    while (part.Next()) {
      if (part.id() == tracefile::CpuInfo::Cpu::kProcessor) cpu.processor = part.bytes();
      if (part.id() == tracefile::CpuInfo::Cpu::kCapacity) cpu.capacity = part.i64();
    }
    cpus_.push_back(std::move(cpu));
  }
}

void PacketImporter::Timed(const PacketRef& packet) {
  namespace TracePacket = tracefile::TracePacket;
  switch (packet.field) {
    case TracePacket::kProcessTree:
      ProcessTree(packet.ts, packet.body);
      return;
    case TracePacket::kProcessStats:
      ProcessStats(packet.ts, packet.body);
      return;
    case TracePacket::kSysStats:
      SysStats(packet.ts, packet.body);
      return;
    case TracePacket::kTrackEvent:
      track_events_.Take(packet);
      return;
    case TracePacket::kPerfSample:
      perf_samples_.Take(packet);
      return;
    default:
      return;
  }
}

void PacketImporter::ProcessTree(std::int64_t, std::string_view body) {
  namespace Tree = tracefile::ProcessTree;
  constexpr std::int64_t kKthreadd = 2;
  ThreadTracker& threads = importer_.threads();
  StringPool& strings = importer_.strings();
  std::unordered_set<std::int64_t> kernel_threads;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() != Tree::kProcesses) continue;
    std::int64_t pid = 0;
    std::int64_t ppid = 0;
    std::vector<std::string_view> cmdline;
    std::optional<std::int64_t> uid;
    std::optional<std::int64_t> start_ns;
    std::optional<bool> is_kthread;
    bool is_comm = false;
    ProtoReader part(field.bytes());
    while (part.Next()) {
      switch (part.id()) {
        case Tree::Process::kPid:
          pid = part.i32();
          break;
        case Tree::Process::kPpid:
          ppid = part.i32();
          break;
        case Tree::Process::kCmdline:
          cmdline.push_back(part.bytes());
          break;
        case Tree::Process::kUid:
          uid = part.i32();
          break;
        case Tree::Process::kProcessStartFromBoot:
          start_ns = part.i64();
          break;
        case Tree::Process::kIsKthread:
          is_kthread = part.boolean();
          break;
        case Tree::Process::kCmdlineIsComm:
          is_comm = part.boolean();
          break;
        default:
          break;
      }
    }
    if (cmdline.empty()) continue;
    std::string_view name = cmdline.front();
    std::string joined;
    for (const std::string_view word : cmdline) {
      if (!joined.empty()) joined += ' ';
      joined += word;
    }
    if (ppid == kKthreadd) {
      kernel_threads.insert(pid);
      if (const std::string_view plain = PlainWorkerName(name); plain.size() != name.size()) {
        name = plain;
        joined = std::string(plain);
      }
    }
    // Programs that rewrite their command line put blanks where the zeros were.
    if (cmdline.size() == 1) name = name.substr(0, name.find(' '));

    const Upid parent = threads.GetProcess(ppid);
    const Upid upid = threads.GetProcess(pid);
    threads.SetParent(upid, parent);
    threads.NameProcess(upid, strings.Intern(name));
    threads.process(upid).cmdline = strings.Intern(joined);
    if (is_comm) {
      threads.NameThread(threads.GetThread(pid), strings.Intern(joined), NameSource::kProcessTree);
    }
    if (uid.has_value()) threads.process(upid).uid = uid;
    if (is_kthread.has_value()) threads.process(upid).is_kthread = is_kthread;
    if (start_ns.has_value() && !threads.process(upid).start_ts.has_value()) {
      threads.process(upid).start_ts =
          index_.clocks.ToTraceTime(tracefile::BuiltinClock::kBoottime, 0, *start_ns);
    }
  }
  ProtoReader thread_field(body);
  while (thread_field.Next()) {
    if (thread_field.id() != Tree::kThreads) continue;
    std::int64_t tid = 0;
    std::int64_t tgid = 0;
    std::optional<std::string_view> name;
    ProtoReader part(thread_field.bytes());
    while (part.Next()) {
      if (part.id() == Tree::Thread::kTid) tid = part.i32();
      if (part.id() == Tree::Thread::kTgid) tgid = part.i32();
      if (part.id() == Tree::Thread::kName) name = part.bytes();
    }
    const Utid utid = threads.ThreadOfProcess(tid, tgid);
    if (!name.has_value()) continue;
    if (tid == tgid && kernel_threads.contains(tid)) name = PlainWorkerName(*name);
    threads.NameThread(utid, strings.Intern(*name), NameSource::kProcessTree);
  }
}

void PacketImporter::ProcessStats(std::int64_t ts, std::string_view body) {
  namespace Process = tracefile::ProcessStats::Process;
  ThreadTracker& threads = importer_.threads();
  StringPool& strings = importer_.strings();
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() != tracefile::ProcessStats::kProcesses) continue;
    std::int64_t pid = 0;
    ProtoReader first(field.bytes());
    while (first.Next()) {
      if (first.id() == Process::kPid) pid = first.i32();
    }
    const auto counter = [&](std::string_view type, const std::string& name, double value) {
      const Upid upid = threads.GetProcess(pid);
      importer_.Counter(ts,
                        importer_.tracks().Get(TrackScope::kProcess, upid, strings.Intern(type),
                                               strings.Intern(name), true),
                        value);
    };
    ProtoReader part(field.bytes());
    while (part.Next()) {
      constexpr double kKb = 1024;
      if (const auto name = NameOf(kProcessMemory, part.id()); !name.empty()) {
        counter("process_memory", fmt::format("mem.{}", name),
                static_cast<double>(part.i64()) * kKb);
      } else if (const auto smaps = NameOf(kProcessSmaps, part.id()); !smaps.empty()) {
        counter("smaps", fmt::format("mem.smaps.{}", smaps), static_cast<double>(part.i64()) * kKb);
      } else if (part.id() == Process::kOomScoreAdj) {
        counter("oom_score_adj", "oom_score_adj", static_cast<double>(part.i64()));
      } else if (part.id() == Process::kRuntimeUserMode) {
        counter("proc_stat_runtime", "runtime.user_ns", static_cast<double>(part.u64()));
      } else if (part.id() == Process::kRuntimeKernelMode) {
        counter("proc_stat_runtime", "runtime.kernel_ns", static_cast<double>(part.u64()));
      } else if (part.id() == Process::kThreads) {
        ProtoReader thread(part.bytes());
        while (thread.Next()) {
          if (thread.id() == 1) threads.ThreadOfProcess(thread.i32(), pid);
        }
      }
    }
  }
}

void PacketImporter::Global(std::int64_t ts, std::string_view type, std::string_view name,
                            double value, std::string_view unit) {
  StringPool& strings = importer_.strings();
  const TrackId track =
      importer_.tracks().Get(TrackScope::kGlobal, kNone, strings.Intern(type), strings.Intern(name),
                             true, unit.empty() ? kNoString : strings.Intern(unit));
  importer_.Counter(ts, track, value);
}

}  // namespace culprit::load
