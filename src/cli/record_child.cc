#include "cli/record_child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cli/verb.h"

extern char** environ;

namespace culprit::cli {
namespace {

int ExitStatusOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The signals that the recorder takes through a descriptor are the command's own business.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int failure =
      posix_spawnp(&pid, arguments.front(), nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    Error error = ErrnoError("run", words.front(), failure);
    if (failure == ENOENT) error.remedy = "name a program that is in PATH";
    return error;
  }
  return Command(pid);
}

std::optional<int> Command::Reap(int options) {
  if (status_) return status_;
  int status = 0;
  pid_t got;
  do {
    got = waitpid(pid_, &status, options);
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
