#include "lab/crew.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/text.h"

namespace culprit::lab {
namespace {

constexpr DurationNs kReadyWithin = Seconds(60);
constexpr DurationNs kGoneWithin = Seconds(10);  // a write to a busy disk may have to end first
constexpr int kStepMs = 100;

Status TakePlace(const Role& role) {
  for (const std::string_view path : SplitWords(role.cgroup_procs)) {
    CULPRIT_TRY(WriteControlFile(std::string(path), "0"));
  }
  if (role.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(role.cpu), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
      return ErrnoError("pin to", fmt::format("CPU {}", role.cpu), errno);
    }
  }
  if (role.nice != 0) {
    // Of this thread alone: on Linux nice is a thread's. Where it is refused the scenario is
    // milder.
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), role.nice);
  }
  if (role.fifo_priority > 0) {
    sched_param parameters{};
    parameters.sched_priority = role.fifo_priority;
    if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
      return ErrnoError("set SCHED_FIFO of", role.name, errno);
    }
  }
  return {};
}

// The life of one thread: in its place, with its slot, from its act to what it measured.
void Play(Board& board, const Role& role, int number) {
  prctl(PR_SET_NAME, role.name.c_str());
  Slot* slot = board.NewSlot();
  if (slot == nullptr) {
    board.ready.fetch_add(1);
    return;
  }
  std::snprintf(slot->name, sizeof(slot->name), "%s", role.name.c_str());
  slot->role = number;
  slot->cpu = role.cpu;
  Actor actor(board, *slot);
  if (const Status placed = TakePlace(role); !placed) {
    actor.Fail(placed.error());
  } else {
    role.act(actor);
  }
  actor.Finish();
}

[[noreturn]] void Live(Board& board, pid_t parent, const std::string& name,
                       const std::vector<Role>& roles, int number, bool threads) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  prctl(PR_SET_NAME, name.c_str());
  if (!threads) {
    Play(board, roles.front(), number);
    _exit(0);
  }
  std::vector<std::thread> running;
  for (const Role& role : roles) {
    running.emplace_back([&board, &role, number] { Play(board, role, number); });
  }
  for (std::thread& thread : running) thread.join();
  _exit(0);
}

}  // namespace

Result<Crew> Crew::Make(Caretaker& caretaker, SignalWatch& signals) {
  CULPRIT_ASSIGN(Board * board, Board::Map());
  return Crew(board, caretaker, signals);
}

Crew::Crew(Crew&& other) noexcept
    : board_(std::exchange(other.board_, nullptr)),
      caretaker_(other.caretaker_),
      signals_(other.signals_),
      processes_(std::move(other.processes_)),
      actors_(other.actors_),
      begin_(other.begin_),
      end_(other.end_) {}

Crew::~Crew() {
  if (board_ == nullptr) return;
  KillAll();
  Board::Unmap(board_);
}

Result<int> Crew::Start(const Role& role) { return Fork(role.name, {role}, false); }

Result<int> Crew::StartThreads(const std::string& name, const std::vector<Role>& roles) {
  return Fork(name, roles, true);
}

Result<int> Crew::Fork(const std::string& name, const std::vector<Role>& roles, bool threads) {
  const int number = static_cast<int>(processes_.size());
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", name, errno);
  if (pid == 0) {
    caretaker_->Disown();
    Live(*board_, parent, name, roles, number, threads);
  }
  processes_.push_back({pid});
  actors_ += static_cast<std::uint32_t>(roles.size());
  return number;
}

bool Crew::Reap() {
  bool all = true;
  for (Process& process : processes_) {
    if (!process.gone && waitpid(process.pid, nullptr, WNOHANG) == process.pid) process.gone = true;
    all = all && process.gone;
  }
  return all;
}

void Crew::KillAll() {
  for (const Process& process : processes_) {
    if (!process.gone) kill(process.pid, SIGKILL);
  }
  for (Process& process : processes_) {
    while (!process.gone && waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    process.gone = true;
  }
}

Status Crew::FirstError() {
  for (const Slot& slot : board_->Slots()) {
    if (slot.error[0] != '\0') return Error{fmt::format("{}: {}", slot.name, slot.error), ""};
  }
  return {};
}

Status Crew::WaitUntilReady() {
  const TimeNs give_up = NowBoottime() + kReadyWithin;
  while (board_->ready.load() < actors_) {
    CULPRIT_TRY(FirstError());
    if (Reap() && board_->ready.load() < actors_) {
      return Error{"the scenario's processes ended before they began", "are they being killed?"};
    }
    if (NowBoottime() > give_up) {
      return Error{"the scenario is not ready after a minute", "a smaller --scale"};
    }
    if (signals_->Take() != 0) return Error{"interrupted before it began", ""};
    usleep(2'000);
  }
  return FirstError();
}

Result<bool> Crew::Run(DurationNs duration) {
  CULPRIT_TRY(WaitUntilReady());
  begin_ = NowBoottime();
  const std::int64_t end_ns = MonotonicNs() + duration.value;
  board_->end_ns.store(end_ns);
  board_->gate.store(1);
  FutexWake(board_->gate, INT_MAX);

  bool interrupted = false;
  while (!Reap()) {
    const std::int64_t left_ms = (end_ns - MonotonicNs()) / 1'000'000;
    if (left_ms <= 0) break;
    pollfd watched{signals_->fd(), POLLIN, 0};
    poll(&watched, 1, left_ms < kStepMs ? static_cast<int>(left_ms) + 1 : kStepMs);
    if ((watched.revents & POLLIN) != 0 && signals_->Take() != 0) {
      interrupted = true;
      break;
    }
  }
  board_->stop.store(true);
  end_ = NowBoottime();
  const TimeNs give_up = end_ + kGoneWithin;
  while (!Reap() && NowBoottime() < give_up) usleep(2'000);
  KillAll();
  CULPRIT_TRY(FirstError());
  return interrupted;
}

std::vector<const Slot*> Crew::Named(std::string_view name) {
  std::vector<const Slot*> found;
  for (const Slot& slot : board_->Slots()) {
    if (name == slot.name) found.push_back(&slot);
  }
  return found;
}

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::int64_t SumOf(const std::vector<const Slot*>& slots, std::int64_t Slot::*figure) {
  std::int64_t sum = 0;
  for (const Slot* slot : slots) sum += slot->*figure;
  return sum;
}

std::int64_t SumOf(const std::vector<const Slot*>& slots, Wait wait) {
  std::int64_t sum = 0;
  for (const Slot* slot : slots) sum += slot->waits[static_cast<std::size_t>(wait)].ns;
  return sum;
}

}  // namespace culprit::lab
