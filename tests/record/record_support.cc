#include "record_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <sstream>

#include "capture/instance.h"
#include "kernel/tracefs.h"
#include "tracefile/fields.h"

namespace culprit::record_test {
namespace {

namespace fields = culprit::tracefile;
using protozero::pbf_reader;

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int StatusOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A child of words with its standard files on the paths; -1 when it cannot be made.
pid_t Spawn(std::vector<std::string> words, const std::string& in, const std::string& out,
            const std::string& err, const std::string& directory) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const auto redirect = [](const std::string& path, int flags, int fd) {
    const int opened = open(path.c_str(), flags, 0600);
    if (opened < 0 || dup2(opened, fd) < 0) _exit(126);
  };
  redirect(in, O_RDONLY, STDIN_FILENO);
  redirect(out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  redirect(err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  if (!directory.empty() && chdir(directory.c_str()) != 0) _exit(126);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

std::string ThreadName(pid_t pid) {
  return TrimmedLine(Slurp("/proc/" + std::to_string(pid) + "/comm"));
}

}  // namespace

std::string WhyNoRecording() {
  if (geteuid() != 0) return "needs root";
  const auto tracefs = kernel::Tracefs::FindOrMount();
  return tracefs ? "" : "needs tracefs: " + tracefs.error().ToString();
}

bool HasCopyTraceMarker() {
  const auto tracefs = kernel::Tracefs::Find();
  return tracefs && tracefs->top().Read("trace_options").value().find("copy_trace_marker") !=
                        std::string::npos;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string path = (std::filesystem::temp_directory_path() / "culprit-test-XXXXXX").string();
  path_ = mkdtemp(path.data());
}
TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }
std::vector<std::string> TemporaryDirectory::NamesIn(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string Program() {
  const char* program = std::getenv("CULPRIT_PROGRAM");
  return program == nullptr ? "culprit" : program;
}

Outcome RunProgram(const std::vector<std::string>& words, const std::string& input,
                   const std::string& directory) {
  const TemporaryDirectory files;
  const std::string in = files.path() + "/in", out = files.path() + "/out",
                    err = files.path() + "/err";
  std::ofstream(in) << input;
  const pid_t pid = Spawn(words, in, out, err, directory);
  int status = 0;
  waitpid(pid, &status, 0);
  return {StatusOf(status), Slurp(out), Slurp(err)};
}

Outcome RunCulprit(std::vector<std::string> words, const std::string& input,
                   const std::string& directory) {
  words.insert(words.begin(), Program());
  return RunProgram(words, input, directory);
}

std::string TrimmedLine(const std::string& text) { return text.substr(0, text.find('\n')); }

bool Eventually(const std::function<bool()>& is_so) {
  for (int i = 0; i < 1500; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

Child::Child(pid_t pid, std::string output_path) : pid_(pid), output_path_(std::move(output_path)) {
  if (const auto identity = kernel::FindProcess(pid)) instance_ = capture::InstanceName(*identity);
}
Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      instance_(std::move(other.instance_)),
      output_path_(std::exchange(other.output_path_, "")) {}
Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (!output_path_.empty()) std::filesystem::remove(output_path_);
}
void Child::Signal(int signal) const { kill(pid_, signal); }
int Child::Wait() {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_) status_ = StatusOf(status);
  pid_ = 0;
  return status_;
}
std::string Child::Output() const { return Slurp(output_path_); }
bool Child::HasInstance() const {
  const auto tracefs = kernel::Tracefs::Find();
  return tracefs && PathExists(tracefs->Instance(instance_).path());
}
bool Child::WaitForInstance() const {
  return Eventually([this] {
    const auto tracefs = kernel::Tracefs::Find();
    const auto on = tracefs ? tracefs->Instance(instance_).Read("tracing_on") : tracefs.error();
    return on && *on == "1\n" && Guardian() != 0;
  });
}
pid_t Child::Guardian() const {
  const std::string text =
      Slurp("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
  std::istringstream children(text);
  for (pid_t pid; children >> pid;) {
    if (ThreadName(pid) == "culprit-guard") return pid;
  }
  return 0;
}

Child StartCulprit(std::vector<std::string> words) {
  words.insert(words.begin(), Program());
  std::string out = (std::filesystem::temp_directory_path() / "culprit-out-XXXXXX").string();
  close(mkstemp(out.data()));
  return Child(Spawn(words, "/dev/null", out, "/dev/null", ""), out);
}

std::vector<std::string> OwnInstances() {
  std::vector<std::string> own;
  const auto tracefs = kernel::Tracefs::Find();
  const auto names = tracefs ? tracefs->Instances() : tracefs.error();
  if (!names) return own;
  for (const std::string& name : *names) {
    const auto recorder = capture::ParseInstanceName(name);
    if (!recorder || !kernel::IsAlive(*recorder)) continue;
    const std::string stat = Slurp("/proc/" + std::to_string(recorder->pid) + "/stat");
    std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == getpid()) own.push_back(name);
  }
  return own;
}

SyscallLoad::SyscallLoad()
    : thread_([this] {
        tid_ = static_cast<pid_t>(syscall(SYS_gettid));
        // Not much longer than a recording: the encoder has a lower priority than this thread.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!stop_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end) {
          for (int i = 0; i < 1000; ++i) syscall(SYS_getppid);
        }
      }) {
  while (tid_ == 0) std::this_thread::yield();
}
SyscallLoad::~SyscallLoad() {
  stop_ = true;
  thread_.join();
}

pid_t StartShellLoop() {
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("sh", "sh", "-c", "while :; do /bin/true; done", nullptr);
    _exit(127);
  }
  return pid;
}

void WaitInVfork() {
  const pid_t pid = vfork();
  if (pid == 0) {
    // Long enough that the parent is asleep by then; nothing but system calls is allowed here.
    const timespec pause{0, 3'000'000};
    syscall(SYS_nanosleep, &pause, nullptr);
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
}

std::uint64_t WriteMarks(const std::string& tag, std::chrono::milliseconds time) {
  const auto tracefs = kernel::Tracefs::Find();
  const int fd = open(tracefs->top().PathOf("trace_marker").c_str(), O_WRONLY | O_CLOEXEC);
  const auto end = std::chrono::steady_clock::now() + time;
  std::uint64_t count = 0;
  while (std::chrono::steady_clock::now() < end) {
    const std::string text = tag + std::to_string(count);
    if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) break;
    ++count;
    if (count % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  close(fd);
  return count;
}

namespace {

// Numbers of FtraceEvent's own fields, from the public proto.
enum : std::uint32_t { kSchedProcessExec = 237, kSysEnter = 329, kSysExit = 330 };
constexpr std::int64_t kDState = 2;

class TraceReader {
 public:
  TraceReader(TraceFacts& facts, const std::string& tag) : facts_(facts), tag_(tag) {}

  void Packet(pbf_reader packet) {
    ++facts_.packets;
    while (packet.next()) {
      switch (packet.tag()) {
        case fields::TracePacket::kFtraceEvents:
          Bundle(packet.get_message());
          break;
        case fields::TracePacket::kFtraceStats:
          Stats(packet.get_message());
          break;
        case fields::TracePacket::kProcessTree:
          Tree(packet.get_message());
          break;
        case fields::TracePacket::kProcessStats:
          ++facts_.process_stats;
          packet.skip();
          break;
        case fields::TracePacket::kClockSnapshot:
          ++facts_.clock_snapshots;
          packet.skip();
          break;
        case fields::TracePacket::kSystemInfo:
          ++facts_.system_infos;
          packet.skip();
          break;
        case fields::TracePacket::kTraceConfig:
          ++facts_.trace_configs;
          packet.skip();
          break;
        case fields::TracePacket::kSysStats:
          SysStats(packet.get_message());
          break;
        case fields::TracePacket::kTrackDescriptor:
          Descriptor(packet.get_message());
          break;
        default:
          packet.skip();
      }
    }
  }

 private:
  void Bundle(pbf_reader bundle) {
    while (bundle.next()) {
      if (bundle.tag() == fields::FtraceEventBundle::kCompactSched) {
        Compact(bundle.get_message());
      } else if (bundle.tag() == fields::FtraceEventBundle::kEvent) {
        Event(bundle.get_message());
      } else {
        bundle.skip();
      }
    }
  }
  void Compact(pbf_reader compact) {
    while (compact.next()) {
      if (compact.tag() == fields::FtraceEventBundle::CompactSched::kSwitchPrevState) {
        for (const std::int64_t state : compact.get_packed_int64()) {
          ++facts_.switches;
          facts_.d_switches += state == kDState ? 1 : 0;
        }
      } else {
        compact.skip();
      }
    }
  }
  void Event(pbf_reader event) {
    std::int32_t tid = 0;
    bool is_syscall = false;
    while (event.next()) {
      switch (event.tag()) {
        case fields::FtraceEvent::kPid:
          tid = static_cast<std::int32_t>(event.get_uint32());
          break;
        case fields::FtraceEvent::kPrint:
          Print(event.get_message());
          break;
        case fields::FtraceEvent::kSchedSwitch:
          Switch(event.get_message());
          break;
        case kSchedProcessExec:
          Exec(event.get_message());
          break;
        case kSysEnter:
        case kSysExit:
          is_syscall = true;
          event.skip();
          break;
        default:
          event.skip();
      }
    }
    if (!is_syscall) return;
    ++facts_.syscalls;
    facts_.syscall_tids.insert(tid);
  }
  void Switch(pbf_reader sched_switch) {
    ++facts_.switches;
    constexpr std::uint32_t kPrevState = 4;
    while (sched_switch.next()) {
      if (sched_switch.tag() == kPrevState) {
        facts_.d_switches += sched_switch.get_int64() == kDState ? 1 : 0;
      } else {
        sched_switch.skip();
      }
    }
  }
  void Print(pbf_reader print) {
    while (print.next()) {
      if (print.tag() != 2) {
        print.skip();
        continue;
      }
      const std::string text = print.get_string();
      const auto at = text.find(tag_);
      if (!tag_.empty() && at != text.npos)
        facts_.marks.push_back(std::stoull(text.substr(at + tag_.size())));
    }
  }
  void Exec(pbf_reader exec) {
    while (exec.next()) {
      if (exec.tag() == 1) {
        facts_.exec_names.push_back(exec.get_string());
      } else {
        exec.skip();
      }
    }
  }
  void Stats(pbf_reader stats) {
    bool at_end = false;
    std::uint64_t overrun = 0;
    while (stats.next()) {
      if (stats.tag() == fields::FtraceStats::kPhase) {
        at_end = stats.get_enum() == fields::FtraceStats::Phase::kEndOfTrace;
      } else if (stats.tag() == fields::FtraceStats::kCpuStats) {
        pbf_reader cpu = stats.get_message();
        while (cpu.next()) {
          if (cpu.tag() == fields::FtraceCpuStats::kOverrun) {
            overrun += cpu.get_uint64();
          } else {
            cpu.skip();
          }
        }
      } else if (stats.tag() == fields::FtraceStats::kUnknownFtraceEvents) {
        facts_.unknown_events.push_back(stats.get_string());
      } else {
        stats.skip();
      }
    }
    (at_end ? facts_.overrun_at_end : facts_.overrun_at_start) += overrun;
  }
  void Tree(pbf_reader tree) {
    ++facts_.process_trees;
    while (tree.next()) {
      if (tree.tag() != fields::ProcessTree::kProcesses) {
        tree.skip();
        continue;
      }
      pbf_reader process = tree.get_message();
      std::int32_t pid = 0;
      std::string name;
      while (process.next()) {
        if (process.tag() == fields::ProcessTree::Process::kPid) {
          pid = process.get_int32();
        } else if (process.tag() == fields::ProcessTree::Process::kCmdline && name.empty()) {
          name = process.get_string();
        } else {
          process.skip();
        }
      }
      facts_.process_names[pid] = name;
    }
  }
  void SysStats(pbf_reader stats) {
    ++facts_.sys_stats;
    while (stats.next()) {
      facts_.cpu_times += stats.tag() == fields::SysStats::kCpuStat ? 1 : 0;
      facts_.meminfo_values += stats.tag() == fields::SysStats::kMeminfo ? 1 : 0;
      facts_.vmstat_values += stats.tag() == fields::SysStats::kVmstat ? 1 : 0;
      stats.skip();
    }
  }
  void Descriptor(pbf_reader descriptor) {
    while (descriptor.next()) {
      if (descriptor.tag() == fields::TrackDescriptor::kName) {
        facts_.counter_names.push_back(descriptor.get_string());
      } else {
        descriptor.skip();
      }
    }
  }

  TraceFacts& facts_;
  const std::string& tag_;
};

}  // namespace

TraceFacts ReadTrace(const std::string& path, const std::string& mark_tag) {
  TraceFacts facts;
  const std::string bytes = Slurp(path);
  try {
    pbf_reader trace(bytes);
    TraceReader reader(facts, mark_tag);
    while (trace.next(fields::Trace::kPacket)) reader.Packet(trace.get_message());
    facts.whole = !bytes.empty();
  } catch (const std::exception&) {  // protozero's, of a message that is cut or malformed
  }
  return facts;
}

}  // namespace culprit::record_test
