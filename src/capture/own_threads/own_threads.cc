#include "capture/own_threads/own_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "capture/own_threads/switch_ring.h"
#include "capture/own_threads/told_states.h"
#include "capture/trace_clock.h"
#include "kernel/proc_scan.h"
#include "kernel/proc_task.h"
#include "tracefile/fields.h"
#include "tracefile/own_threads_fields.h"

namespace culprit::capture {
namespace {

constexpr DurationNs kPeriod = Milliseconds(10);  // 100 Hz
constexpr int kPollsPerListing = 5;               // looks for new threads, and drains the rings
// A round of looks may take a tenth of a CPU at most; with very many threads it comes less often.
constexpr std::int64_t kCostShare = 10;
// Some 100 MB each. What comes then is counted as lost.
constexpr std::size_t kMostRecords = 4'000'000;
constexpr std::size_t kMostSamples = 2'500'000;
constexpr std::size_t kStatesPerPacket = 2000;

std::vector<std::int32_t> NumbersIn(const std::string& path) {
  std::vector<std::int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    if (const auto number = ParseInteger<std::int32_t>(entry->d_name)) numbers.push_back(*number);
  }
  return numbers;
}

int ClockIdOf(TraceClock clock) {
  return clock == TraceClock::kMonotonic      ? CLOCK_MONOTONIC
         : clock == TraceClock::kMonotonicRaw ? CLOCK_MONOTONIC_RAW
                                              : CLOCK_BOOTTIME;
}

}  // namespace

class OwnThreads::Recorder {
 public:
  explicit Recorder(TraceClock clock) : clock_(clock) {}
  ~Recorder() { Stop(); }

  Status Begin(const std::vector<std::int32_t>& pids);
  Status Watch(std::int32_t pid);
  void Finish(PacketSpool& packets);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Watched {
    std::int32_t pid = 0;
    std::string comm;
    std::string directory;  // /proc/PID/task/TID
    UniqueFd schedstat;
    std::string schedstat_text;  // of the last look
    char state = '?';
    bool alive = true;
  };

  void Run();
  void Stop();
  void List(std::int32_t pid);
  void Add(std::int32_t pid, std::int32_t tid);
  void Look(std::int32_t tid, Watched& thread);
  void LookAtAll();
  void Drain();
  Status WatchLocked(std::int32_t pid);
  std::int64_t Now() const { return static_cast<std::int64_t>(NowNs(clock_)); }
  std::string ThreadCount() const {
    return threads_.size() == 1 ? "one thread" : FormatCount(threads_.size()) + " threads";
  }
  std::uint32_t WchanOf(const std::string& directory);
  void WriteStates(const ToldStates& told, PacketSpool& packets) const;
  void WriteCoverage(const ToldStates& told, PacketSpool& packets) const;

  TraceClock clock_;
  std::int64_t begin_ = 0, end_ = 0;
  std::vector<std::string> notes_;
  std::optional<SwitchRings> rings_;
  std::set<std::int32_t> pids_;  // processes that are watched
  std::map<std::int32_t, Watched> threads_;
  std::vector<SwitchRecord> switches_;
  std::vector<BornThread> born_;
  std::vector<ThreadSample> samples_;
  std::vector<std::string> wchans_ = {""};
  std::map<std::string, std::uint32_t, std::less<>> wchan_ids_;
  std::uint64_t rounds_ = 0, dropped_ = 0;

  std::mutex mutex_;  // all of the above
  UniqueFd stop_;     // eventfd
  std::thread thread_;
};

Status OwnThreads::Recorder::Begin(const std::vector<std::int32_t>& pids) {
  begin_ = Now();
  if (auto rings = SwitchRings::Open(ClockIdOf(clock_))) {
    rings_.emplace(std::move(rings).value());
  } else {
    notes_.push_back("switches are sampled, not exact: " + rings.error().ToString());
  }
  for (const std::int32_t pid : pids) CULPRIT_TRY(Watch(pid));
  stop_.Reset(eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid()) return ErrnoError("make an eventfd", "", errno);
  thread_ = std::thread([this] { Run(); });
  return {};
}

Status OwnThreads::Recorder::Watch(std::int32_t pid) {
  const std::lock_guard lock(mutex_);
  return WatchLocked(pid);
}

Status OwnThreads::Recorder::WatchLocked(std::int32_t pid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task";
  if (NumbersIn(task).empty()) {
    return Error{"no process " + std::to_string(pid), "see ps, or pgrep NAME"};
  }
  pids_.insert(pid);
  // A thread that is born between two looks is watched by what its parent handed down, or is found
  // by the next look: watched twice its records come twice, which is seen and taken out at the end.
  for (int attempt = 0; rings_ && attempt < 8; ++attempt) {
    bool is_new = false;
    for (const std::int32_t tid : NumbersIn(task)) {
      if (threads_.contains(tid)) continue;
      is_new = true;
      if (const Status watched = rings_->Watch(tid); !watched) {
        notes_.push_back("switches are sampled, not exact: " + watched.error().ToString());
        rings_.reset();
        switches_.clear();
        break;
      }
      Add(pid, tid);
    }
    if (!is_new) break;
  }
  List(pid);
  return {};
}

void OwnThreads::Recorder::Add(std::int32_t pid, std::int32_t tid) {
  Watched& thread = threads_[tid];
  if (!thread.directory.empty() && thread.alive) return;
  thread = Watched();  // new, or another one of a tid that was over
  thread.pid = pid;
  thread.directory = fmt::format("/proc/{}/task/{}", pid, tid);
  if (auto fd = OpenFile(thread.directory + "/schedstat", O_RDONLY)) {
    thread.schedstat = std::move(fd).value();
  }
  Look(tid, thread);
}

// Threads of a process, and the processes that they have made.
void OwnThreads::Recorder::List(std::int32_t pid) {
  for (const std::int32_t tid : NumbersIn("/proc/" + std::to_string(pid) + "/task")) {
    Add(pid, tid);
    const auto children = ReadFile(fmt::format("/proc/{}/task/{}/children", pid, tid));
    if (!children) continue;  // CONFIG_PROC_CHILDREN
    kernel::WordCursor words(*children);
    while (const auto child = words.Number()) {
      const auto child_pid = static_cast<std::int32_t>(*child);
      if (pids_.insert(child_pid).second) List(child_pid);
    }
  }
}

std::uint32_t OwnThreads::Recorder::WchanOf(const std::string& directory) {
  const auto text = ReadFile(directory + "/wchan", 4096);
  if (!text || text->empty() || *text == "0") return 0;
  const auto [found, is_new] = wchan_ids_.try_emplace(*text, wchans_.size());
  if (is_new) wchans_.push_back(*text);
  return found->second;
}

void OwnThreads::Recorder::Look(std::int32_t tid, Watched& thread) {
  if (!thread.alive) return;
  std::string text;
  const bool known = thread.schedstat.valid() &&
                     ReadAgain(thread.schedstat.get(), "schedstat", text).ok() && !text.empty();
  // It has not run since it was seen asleep: it still is.
  if (known && thread.state != 'R' && thread.state != '?' && text == thread.schedstat_text) return;
  ThreadSample sample{.ts = Now(), .tid = tid};
  const auto stat_text = ReadFile(thread.directory + "/stat");
  const auto stat = stat_text ? kernel::ParseTaskStat(*stat_text) : std::nullopt;
  if (!stat) {
    thread.alive = false;
    thread.schedstat.Reset();
    sample.state = 'X';
  } else {
    sample.state = stat->state;
    sample.cpu = static_cast<std::int32_t>(stat->cpu);
    thread.comm = stat->comm;
    if (stat->state != 'R') sample.wchan = WchanOf(thread.directory);
  }
  if (const auto sched = kernel::ParseTaskSchedStat(known ? text : thread.schedstat_text)) {
    sample.run_ns = sched->run_ns;
    sample.wait_ns = sched->wait_ns;
  }
  if (known) thread.schedstat_text = std::move(text);
  thread.state = sample.state;
  if (samples_.size() < kMostSamples) {
    samples_.push_back(sample);
  } else {
    ++dropped_;
  }
}

void OwnThreads::Recorder::LookAtAll() {
  ++rounds_;
  for (auto& [tid, thread] : threads_) Look(tid, thread);
}

void OwnThreads::Recorder::Drain() {
  if (!rings_) return;
  const std::size_t first = born_.size();
  rings_->Drain(switches_, born_);
  for (std::size_t i = first; i < born_.size(); ++i) {
    pids_.insert(born_[i].pid);
    Add(born_[i].pid, born_[i].tid);
  }
  if (switches_.size() > kMostRecords) {
    dropped_ += switches_.size() - kMostRecords;
    switches_.resize(kMostRecords);
  }
}

void OwnThreads::Recorder::Run() {
  pollfd stop{stop_.get(), POLLIN, 0};
  for (;;) {
    const std::int64_t begin = Now();
    {
      const std::lock_guard lock(mutex_);
      Drain();
      if (rounds_ % kPollsPerListing == 0) {
        for (const std::int32_t pid : std::vector(pids_.begin(), pids_.end())) List(pid);
      }
      LookAtAll();
    }
    const std::int64_t cost = Now() - begin;
    const std::int64_t wait = std::max(kPeriod.value - cost, cost * kCostShare - cost);
    const timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
    ppoll(&stop, 1, &timeout, nullptr);
    if (stop.revents != 0) return;
  }
}

void OwnThreads::Recorder::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
  const std::lock_guard lock(mutex_);
  Drain();
  for (auto& [tid, thread] : threads_) thread.schedstat_text.clear();  // everyone is looked at
  LookAtAll();
  end_ = Now();
}

void OwnThreads::Recorder::WriteStates(const ToldStates& told, PacketSpool& packets) const {
  namespace Told = tracefile::CulpritData::ToldState;
  namespace Named = tracefile::CulpritData::ToldThread;
  std::string bytes;
  const auto packet = [&](const auto& fill) {
    bytes.clear();
    {
      protozero::pbf_writer head(bytes);
      WritePacketHead(head, HeadAt(clock_, NowNs(clock_), tracefile::Sequence::kSession));
      protozero::pbf_writer ours(head, tracefile::TracePacket::kCulpritData);
      fill(ours);
    }
    packets.Append(bytes);
  };
  packet([&](protozero::pbf_writer& ours) {
    for (const auto& [tid, thread] : threads_) {
      protozero::pbf_writer message(ours, tracefile::CulpritData::kToldThreads);
      message.add_int32(Named::kTid, tid);
      message.add_int32(Named::kPid, thread.pid);
      message.add_string(Named::kName, thread.comm);
    }
  });
  for (std::size_t first = 0; first < told.states.size(); first += kStatesPerPacket) {
    packet([&](protozero::pbf_writer& ours) {
      const std::size_t stop = std::min(first + kStatesPerPacket, told.states.size());
      for (std::size_t i = first; i < stop; ++i) {
        const ToldState& state = told.states[i];
        protozero::pbf_writer message(ours, tracefile::CulpritData::kToldStates);
        message.add_int64(Told::kTs, state.ts);
        message.add_int64(Told::kDur, state.dur);
        message.add_int32(Told::kTid, state.tid);
        if (!state.state.empty())
          message.add_string(Told::kState, state.state.data(), state.state.size());
        if (state.cpu >= 0) message.add_int32(Told::kCpu, state.cpu);
        if (!state.end_state.empty()) {
          message.add_string(Told::kEndState, state.end_state.data(), state.end_state.size());
        }
        if (state.wchan != 0) message.add_string(Told::kBlockedFunction, wchans_[state.wchan]);
        if (!rings_) message.add_bool(Told::kIsSampled, true);
      }
    });
  }
}

void OwnThreads::Recorder::WriteCoverage(const ToldStates& told, PacketSpool& packets) const {
  namespace Coverage = tracefile::CulpritData::OwnThreads;
  std::string bytes;
  {
    protozero::pbf_writer head(bytes);
    WritePacketHead(head, HeadAt(clock_, NowNs(clock_), tracefile::Sequence::kSession));
    protozero::pbf_writer ours(head, tracefile::TracePacket::kCulpritData);
    protozero::pbf_writer message(ours, tracefile::CulpritData::kOwnThreads);
    message.add_bool(Coverage::kHasSwitches, rings_.has_value());
    message.add_uint64(Coverage::kThreads, threads_.size());
    message.add_uint64(Coverage::kRounds, rounds_);
    message.add_uint64(Coverage::kWaits, told.waits);
    message.add_uint64(Coverage::kWaitsWithoutKind, told.waits_without_kind);
    message.add_uint64(Coverage::kWaitsShared, told.waits_shared);
    message.add_uint64(Coverage::kWaitsUnsplit, told.waits_unsplit);
    message.add_uint64(Coverage::kLost, (rings_ ? rings_->lost() : 0) + dropped_);
    message.add_uint64(Coverage::kUnknown, told.unknown);
  }
  packets.AppendLasting(bytes);
}

void OwnThreads::Recorder::Finish(PacketSpool& packets) {
  Stop();
  const auto by_time = [](const auto& a, const auto& b) { return a.ts < b.ts; };
  std::stable_sort(samples_.begin(), samples_.end(), by_time);
  ToldStates told;
  if (rings_) {
    std::stable_sort(switches_.begin(), switches_.end(), by_time);
    told = StatesOfSwitches(begin_, end_, switches_, samples_);
    notes_.push_back(fmt::format(
        "switches of {} are exact; what they waited for is from /proc, {} times{}", ThreadCount(),
        FormatCount(rounds_),
        told.waits == 0
            ? ""
            : fmt::format(": {} of {} waits were too short to be met",
                          FormatCount(told.waits_without_kind), FormatCount(told.waits))));
    if (rings_->lost() > 0) {
      notes_.push_back(FormatCount(rings_->lost()) + " switch records were lost in full rings");
    }
  } else {
    told = StatesOfSamples(begin_, end_, samples_);
    notes_.push_back(fmt::format(
        "states of {} are sampled from /proc, {} times: how long they ran and stood ready "
        "is the kernel's count, in which order within 10 ms is not known",
        ThreadCount(), FormatCount(rounds_)));
  }
  if (dropped_ > 0) notes_.push_back(FormatCount(dropped_) + " records came after memory was full");
  WriteCoverage(told, packets);
  WriteStates(told, packets);
}

OwnThreads::OwnThreads(std::unique_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}
OwnThreads::~OwnThreads() = default;

Result<std::unique_ptr<OwnThreads>> OwnThreads::Start(TraceClock clock,
                                                      const std::vector<std::int32_t>& pids) {
  auto recorder = std::make_unique<Recorder>(clock);
  CULPRIT_TRY(recorder->Begin(pids));
  return std::unique_ptr<OwnThreads>(new OwnThreads(std::move(recorder)));
}

Status OwnThreads::Watch(std::int32_t pid) { return recorder_->Watch(pid); }
const std::vector<std::string>& OwnThreads::notes() const { return recorder_->notes(); }
void OwnThreads::Finish(PacketSpool& packets) { recorder_->Finish(packets); }

}  // namespace culprit::capture
