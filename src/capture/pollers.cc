#include "capture/pollers.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "capture/process_scan.h"
#include "capture/trace_clock.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

struct StatSource {
  DurationNs PollPeriods::*period;
  void (SysStatsReader::*read)(protozero::pbf_writer&);
};
constexpr StatSource kStatSources[] = {
    {&PollPeriods::stat, &SysStatsReader::ReadStat},
    {&PollPeriods::meminfo, &SysStatsReader::ReadMeminfo},
    {&PollPeriods::vmstat, &SysStatsReader::ReadVmstat},
    {&PollPeriods::psi, &SysStatsReader::ReadPressure},
    {&PollPeriods::diskstat, &SysStatsReader::ReadDisks},
    {&PollPeriods::cpufreq, &SysStatsReader::ReadCpuFrequencies},
};
// After those of SysStats, in next_ns_.
constexpr std::size_t kNet = std::size(kStatSources);
constexpr std::size_t kCgroup = kNet + 1;
constexpr std::size_t kProcesses = kCgroup + 1;
constexpr std::size_t kSources = kProcesses + 1;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
// A shorter period would make the poller the load that it looks for.
constexpr std::int64_t kShortestPeriodNs = 1'000'000;

}  // namespace

Pollers::Pollers(const RecordConfig& config, PacketSpool& spool, const std::string& root)
    : config_(config),
      sys_stats_(config.poll, config.counters, root),
      tracks_(config.clock),
      next_ns_(kSources, 0),
      spool_(&spool) {
  if (config.poll.netdev.value > 0) net_ = std::make_unique<NetDevReader>(root);
  if (config.poll.cgroup.value > 0) cgroups_ = std::make_unique<CgroupReader>(config.pids, root);
}

Result<std::unique_ptr<Pollers>> Pollers::Start(const RecordConfig& config, PacketSpool& spool,
                                                const std::string& root) {
  std::unique_ptr<Pollers> pollers(new Pollers(config, spool, root));
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return ErrnoError("make an eventfd", "", errno);
  pollers->stop_.Reset(fd);
  if (pollers->Poll(false) != kNever) {
    pollers->thread_ = std::thread([raw = pollers.get()] { raw->Run(); });
  }
  return pollers;
}

void Pollers::Run() {
  prctl(PR_SET_NAME, "culprit-poll");
  pollfd stop{stop_.get(), POLLIN, 0};
  std::int64_t next = 0;
  {
    const std::lock_guard lock(mutex_);
    next = *std::ranges::min_element(next_ns_);
  }
  for (;;) {
    const std::int64_t wait = std::max<std::int64_t>(next - NowBoottime().value, 0);
    const timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
    if (ppoll(&stop, 1, &timeout, nullptr) > 0) return;
    const std::lock_guard lock(mutex_);
    next = Poll(false);
  }
}

std::int64_t Pollers::Poll(bool all) {
  const std::int64_t now = NowBoottime().value;
  // Due now? Then when again: on the period's own grid, so that a late poll shifts no later one.
  const auto due = [&](std::size_t source, DurationNs period) {
    std::int64_t& next = next_ns_[source];
    if (period.value <= 0) {
      next = kNever;
      return false;
    }
    const std::int64_t step = std::max(period.value, kShortestPeriodNs);
    if (next > now && !all) return false;
    next = now - now % step + step;
    return true;
  };
  const std::uint64_t begin_ns = NowNs(config_.clock);
  std::string body;
  protozero::pbf_writer stats(body);
  for (std::size_t i = 0; i < std::size(kStatSources); ++i) {
    if (due(i, config_.poll.*kStatSources[i].period)) (sys_stats_.*kStatSources[i].read)(stats);
  }
  if (!body.empty()) WriteSysStats(begin_ns, std::move(body));
  const bool net = due(kNet, config_.poll.netdev);
  const bool cgroups = due(kCgroup, config_.poll.cgroup);
  if (net && net_) net_->Poll(tracks_, *spool_, NowNs(config_.clock));
  if (cgroups && cgroups_) cgroups_->Poll(tracks_, *spool_, NowNs(config_.clock));
  if (net || cgroups) tracks_.EndPoll();
  if (due(kProcesses, config_.processes.poll_period) && !all) {
    ScanProcesses(config_.clock, {.tree = false, .thread_names = false, .stats = true},
                  [this](std::string_view packet) { spool_->Append(packet); });
  }
  return *std::ranges::min_element(next_ns_);
}

void Pollers::WriteSysStats(std::uint64_t begin_ns, std::string body) {
  protozero::pbf_writer(body).add_uint64(fields::SysStats::kCollectionEndTimestamp,
                                         NowNs(config_.clock));
  std::string bytes;
  protozero::pbf_writer packet(bytes);
  WritePacketHead(packet, HeadAt(config_.clock, begin_ns, fields::Sequence::kPollers));
  packet.add_message(fields::TracePacket::kSysStats, body);
  spool_->Append(bytes);
}

void Pollers::SwitchTo(PacketSpool& spool) {
  const std::lock_guard lock(mutex_);
  spool_ = &spool;
  sys_stats_.Restart();
  tracks_.Restart();
  Poll(true);
}

void Pollers::Stop() {
  if (!stop_.valid()) return;
  if (thread_.joinable()) {
    eventfd_write(stop_.get(), 1);
    thread_.join();
    const std::lock_guard lock(mutex_);
    Poll(true);
  }
  stop_.Reset();
}

}  // namespace culprit::capture
