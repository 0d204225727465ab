#include "capture/process_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "capture/trace_clock.h"
#include "kernel/proc_scan.h"
#include "kernel/proc_task.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

constexpr std::size_t kPacketBytes = std::size_t{128} << 10;
constexpr std::size_t kLongestCmdline = 4096;
constexpr std::uint64_t kNsPerTick = 10'000'000;  // USER_HZ is 100 on every Linux

std::vector<std::int32_t> NumberedEntries(const std::string& path) {
  std::vector<std::int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) return numbers;
  while (const dirent* entry = readdir(directory.get())) {
    if (const auto number = ParseInteger<std::int32_t>(entry->d_name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// Packets of one kind, cut when they grow large.
class PacketBatch {
 public:
  PacketBatch(TraceClock clock, std::uint32_t packet_field, std::uint32_t end_field,
              const PacketSink& sink)
      : clock_(clock), packet_field_(packet_field), end_field_(end_field), sink_(sink) {}

  void Add(std::uint32_t field, std::string_view message) {
    if (body_.empty()) begin_ns_ = NowNs(clock_);
    protozero::pbf_writer(body_).add_message(field, message.data(), message.size());
    if (body_.size() >= kPacketBytes) Flush();
  }

  void Flush() {
    if (body_.empty()) return;
    protozero::pbf_writer(body_).add_uint64(end_field_, NowNs(clock_));
    std::string bytes;
    protozero::pbf_writer packet(bytes);
    WritePacketHead(packet, HeadAt(clock_, begin_ns_, fields::Sequence::kProcesses));
    packet.add_message(packet_field_, body_);
    sink_(bytes);
    body_.clear();
  }

 private:
  TraceClock clock_;
  std::uint32_t packet_field_;
  std::uint32_t end_field_;
  const PacketSink& sink_;
  std::uint64_t begin_ns_ = 0;
  std::string body_;
};

// Files of one process, read into buffers that the next one reuses.
class Scanner {
 public:
  Scanner(TraceClock clock, const ScanParts& parts, const PacketSink& sink, std::string root)
      : parts_(parts),
        proc_(JoinPath(root, "proc")),
        tree_(clock, fields::TracePacket::kProcessTree,
              fields::ProcessTree::kCollectionEndTimestamp, sink),
        stats_(clock, fields::TracePacket::kProcessStats,
               fields::ProcessStats::kCollectionEndTimestamp, sink) {}

  std::size_t Run() {
    std::size_t count = 0;
    for (const std::int32_t pid : NumberedEntries(proc_)) count += Process(pid) ? 1 : 0;
    tree_.Flush();
    stats_.Flush();
    return count;
  }

 private:
  // False when there is no such file (any more).
  bool Read(const std::string& path, std::string& text) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return fd.valid() && ReadAgain(fd.get(), path, text).ok();
  }

  bool Process(std::int32_t pid) {
    const std::string folder = proc_ + "/" + std::to_string(pid) + "/";
    if (!Read(folder + "stat", stat_text_)) return false;
    const auto stat = kernel::ParseTaskStat(stat_text_);
    if (!stat) return false;
    kernel::TaskStatus status;
    const bool has_status =
        Read(folder + "status", status_text_) && kernel::ParseTaskStatus(status_text_, status);
    if (parts_.tree) {
      WriteProcess(folder, pid, *stat, has_status ? &status : nullptr);
      if (parts_.thread_names) WriteThreads(folder, pid, *stat);
    }
    if (parts_.stats && has_status) WriteStats(folder, pid, *stat, status);
    return true;
  }

  void WriteProcess(const std::string& folder, std::int32_t pid, const kernel::TaskStat& stat,
                    const kernel::TaskStatus* status) {
    message_.clear();
    protozero::pbf_writer process(message_);
    process.add_int32(fields::ProcessTree::Process::kPid, pid);
    process.add_int32(fields::ProcessTree::Process::kPpid, stat.parent_pid);
    // A kernel thread and a zombie have none.
    if (!Read(folder + "cmdline", cmdline_)) cmdline_.clear();
    if (cmdline_.size() > kLongestCmdline) cmdline_.resize(kLongestCmdline);
    while (!cmdline_.empty() && cmdline_.back() == '\0') cmdline_.pop_back();
    if (cmdline_.empty()) {
      process.add_string(fields::ProcessTree::Process::kCmdline, stat.comm.data(),
                         stat.comm.size());
      process.add_bool(fields::ProcessTree::Process::kCmdlineIsComm, true);
    } else {
      for (const std::string_view word : Split(cmdline_, '\0')) {
        process.add_string(fields::ProcessTree::Process::kCmdline, word.data(), word.size());
      }
    }
    if (status != nullptr) {
      if (status->uid) {
        process.add_int32(fields::ProcessTree::Process::kUid,
                          static_cast<std::int32_t>(*status->uid));
      }
      // The first one is the pid itself.
      for (std::size_t i = 1; i < status->namespace_tids.size(); ++i) {
        process.add_int32(fields::ProcessTree::Process::kNspid, status->namespace_tids[i]);
      }
    }
    process.add_uint64(fields::ProcessTree::Process::kProcessStartFromBoot,
                       stat.start_ticks * kNsPerTick);
    if ((stat.flags & kernel::kKernelThread) != 0) {
      process.add_bool(fields::ProcessTree::Process::kIsKthread, true);
    }
    tree_.Add(fields::ProcessTree::kProcesses, message_);
  }

  void WriteThreads(const std::string& folder, std::int32_t pid, const kernel::TaskStat& stat) {
    WriteThread(pid, pid, stat.comm);
    if (stat.threads <= 1) return;
    for (const std::int32_t tid : NumberedEntries(folder + "task")) {
      if (tid == pid) continue;
      const std::string path = folder + "task/" + std::to_string(tid) + "/comm";
      if (!Read(path, comm_)) continue;
      if (!comm_.empty() && comm_.back() == '\n') comm_.pop_back();
      WriteThread(pid, tid, comm_);
    }
  }

  void WriteThread(std::int32_t pid, std::int32_t tid, std::string_view name) {
    message_.clear();
    protozero::pbf_writer thread(message_);
    thread.add_int32(fields::ProcessTree::Thread::kTid, tid);
    thread.add_string(fields::ProcessTree::Thread::kName, name.data(), name.size());
    thread.add_int32(fields::ProcessTree::Thread::kTgid, pid);
    tree_.Add(fields::ProcessTree::kThreads, message_);
  }

  void WriteStats(const std::string& folder, std::int32_t pid, const kernel::TaskStat& stat,
                  const kernel::TaskStatus& status) {
    namespace Field = fields::ProcessStats::Process;
    message_.clear();
    protozero::pbf_writer process(message_);
    process.add_int32(Field::kPid, pid);
    const auto add_kb = [&](std::uint32_t field, const std::optional<std::uint64_t>& bytes) {
      if (bytes) process.add_uint64(field, *bytes / 1024);
    };
    add_kb(Field::kVmSizeKb, status.virtual_bytes);
    add_kb(Field::kVmRssKb, status.rss_bytes);
    add_kb(Field::kRssAnonKb, status.rss_anon_bytes);
    add_kb(Field::kRssFileKb, status.rss_file_bytes);
    add_kb(Field::kRssShmemKb, status.rss_shmem_bytes);
    add_kb(Field::kVmSwapKb, status.swap_bytes);
    add_kb(Field::kVmLockedKb, status.locked_bytes);
    add_kb(Field::kVmHwmKb, status.peak_rss_bytes);
    if (Read(folder + "oom_score_adj", comm_)) {
      if (const auto adj = ParseInteger<std::int64_t>(TrimBlanks(comm_))) {
        process.add_int64(Field::kOomScoreAdj, *adj);
      }
    }
    process.add_uint64(Field::kRuntimeUserMode, stat.user_ticks * kNsPerTick);
    process.add_uint64(Field::kRuntimeKernelMode, stat.system_ticks * kNsPerTick);
    stats_.Add(fields::ProcessStats::kProcesses, message_);
  }

  ScanParts parts_;
  std::string proc_;
  PacketBatch tree_;
  PacketBatch stats_;
  std::string stat_text_, status_text_, cmdline_, comm_, message_;
};

}  // namespace

std::size_t ScanProcesses(TraceClock clock, const ScanParts& parts, const PacketSink& sink,
                          const std::string& root) {
  return Scanner(clock, parts, sink, root).Run();
}

}  // namespace culprit::capture
