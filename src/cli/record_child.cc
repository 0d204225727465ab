#include "cli/record_child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "cli/verb.h"

namespace culprit::cli {
namespace {

int ExitStatusOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Status MakePipe(UniqueFd& read_end, UniqueFd& write_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("make a pipe", "", errno);
  read_end.Reset(fds[0]);
  write_end.Reset(fds[1]);
  return {};
}

// In the child, between fork and execve: only calls that are safe there.
[[noreturn]] void RunChild(int gate, int failure, char* const* arguments) {
  // Handlers are reset by execve; what is ignored (nohup) or blocked by us is not.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGQUIT}) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char byte;
  ssize_t got;
  do {
    got = read(gate, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(125);  // nobody wants it to run
  execvp(arguments[0], arguments);
  const int error_number = errno;
  [[maybe_unused]] const ssize_t wrote = write(failure, &error_number, sizeof(error_number));
  _exit(127);
}

}  // namespace

Result<Background> Background::Fork() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("make a pipe", "", errno);
  UniqueFd read_end(fds[0]);
  UniqueFd write_end(fds[1]);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", "the background process", errno);
  Background background;
  if (pid == 0) {
    setsid();
    background.report_ = std::move(write_end);
    return background;
  }
  write_end.Reset();
  char byte;
  ssize_t got;
  do {
    got = read(read_end.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) {
    fmt::print("{}\n", pid);
    background.parent_status_ = kExitOk;
    return background;
  }
  // It has said on our stderr why.
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  background.parent_status_ = ExitStatusOf(status);
  return background;
}

void Background::Begun() {
  // First let go of the terminal, so that whoever waits for our output to end need not wait longer.
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) dup2(null, fd);
  }
  if (null > STDERR_FILENO) close(null);
  [[maybe_unused]] const ssize_t wrote = write(report_.get(), "b", 1);
  report_.Reset();
}

Result<Command> Command::Start(const std::vector<std::string>& words) {
  CULPRIT_ASSIGN(Command command, Prepare(words));
  CULPRIT_TRY(command.Go());
  return command;
}

Result<Command> Command::Prepare(const std::vector<std::string>& words) {
  UniqueFd gate_read, gate_write, failure_read, failure_write;
  CULPRIT_TRY(MakePipe(gate_read, gate_write));
  CULPRIT_TRY(MakePipe(failure_read, failure_write));
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", words.front(), errno);
  if (pid == 0) {
    gate_write.Reset();
    RunChild(gate_read.get(), failure_write.get(), arguments.data());
  }
  Command command(pid, words.front());
  command.gate_ = std::move(gate_write);
  command.failure_ = std::move(failure_read);
  return command;
}

Command::Command(Command&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      name_(std::move(other.name_)),
      gate_(std::move(other.gate_)),
      failure_(std::move(other.failure_)),
      is_gone_(other.is_gone_),
      status_(other.status_),
      usage_(other.usage_) {}

Command::~Command() {
  if (pid_ < 0 || is_gone_) return;
  gate_.Reset();
  static_cast<void>(Wait());
}

Status Command::Go() {
  is_gone_ = true;
  CULPRIT_TRY(WriteAll(gate_.get(), "g", "the command's gate"));
  gate_.Reset();
  int error_number = 0;
  ssize_t got;
  do {
    got = read(failure_.get(), &error_number, sizeof(error_number));
  } while (got < 0 && errno == EINTR);
  if (got != ssize_t{sizeof(error_number)}) return {};
  static_cast<void>(Wait());
  Error error = ErrnoError("run", name_, error_number);
  if (error_number == ENOENT) error.remedy = "name a program that is in PATH";
  return error;
}

std::optional<int> Command::Reap(int options) {
  if (status_) return status_;
  int status = 0;
  pid_t got;
  do {
    got = wait4(pid_, &status, options, &usage_);
  } while (got < 0 && errno == EINTR);
  if (got == pid_) status_ = ExitStatusOf(status);
  if (got < 0) status_ = kExitFailure;  // reaped by somebody else: unknown
  return status_;
}

std::optional<int> Command::Poll() { return Reap(WNOHANG); }
int Command::Wait() { return Reap(0).value_or(kExitFailure); }
void Command::Signal(int signal) const {
  if (!status_) kill(pid_, signal);
}

}  // namespace culprit::cli
