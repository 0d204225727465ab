#include "cli/lab_record.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/signal_watch.h"
#include "cli/verb.h"
#include "lab/caretaker.h"

namespace culprit::cli {
namespace {

// What explain reads: who ran and waited, the disk's requests, interrupts, the trainer's marks,
// reclaim and page faults, lock waits, counters.
constexpr const char* kCategories[] = {"sched", "disk", "irq", "marker", "mem", "stats"};

Result<std::string> OwnProgram() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0) return ErrnoError("read", "/proc/self/exe", errno);
  return std::string(path, static_cast<std::size_t>(size));
}

}  // namespace

Status SaveTruth(const std::string& path, const std::string& json) {
  CULPRIT_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  CULPRIT_TRY(WriteAll(file.fd(), json, path));
  return file.Commit();
}

namespace {

// Starts `words`; it gets SIGTERM when we die.
Result<pid_t> StartChild(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("start", words.front(), errno);
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (getppid() != parent) _exit(kExitFailure);
  execv(arguments.front(), arguments.data());
  _exit(127);
}

// Runs `words` to their end; what signals us is passed on. Its exit status.
Result<int> RunChild(const std::vector<std::string>& words, SignalWatch& signals) {
  CULPRIT_ASSIGN(const pid_t pid, StartChild(words));
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) break;
    if (got < 0 && errno != EINTR) return ErrnoError("wait for", words.front(), errno);
    pollfd watched{signals.fd(), POLLIN, 0};
    poll(&watched, 1, 50);
    if (const int signal = signals.Take(); signal != 0) kill(pid, signal);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> RecordWords(const std::string& self, const LabRecording& recording,
                                     const std::string& trace) {
  const lab::Options& options = recording.options;
  std::vector<std::string> words = {self, "record", "--quiet", "-o", trace};
  words.insert(words.end(), std::begin(kCategories), std::end(kCategories));
  const std::vector<std::string> lab = {"--",           self,
                                        "lab",          options.scenario,
                                        "--for",        fmt::format("{}ns", options.duration.value),
                                        "--dir",        options.directory,
                                        "--seed",       fmt::format("{}", options.seed),
                                        "--with-parent"};
  words.insert(words.end(), lab.begin(), lab.end());
  const auto add = [&words](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (options.scale > 0) add("--scale", fmt::format("{}", options.scale));
  if (!options.fault.empty()) add("--fault", options.fault);
  if (!recording.truth.empty()) add("--truth", recording.truth);
  if (recording.json) words.emplace_back("--json");
  return words;
}

int RecordAndExplain(const LabRecording& recording, const std::string& trace,
                     SignalWatch& signals) {
  const auto self = OwnProgram();
  if (!self) return Fail(self.error());
  const auto recorded = RunChild(RecordWords(*self, recording, trace), signals);
  if (!recorded) return Fail(recorded.error());
  if (*recorded != kExitOk || !recording.explain) return *recorded;
  const auto explained = RunChild({*self, "explain", trace}, signals);
  return explained ? *explained : Fail(explained.error());
}

}  // namespace

int RecordScenario(const LabRecording& recording) {
  auto signals = SignalWatch::Open();
  if (!signals) return Fail(signals.error());
  if (!recording.trace.empty()) return RecordAndExplain(recording, recording.trace, *signals);

  auto caretaker = lab::Caretaker::Start();
  if (!caretaker) return Fail(caretaker.error());
  const auto name = lab::PrivateName();
  if (!name) return Fail(name.error());
  const std::string folder = JoinPath(recording.options.directory, *name);
  if (const Status promised = caretaker->Promise(lab::Thing::kTree, folder); !promised) {
    return Fail(promised.error());
  }
  if (mkdir(folder.c_str(), 0700) != 0) return Fail(ErrnoError("make", folder, errno));
  return RecordAndExplain(recording, folder + "/lab.pftrace", *signals);
}

}  // namespace culprit::cli
