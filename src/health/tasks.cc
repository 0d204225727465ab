#include "health/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "health/texts.h"
#include "kernel/proc_scan.h"
#include "kernel/proc_task.h"

namespace culprit::health {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

Folder OpenFolderAt(int parent, const char* name) {
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* folder = fdopendir(fd);
  if (folder == nullptr) close(fd);
  return Folder(folder);
}

// The next entry that is a task id; 0 at the end.
std::int32_t NextId(DIR* folder) {
  while (const dirent* entry = readdir(folder)) {
    if (const auto id = ParseInteger<std::int32_t>(entry->d_name); id && *id > 0) return *id;
  }
  return 0;
}

// A stat line is at most some 400 bytes with a comm of 64; a hostile file gets no more of us.
struct StatBuffer {
  std::array<char, 2048> bytes;
  std::string_view text;
  bool Read(int folder, const char* path) {
    const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const ssize_t got = read(fd, bytes.data(), bytes.size());
    const int error_number = errno;
    close(fd);
    errno = error_number;
    if (got <= 0) return false;
    text = {bytes.data(), static_cast<std::size_t>(got)};
    return true;
  }
};

TaskRow RowOf(const kernel::TaskStat& stat, std::int32_t pid) {
  TaskRow row;
  row.tid = stat.tid;
  row.pid = pid;
  row.comm = stat.comm;
  row.state = stat.state;
  row.parent_pid = stat.parent_pid;
  row.session = stat.session;
  row.start_ticks = stat.start_ticks;
  row.cpu_ticks = stat.user_ticks + stat.system_ticks;
  row.kernel_thread = (stat.flags & kernel::kKernelThread) != 0;
  return row;
}

class Scanner {
 public:
  // `self` is the reader's process on the live machine, else 0.
  Scanner(TaskScan& scan, pid_t self) : scan_(scan), self_(self) {}

  void Process(int proc, std::int32_t pid) {
    char path[64];
    std::snprintf(path, sizeof path, "%d/stat", pid);
    if (!buffer_.Read(proc, path)) return Missed();
    const auto stat = kernel::ParseTaskStat(buffer_.text);
    if (!stat) return Missed();
    ++scan_.processes;
    scan_.names.emplace(pid, stat->comm);
    const bool kernel_thread = (stat->flags & kernel::kKernelThread) != 0;
    if (stat->state == 'Z') scan_.zombies.push_back(RowOf(*stat, pid));
    if (stat->parent_pid == 1 && !kernel_thread && stat->state != 'Z')
      scan_.orphans.push_back(RowOf(*stat, pid));
    // A zombie leader may have living threads (num_threads counts them).
    if (stat->threads <= 1 || kernel_thread) return Thread(*stat, pid);
    std::snprintf(path, sizeof path, "%d/task", pid);
    const Folder threads = OpenFolderAt(proc, path);
    if (threads == nullptr) return Thread(*stat, pid);
    while (const std::int32_t tid = NextId(threads.get())) {
      std::snprintf(path, sizeof path, "%d/stat", tid);
      if (!buffer_.Read(dirfd(threads.get()), path)) {
        Missed();
      } else if (const auto of_thread = kernel::ParseTaskStat(buffer_.text)) {
        Thread(*of_thread, pid);
      }
    }
  }

 private:
  void Missed() { ++(errno == EACCES || errno == EPERM ? scan_.denied : scan_.vanished); }

  void Thread(const kernel::TaskStat& stat, std::int32_t pid) {
    ++scan_.threads;
    // The reader and its helpers run because they look: they are no load of the node.
    const bool own = self_ != 0 && (pid == self_ || stat.parent_pid == self_);
    if (own && stat.state == 'R') return;
    ++scan_.by_state[static_cast<unsigned char>(stat.state) & 127];
    if (stat.state == 'D') scan_.waiting.push_back(RowOf(stat, pid));
    if (stat.state == 'R') ++scan_.running[std::string(stat.comm)];
  }

  TaskScan& scan_;
  const pid_t self_;
  StatBuffer buffer_{};
};

// "se.exec_start      :     1725889.532522": ms of the scheduler's clock at which it last ran.
std::optional<double> ExecStartMs(std::string_view sched) {
  kernel::LineCursor lines(sched);
  for (std::string_view line; lines.Next(line);) {
    if (!line.starts_with("se.exec_start")) continue;
    const auto colon = line.find(':');
    if (colon != line.npos) return ParseNumber(TrimBlanks(line.substr(colon + 1)));
  }
  return std::nullopt;
}

std::string TaskFile(const TaskRow& row, std::string_view name) {
  std::string path = "/proc/" + std::to_string(row.pid);
  if (row.tid != row.pid) path += "/task/" + std::to_string(row.tid);
  return path + "/" + std::string(name);
}

}  // namespace

TaskScan ScanTasks(const std::string& root) {
  TaskScan scan;
  const std::string path = JoinPath(root.empty() ? "/" : root, "proc");
  const Folder proc = OpenFolderAt(AT_FDCWD, path.c_str());
  if (proc == nullptr) {
    scan.error = "/proc: " + std::generic_category().message(errno);
    return scan;
  }
  Scanner scanner(scan, root.empty() ? getpid() : 0);
  errno = 0;
  while (const std::int32_t pid = NextId(proc.get())) scanner.Process(dirfd(proc.get()), pid);
  scan.whole = scan.processes > 0;
  if (!scan.whole) scan.error = "/proc: no process in it";
  return scan;
}

void ReadWaits(const std::string& root, std::vector<TaskRow>& rows) {
  if (rows.empty()) return;
  // We run now, so our own exec_start is the clock's now (CPUs differ by their interrupt time
  // only).
  const auto now_ms =
      root.empty() ? ExecStartMs(ReadText(root, "/proc/self/sched").text) : std::optional<double>();
  for (TaskRow& row : rows) {
    if (now_ms) {
      const auto ran_ms = ExecStartMs(ReadText(root, TaskFile(row, "sched")).text);
      if (ran_ms && *ran_ms > 0) row.waited_s = std::max(0.0, (*now_ms - *ran_ms) / 1000);
    }
    const Text status = ReadText(root, TaskFile(row, "status"));
    kernel::TaskStatus parsed;
    if (kernel::ParseTaskStatus(status.text, parsed) && parsed.voluntary_switches) {
      row.switches = *parsed.voluntary_switches + parsed.involuntary_switches.value_or(0);
    }
    row.wchan = TrimBlanks(ReadText(root, TaskFile(row, "wchan")).text);
    if (row.wchan == "0") row.wchan.clear();
  }
}

void ReadOrphanCgroups(const std::string& root, std::vector<TaskRow>& orphans) {
  for (TaskRow& row : orphans) {
    if (row.session != row.pid) continue;
    const Text text = ReadText(root, TaskFile(row, "cgroup"));
    std::vector<kernel::CgroupLine> lines;
    kernel::ParseTaskCgroups(text.text, lines);
    // One of v2 where it is in use, else the longest of v1.
    for (const kernel::CgroupLine& line : lines) {
      const bool better =
          line.hierarchy == 0 ? line.path != "/" : line.path.size() > row.cgroup.size();
      if (better) row.cgroup = line.path;
      if (better && line.hierarchy == 0) break;
    }
  }
}

void ReadStack(const std::string& root, TaskRow& row) {
  const Text stack = ReadText(root, TaskFile(row, "stack"));
  if (stack.error_number != 0) {
    row.stack_error = std::generic_category().message(stack.error_number);
    return;
  }
  std::vector<std::string_view> functions;
  kernel::ParseTaskStack(stack.text, functions);
  row.stack.assign(functions.begin(), functions.end());
  if (row.stack.empty()) row.stack_error = "empty";
}

std::vector<TaskRow> StillWaiting(const std::vector<TaskRow>& before,
                                  const std::vector<TaskRow>& after) {
  std::map<std::pair<std::int32_t, std::uint64_t>, const TaskRow*> known;
  for (const TaskRow& row : before) known[{row.tid, row.start_ticks}] = &row;
  std::vector<TaskRow> still;
  for (const TaskRow& row : after) {
    const auto at = known.find({row.tid, row.start_ticks});
    if (at == known.end() || at->second->cpu_ticks != row.cpu_ticks) continue;
    if (at->second->switches && row.switches && at->second->switches != row.switches) continue;
    still.push_back(row);
  }
  return still;
}

}  // namespace culprit::health
