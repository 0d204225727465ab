#include "cli/explain_live.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "base/signal_watch.h"
#include "cli/verb.h"

namespace culprit::cli {
namespace {

// What explain reads: who ran and waited, the disk's requests, interrupts, markers, reclaim,
// frequencies, counters.
constexpr const char* kCategories[] = {"sched", "freq", "disk", "irq", "marker", "mem", "stats"};

[[noreturn]] void BeRecorder(pid_t parent, std::vector<char*>& arguments) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (getppid() != parent) _exit(kExitFailure);
  execv("/proc/self/exe", arguments.data());
  _exit(kExitFailure);
}

// Runs record to its end; ^C ends the recording, not us.
Result<int> RunRecord(std::vector<std::string> words) {
  CULPRIT_ASSIGN(SignalWatch signals, SignalWatch::Open());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", "culprit record", errno);
  if (pid == 0) BeRecorder(parent, arguments);
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) break;
    if (got < 0 && errno != EINTR) return ErrnoError("wait for", "culprit record", errno);
    pollfd watched{signals.fd(), POLLIN, 0};
    poll(&watched, 1, 50);
    if (const int signal = signals.Take(); signal != 0) kill(pid, signal);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<LiveRecording> LiveRecording::Make(const LiveOptions& options) {
  const char* directory = std::getenv("TMPDIR");
  std::string folder = JoinPath(directory == nullptr || *directory == '\0' ? "/tmp" : directory,
                                "culprit-explain-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return ErrnoError("make", folder, errno);
  LiveRecording made(std::move(folder));
  made.path_ = made.folder_ + "/live.pftrace";
  std::vector<std::string> words = {"culprit", "record", "--quiet", "-o", made.path_};
  if (options.record_words.empty()) {
    words.insert(words.end(), std::begin(kCategories), std::end(kCategories));
  }
  words.insert(words.end(), options.record_words.begin(), options.record_words.end());
  if (!options.duration.empty()) words.insert(words.end(), {"--for", options.duration});
  if (options.pid) words.insert(words.end(), {"--pid", fmt::format("{}", *options.pid)});
  if (!options.command.empty()) {
    words.emplace_back("--");
    words.insert(words.end(), options.command.begin(), options.command.end());
  }
  CULPRIT_ASSIGN(made.exit_status_, RunRecord(std::move(words)));
  if (access(made.path_.c_str(), R_OK) != 0) {
    return Error{"there is no recording", "culprit preflight says what is missing"};
  }
  return made;
}

LiveRecording::LiveRecording(LiveRecording&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      path_(std::exchange(other.path_, {})),
      exit_status_(other.exit_status_) {}

LiveRecording::~LiveRecording() {
  if (folder_.empty()) return;
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

}  // namespace culprit::cli
