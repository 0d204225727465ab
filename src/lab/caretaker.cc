#include "lab/caretaker.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "kernel/process_identity.h"

namespace culprit::lab {
namespace {

constexpr std::string_view kWords[] = {"tree", "cgroup", "swap", "zram"};
constexpr std::string_view kPrefix = "culprit-lab.";
constexpr int kTries = 250;
constexpr timespec kPause = {0, 20'000'000};

// Killed processes are still leaving for a while; a cgroup can be removed once they have left.
bool RemoveCgroup(const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    if (auto members = ReadFile(path + "/cgroup.procs")) {
      for (const std::string_view line : SplitLines(*members)) {
        if (const auto pid = ParseInteger<pid_t>(line); pid && *pid > 1) kill(*pid, SIGKILL);
      }
    }
    if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

bool RemoveZram(const std::string& number) {
  const std::string path = "/sys/block/zram" + number;
  for (int i = 0; i < kTries; ++i) {
    if (!PathExists(path)) return true;
    // Busy as long as it is open somewhere.
    if (WriteControlFile("/sys/class/zram-control/hot_remove", number).ok()) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

// The kernel answers ENOMEM while pages would go back to a job that is being killed at its limit.
bool EndSwap(const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    if (swapoff(path.c_str()) == 0 || errno == EINVAL || errno == ENOENT) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

bool Undo(std::string_view word, const std::string& name) {
  if (word == "cgroup") return RemoveCgroup(name);
  if (word == "zram") return RemoveZram(name);
  if (word == "swap") return EndSwap(name);
  std::error_code failed;
  std::filesystem::remove_all(name, failed);
  return !failed;
}

// True when nothing is left.
bool UndoAll(const std::vector<std::string>& promises) {
  bool clean = true;
  for (auto line = promises.rbegin(); line != promises.rend(); ++line) {
    const std::size_t blank = line->find(' ');
    clean = Undo(line->substr(0, blank), line->substr(blank + 1)) && clean;
  }
  return clean;
}

[[noreturn]] void Care(UniqueFd pipe) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_NAME, "culprit-lab-care");
  // Whoever reads our output to its end waits for the lab, not for the caretaker.
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) dup2(null, fd);
  }
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(pipe.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::vector<std::string> promises;
  for (const std::string_view line : SplitLines(text)) promises.emplace_back(line);
  _exit(UndoAll(promises) ? 0 : 1);
}

}  // namespace

pid_t Caretaker::getpid_() { return getpid(); }

Result<Caretaker> Caretaker::Start() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("make a pipe", "", errno);
  UniqueFd read_end(fds[0]);
  UniqueFd write_end(fds[1]);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", "the lab's caretaker", errno);
  if (pid == 0) {
    write_end.Reset();
    Care(std::move(read_end));
  }
  return Caretaker(pid, std::move(write_end));
}

Caretaker::Caretaker(Caretaker&& other) noexcept
    : owner_(other.owner_),
      pid_(std::exchange(other.pid_, 0)),
      pipe_(std::move(other.pipe_)),
      promises_(std::move(other.promises_)) {}

Caretaker::~Caretaker() {
  if (getpid() == owner_) static_cast<void>(Finish());
}

Status Caretaker::Promise(Thing thing, const std::string& name) {
  if (name.find('\n') != std::string::npos) {
    return Error{"the folder's name has a line break", "give another --dir"};
  }
  const std::string line = fmt::format("{} {}", kWords[static_cast<std::size_t>(thing)], name);
  CULPRIT_TRY(WriteAll(pipe_.get(), line + "\n", "the lab's caretaker"));
  promises_.push_back(line);
  return {};
}

Status Caretaker::Finish() {
  if (pid_ == 0) return {};
  pipe_.Reset();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  // Somebody killed it, or something was busy for long: once more, from here.
  if (UndoAll(promises_)) return {};
  std::string left;
  for (const std::string& line : promises_) left += (left.empty() ? "" : ", ") + line;
  return Error{"the lab could not remove all it made: " + left, "remove it by hand"};
}

Result<std::string> PrivateName() {
  CULPRIT_ASSIGN(const kernel::ProcessIdentity self, kernel::OwnIdentity());
  return fmt::format("{}{}.{}", kPrefix, self.pid, self.start_ticks);
}

void SweepLeftovers(const std::vector<std::string>& parents) {
  for (const std::string& parent : parents) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(parent, failed)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix) || entry.is_symlink(failed)) continue;
      const auto parts = Split(std::string_view(name).substr(kPrefix.size()), '.');
      if (parts.size() != 2) continue;
      const auto pid = ParseInteger<std::int32_t>(parts[0]);
      const auto start = ParseInteger<std::uint64_t>(parts[1]);
      if (!pid || !start || kernel::IsAlive({*pid, *start})) continue;
      const bool is_cgroup = PathExists(entry.path().string() + "/cgroup.procs");
      // A file in use as swap cannot be removed.
      if (!is_cgroup) EndSwap(entry.path() / kSwapFile);
      Undo(is_cgroup ? "cgroup" : "tree", entry.path().string());
    }
  }
}

}  // namespace culprit::lab
