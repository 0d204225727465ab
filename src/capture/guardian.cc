#include "capture/guardian.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace culprit::capture {
namespace {

// Built before the fork, since the child of a program with threads must not allocate.
struct Texts {
  std::string instance;
  std::string tracing_on;
  std::string events_enable;
  std::vector<ControlWrite> restores;
};

// Everything below runs in the guardian and calls async-signal-safe functions alone.

void CloseAllBut(int keep_a, int keep_b) {
  const auto low = static_cast<unsigned>(std::min(keep_a, keep_b));
  const auto high = static_cast<unsigned>(std::max(keep_a, keep_b));
  const auto close_from_to = [](unsigned first, unsigned last) {
    if (first > last) return;
    if (syscall(SYS_close_range, first, last, 0) == 0) return;
    rlimit limit{};  // before Linux 5.9
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1024;
    for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; ++fd) close(static_cast<int>(fd));
  };
  if (low > 0) close_from_to(0, low - 1);
  close_from_to(low + 1, high - 1);
  close_from_to(high + 1, ~0U);
}

void WriteText(const char* path, const char* text, std::size_t size) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t wrote = write(fd, text, size);
  close(fd);
}

[[noreturn]] void Guard(const Texts& texts, int life_pipe, int guard_pipe) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  CloseAllBut(life_pipe, guard_pipe);
  if (chdir("/") != 0) _exit(1);
  prctl(PR_SET_NAME, "culprit-guard");
  WriteText("/proc/self/oom_score_adj", "-1000", 5);
  char byte;
  ssize_t got;
  do {
    got = read(life_pipe, &byte, 1);
  } while (got > 0 || (got < 0 && errno == EINTR));

  if (access(texts.instance.c_str(), F_OK) == 0) {
    for (const ControlWrite& restore : texts.restores) {
      WriteText(restore.path.c_str(), restore.text.c_str(), restore.text.size());
    }
  }
  constexpr int kTries = 1500;  // of 20 ms: somebody may hold a file of the instance open
  constexpr timespec kPause = {0, 20'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (access(texts.instance.c_str(), F_OK) != 0) break;
    WriteText(texts.tracing_on.c_str(), "0", 1);
    WriteText(texts.events_enable.c_str(), "0", 1);
    if (rmdir(texts.instance.c_str()) == 0 || errno == ENOENT) break;
    nanosleep(&kPause, nullptr);
  }
  _exit(0);
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("make a pipe", "", errno);
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace

Result<Guardian> Guardian::Start(const kernel::TraceDirectory& instance,
                                 const std::vector<ControlWrite>& restores) {
  const Texts texts{instance.path(), instance.PathOf("tracing_on"),
                    instance.PathOf("events/enable"), restores};
  CULPRIT_ASSIGN(Pipe life, MakePipe());
  CULPRIT_ASSIGN(Pipe guard, MakePipe());
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", "the guardian process", errno);
  if (pid == 0) Guard(texts, life.read_end.get(), guard.write_end.get());
  return Guardian(pid, std::move(life.write_end), std::move(guard.read_end));
}

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      life_pipe_(std::move(other.life_pipe_)),
      guard_pipe_(std::move(other.guard_pipe_)) {}

Guardian& Guardian::operator=(Guardian&& other) noexcept {
  if (this == &other) return *this;
  Dismiss();
  pid_ = std::exchange(other.pid_, 0);
  life_pipe_ = std::move(other.life_pipe_);
  guard_pipe_ = std::move(other.guard_pipe_);
  return *this;
}

Guardian::~Guardian() { Dismiss(); }

void Guardian::Dismiss() {
  if (pid_ <= 0) return;
  life_pipe_.Reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace culprit::capture
