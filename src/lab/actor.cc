#include "lab/actor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "kernel/proc_task.h"

namespace culprit::lab {

Actor::Actor(Board& board, Slot& slot) : board_(board), slot_(slot) {
  slot_.pid = getpid();
  slot_.tid = static_cast<pid_t>(syscall(SYS_gettid));
  auto file = OpenFile("/proc/thread-self/schedstat", O_RDONLY);
  if (file) {
    schedstat_ = std::move(file).value();
  } else {
    Fail(file.error());
  }
}

std::pair<std::int64_t, std::int64_t> Actor::SchedStat() const {
  char text[96];
  const ssize_t got = pread(schedstat_.get(), text, sizeof(text), 0);
  if (got <= 0) return {0, 0};
  kernel::TaskSchedStat stat{};
  if (const auto parsed =
          kernel::ParseTaskSchedStat(std::string_view(text, static_cast<std::size_t>(got)))) {
    stat = *parsed;
  }
  return {static_cast<std::int64_t>(stat.wait_ns), static_cast<std::int64_t>(stat.slices)};
}

Actor::Moment Actor::Now() const {
  Moment now;
  now.wall_ns = MonotonicNs();
  now.cpu_ns = ThreadCpuNs();
  std::tie(now.runnable_ns, now.slices) = SchedStat();
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  now.voluntary = usage.ru_nvcsw;
  now.involuntary = usage.ru_nivcsw;
  now.major_faults = usage.ru_majflt;
  return now;
}

void Actor::Begin() {
  board_.ready.fetch_add(1);
  while (board_.gate.load() == 0 && !board_.stop.load()) {
    FutexWait(board_.gate, 0, Milliseconds(500));
  }
  begin_ = Now();
  slot_.begin_ns = begin_.wall_ns;
  begun_ = true;
}

void Actor::Finish() {
  if (slot_.finished) return;
  if (begun_) {
    const Moment end = Now();
    slot_.wall_ns = end.wall_ns - begin_.wall_ns;
    slot_.cpu_ns = end.cpu_ns - begin_.cpu_ns;
    slot_.runnable_ns = end.runnable_ns - begin_.runnable_ns;
    slot_.slices = end.slices - begin_.slices;
    slot_.voluntary_switches = end.voluntary - begin_.voluntary;
    slot_.involuntary_switches = end.involuntary - begin_.involuntary;
    slot_.major_faults = end.major_faults - begin_.major_faults;
  } else {
    board_.ready.fetch_add(1);  // nobody shall wait for one who gave up
  }
  slot_.finished = true;
}

void Actor::Fail(const Error& error) {
  if (slot_.error[0] != '\0') return;
  std::snprintf(slot_.error, sizeof(slot_.error), "%s", error.ToString().c_str());
}

void Actor::Burn(DurationNs cpu) {
  const std::int64_t until = ThreadCpuNs() + cpu.value;
  volatile std::uint64_t state = 1;
  while (ThreadCpuNs() < until && Acting()) {
    std::uint64_t x = state;
    for (int i = 0; i < 2'000; ++i) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    state = x;
  }
}

void Actor::Rest(DurationNs duration) {
  const std::int64_t until = std::min(MonotonicNs() + duration.value, board_.end_ns.load());
  const timespec wake{until / 1'000'000'000, until % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr);
}

void Actor::Sleep(DurationNs duration) {
  Waiting(Wait::kSleep, [&] { Rest(duration); });
}

void Actor::Count(Wait kind, std::int64_t ns) {
  WaitSum& sum = slot_.waits[static_cast<std::size_t>(kind)];
  sum.ns += ns;
  ++sum.count;
  sum.worst_ns = std::max(sum.worst_ns, ns);
}

float Actor::OwnPart(std::int64_t wall_ns, std::int64_t runnable_ns) {
  if (wall_ns <= 0) return 0;
  const std::int64_t own = std::clamp<std::int64_t>(wall_ns - runnable_ns, 0, wall_ns);
  return static_cast<float>(own) / static_cast<float>(wall_ns);
}

Actor::Counted::~Counted() {
  const std::int64_t end = MonotonicNs();
  actor_.Count(kind_, end - begin_);
  if (log_ != nullptr) log_->Add({begin_, end, -1, 1});
}

Actor::BlockedCounted::BlockedCounted(Actor& actor, Wait kind, IntervalLog* log)
    : actor_(actor), kind_(kind), log_(log) {
  runnable_ = actor.SchedStat().first;
  cpu_ = ThreadCpuNs();
  wall_ = MonotonicNs();
}

Actor::BlockedCounted::~BlockedCounted() {
  const std::int64_t end = MonotonicNs();
  const std::int64_t cpu = ThreadCpuNs() - cpu_;
  const std::int64_t runnable = actor_.SchedStat().first - runnable_;
  const std::int64_t wall = end - wall_;
  const std::int64_t blocked = std::clamp<std::int64_t>(wall - cpu - runnable, 0, wall);
  actor_.Count(kind_, blocked);
  if (log_ != nullptr && wall > 0) {
    log_->Add({wall_, end, -1, static_cast<float>(blocked) / static_cast<float>(wall)});
  }
}

}  // namespace culprit::lab
