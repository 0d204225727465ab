#include "capture/drain.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace culprit::capture {
namespace {

// Between two rounds, unless a ring was half full again: a kernel whose poll knows no watermark
// would wake the thread at each event.
constexpr int kShortestPauseMs = 100;
// A CPU that comes online gets its ring only then: look at the set again this often.
constexpr int kLongestPauseMs = 1000;
// Left free on the disk beside the room for the trace file itself.
constexpr std::uint64_t kSpareBytes = std::uint64_t{1} << 20;

std::optional<std::uint64_t> FreeBytes(const std::string& directory) {
  struct statvfs info {};
  if (statvfs(directory.c_str(), &info) != 0) return std::nullopt;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

Result<UniqueFd> MakeEventFd() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return ErrnoError("make an eventfd", "", errno);
  return UniqueFd(fd);
}

void Raise(const UniqueFd& event) { static_cast<void>(eventfd_write(event.get(), 1)); }

}  // namespace

Result<std::unique_ptr<Drain>> Drain::Open(KernelSession& kernel, Options options) {
  std::unique_ptr<Drain> drain(new Drain(kernel, std::move(options)));
  CULPRIT_TRY(drain->OpenReaders(kernel.directory(), kernel.cpus()));
  if (const auto& markers = kernel.top_level_markers(); markers) {
    CULPRIT_TRY(drain->OpenReaders(markers->directory(), kernel.cpus()));
  }
  CULPRIT_ASSIGN(drain->stop_, MakeEventFd());
  CULPRIT_ASSIGN(drain->full_, MakeEventFd());
  const auto free = FreeBytes(drain->options_.spool_directory);
  drain->in_memory_ = free && *free < 3 * kernel.ring_bytes() + kSpareBytes;
  CULPRIT_TRY(drain->OpenSegment());
  return drain;
}

Status Drain::OpenReaders(const kernel::TraceDirectory& directory, const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    CULPRIT_ASSIGN(RingReader reader, RingReader::Open(directory, cpu, kernel_.page_bytes()));
    readers_.push_back(std::move(reader));
  }
  return {};
}

RingStats Drain::StatsOf(std::size_t reader) const {
  const int cpu = readers_[reader].cpu();
  return IsMarkers(reader) ? kernel_.MarkerStats(cpu) : kernel_.Stats(cpu);
}

bool Drain::MayRead(std::size_t reader) {
  if (!IsMarkers(reader)) return true;
  // One look for all rings of a round.
  if (reader == kernel_.cpus().size() && !markers_ended_) {
    markers_ended_ = !kernel_.top_level_markers()->IsAlone();
  }
  return !markers_ended_;
}

Drain::~Drain() {
  if (!thread_.joinable()) return;
  Raise(stop_);
  thread_.join();
}

Status Drain::OpenSegment() {
  std::vector<SpoolFile> spools;
  std::vector<RingStats> stats;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (in_memory_) {
      const int fd = memfd_create("culprit-spool", MFD_CLOEXEC);
      if (fd < 0) return ErrnoError("make a file in memory", "", errno);
      spools.push_back({UniqueFd(fd)});
    } else {
      CULPRIT_ASSIGN(UniqueFd fd, OpenNamelessFile(options_.spool_directory));
      spools.push_back({std::move(fd)});
    }
    stats.push_back(StatsOf(i));
  }
  spools_ = std::move(spools);
  at_start_ = std::move(stats);
  return {};
}

FtraceSpool Drain::CloseSegment() {
  FtraceSpool spool = kernel_.Description();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    CpuSpool cpu;
    cpu.cpu = readers_[i].cpu();
    cpu.pages = std::move(spools_[i].fd);
    cpu.page_count = spools_[i].bytes / kernel_.page_bytes();
    cpu.at_start = at_start_[i];
    cpu.at_end = StatsOf(i);
    closed_bytes_ += spools_[i].bytes;
    if (IsMarkers(i)) lost_markers_ += LostEvents(cpu.at_end) - LostEvents(cpu.at_start);
    (IsMarkers(i) ? spool.marker_cpus : spool.cpus).push_back(std::move(cpu));
  }
  return spool;
}

Status Drain::StartReader() {
  thread_ = std::thread([this] { ReadUntilStopped(); });
  return {};
}

void Drain::ReadUntilStopped() {
  prctl(PR_SET_NAME, "culprit-drain");
  std::vector<pollfd> polls;
  for (const RingReader& reader : readers_) polls.push_back({reader.fd(), POLLIN, 0});
  polls.push_back({stop_.get(), POLLIN, 0});
  const int period_ms = options_.period.value > 0
                            ? static_cast<int>(std::clamp<std::int64_t>(
                                  options_.period.value / 1'000'000, 1, kLongestPauseMs))
                            : kLongestPauseMs;
  pollfd& stop = polls.back();
  for (;;) {
    const int ready = poll(polls.data(), polls.size(), period_ms);
    if (stop.revents != 0) return;
    if (ready == 0) {
      for (std::size_t i = 0; i < readers_.size(); ++i) polls[i].fd = readers_[i].fd();
      if (options_.period.value == 0) continue;
    }
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      // No ring there (the CPU is offline): a poll would return at once for ever.
      if ((polls[i].revents & (POLLERR | POLLNVAL)) != 0) polls[i].fd = -1;
    }
    const bool presses = MoveRound();
    if (!FullReason().empty()) return;
    if (!presses && poll(&stop, 1, std::min(kShortestPauseMs, period_ms)) > 0) return;
  }
}

bool Drain::MoveRound() {
  const std::lock_guard lock(mutex_);
  bool presses = false;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (!MayRead(i)) continue;
    const std::uint64_t before = spools_[i].bytes;
    const auto outcome = readers_[i].MoveFullPages(spools_[i]);
    if (!outcome) {
      SetFull(outcome.error().ToString());
      return false;
    }
    if (*outcome == RingReader::Outcome::kSpoolFull) {
      SetFull("the disk of " + options_.spool_directory + " is full");
      return false;
    }
    presses = presses || spools_[i].bytes - before >= kernel_.ring_bytes_per_cpu() / 2;
  }
  CountBytes();
  RoomLeft();
  return presses;
}

void Drain::CountBytes() {
  std::uint64_t bytes = closed_bytes_;
  for (const SpoolFile& spool : spools_) bytes += spool.bytes;
  total_bytes_.store(bytes, std::memory_order_relaxed);
}

// The rings are still to be moved, and the trace file needs as much room again as all the pages, at
// most.
bool Drain::RoomLeft() {
  const std::uint64_t segment = spooled_bytes() - closed_bytes_;
  if (options_.max_bytes > 0 && spooled_bytes() >= options_.max_bytes) {
    SetFull("the file has reached its limit of " + FormatBytes(options_.max_bytes));
    return false;
  }
  if (in_memory_) {
    if (segment < kernel_.ring_bytes()) return true;
  } else {
    const auto free = FreeBytes(options_.spool_directory);
    if (!free || *free > segment + 2 * kernel_.ring_bytes() + kSpareBytes) return true;
  }
  SetFull("the disk of " + options_.spool_directory + " is nearly full");
  return false;
}

void Drain::SetFull(std::string reason) {
  if (!reason_.empty()) return;
  reason_ = std::move(reason);
  Raise(full_);
}

std::string Drain::FullReason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

std::string Drain::MarkersNote() const {
  if (markers_ended_) {
    return "markers end early: somebody began to trace in the kernel's top-level buffer";
  }
  if (lost_markers_ == 0) return "";
  return std::to_string(lost_markers_) + " markers were lost in the kernel's top-level buffer";
}

Result<RingReader::Outcome> Drain::MoveLive(std::size_t reader) {
  CULPRIT_ASSIGN(const RingReader::Outcome outcome,
                 readers_[reader].MoveFullPages(spools_[reader]));
  if (outcome == RingReader::Outcome::kSpoolFull) return outcome;
  return readers_[reader].MoveOpenPage(spools_[reader]);
}

Result<FtraceSpool> Drain::NextSegment() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < readers_.size() && reason_.empty(); ++i) {
    if (!MayRead(i)) continue;
    CULPRIT_ASSIGN(const RingReader::Outcome outcome, MoveLive(i));
    if (outcome == RingReader::Outcome::kSpoolFull) {
      SetFull("the disk of " + options_.spool_directory + " is full");
    }
  }
  CountBytes();
  FtraceSpool done = CloseSegment();
  CULPRIT_TRY(OpenSegment());
  return done;
}

Status Drain::Resume() {
  if (!thread_.joinable()) return {};
  Raise(stop_);
  thread_.join();
  eventfd_t count;
  static_cast<void>(eventfd_read(stop_.get(), &count));
  static_cast<void>(eventfd_read(full_.get(), &count));
  {
    const std::lock_guard lock(mutex_);
    reason_.clear();
  }
  return StartReader();
}

Result<FtraceSpool> Drain::Finish() {
  if (thread_.joinable()) {
    Raise(stop_);
    thread_.join();
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (!MayRead(i)) continue;
    // The top-level buffer goes on recording: a marker that comes now is not waited for.
    CULPRIT_ASSIGN(const RingReader::Outcome outcome,
                   IsMarkers(i) ? MoveLive(i) : readers_[i].MoveAll(spools_[i]));
    if (outcome == RingReader::Outcome::kSpoolFull) {
      SetFull("the disk of " + options_.spool_directory + " is full");
      break;
    }
  }
  CountBytes();
  return CloseSegment();
}

}  // namespace culprit::capture
