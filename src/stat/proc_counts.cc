#include "stat/proc_counts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_cpu.h"
#include "kernel/proc_scan.h"
#include "kernel/proc_task.h"

namespace culprit::stat {
namespace {

using Values = ProcCounts::Values;

std::optional<std::uint64_t>& At(Values& values, ProcCount count) {
  return values[static_cast<std::size_t>(count)];
}

std::uint64_t TickNs() {
  static const long ticks_per_s = sysconf(_SC_CLK_TCK);
  return ticks_per_s > 0 ? 1'000'000'000u / static_cast<std::uint64_t>(ticks_per_s) : 10'000'000u;
}

std::vector<std::int32_t> NumbersIn(const std::string& path) {
  std::vector<std::int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return numbers;
  while (const dirent* entry = readdir(directory.get())) {
    if (const auto number = ParseInteger<std::int32_t>(entry->d_name)) numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::uint64_t> Sum(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

// now - base; what did not exist in the base counts from 0. Counters do not go back.
Values Since(const Values& base, const Values& now) {
  Values since;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!now[i]) continue;
    const std::uint64_t begin = base[i].value_or(0);
    since[i] = *now[i] >= begin ? *now[i] - begin : 0;
  }
  return since;
}

void Add(Values& sum, const Values& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (more[i]) sum[i] = sum[i].value_or(0) + *more[i];
  }
}

void TakeStat(const kernel::TaskStat& stat, Values& values) {
  At(values, ProcCount::kUserTime) = stat.user_ticks * TickNs();
  At(values, ProcCount::kSystemTime) = stat.system_ticks * TickNs();
  At(values, ProcCount::kMinorFaults) = stat.minor_faults;
  At(values, ProcCount::kMajorFaults) = stat.major_faults;
  At(values, ProcCount::kFaults) = stat.minor_faults + stat.major_faults;
}

struct Wanted {
  bool clock = false;
  bool migrations = false;
};

// A thread's files; false when it is gone.
bool ReadThread(const std::string& directory, Wanted wanted, Values& values,
                std::uint64_t& start_ticks, std::string& comm) {
  const auto stat_text = ReadFile(directory + "/stat");
  const auto stat = stat_text ? kernel::ParseTaskStat(*stat_text) : std::nullopt;
  if (!stat) return false;
  start_ticks = stat->start_ticks;
  comm = stat->comm;
  TakeStat(*stat, values);
  kernel::TaskStatus status;
  const auto status_text = ReadFile(directory + "/status");
  if (status_text && kernel::ParseTaskStatus(*status_text, status)) {
    At(values, ProcCount::kVoluntary) = status.voluntary_switches;
    At(values, ProcCount::kInvoluntary) = status.involuntary_switches;
    At(values, ProcCount::kSwitches) = Sum(status.voluntary_switches, status.involuntary_switches);
  }
  if (!wanted.clock) return true;
  if (const auto text = ReadFile(directory + "/schedstat")) {
    if (const auto sched = kernel::ParseTaskSchedStat(*text)) {
      At(values, ProcCount::kTaskClock) = sched->run_ns;
    }
  }
  if (wanted.migrations) {
    if (const auto text = ReadFile(directory + "/sched")) {  // CONFIG_SCHED_DEBUG
      for (const std::string_view line : SplitLines(*text)) {
        if (!line.starts_with("se.nr_migrations")) continue;
        const auto colon = line.find(':');
        if (colon == line.npos) continue;
        At(values, ProcCount::kMigrations) =
            ParseInteger<std::uint64_t>(TrimBlanks(line.substr(colon + 1)));
      }
    }
  }
  return true;
}

}  // namespace

ProcCounts ProcCounts::Begin(std::string root, std::vector<std::int32_t> pids,
                             bool with_migrations) {
  ProcCounts counts;
  counts.root_ = std::move(root);
  counts.pids_ = std::move(pids);
  counts.with_migrations_ = with_migrations;
  counts.Poll();
  counts.first_ = false;
  return counts;
}

void ProcCounts::PollProcess(std::int32_t pid, bool first) {
  const std::string directory = JoinPath(root_, "proc/") + std::to_string(pid);
  const auto text = ReadFile(directory + "/stat");
  const auto stat = text ? kernel::ParseTaskStat(*text) : std::nullopt;
  if (!stat) return;
  auto [found, is_new] = processes_.try_emplace(pid);
  Process& process = found->second;
  if (!is_new && process.start_ticks != stat->start_ticks) return;  // another one of that number
  process.start_ticks = stat->start_ticks;
  TakeStat(*stat, process.now);
  if (is_new && first) process.base = process.now;
  process.alive = true;
  if (!process.is_target) return;
  const bool is_machine = pids_.empty();
  std::vector<std::int32_t> children;
  for (const std::int32_t tid : NumbersIn(directory + "/task")) {
    const std::string task = directory + "/task/" + std::to_string(tid);
    Raw raw;
    std::string comm;
    const Wanted wanted{.clock = !is_machine, .migrations = with_migrations_ && !is_machine};
    if (!ReadThread(task, wanted, raw.now, raw.start_ticks, comm)) continue;
    auto [base, is_new_thread] = bases_.try_emplace(tid);
    if (is_new_thread) {
      base->second.start_ticks = raw.start_ticks;
      if (first) base->second.now = raw.now;
    } else if (base->second.start_ticks != raw.start_ticks) {
      continue;
    }
    Thread& thread = threads_[tid];
    thread = {pid, tid, std::move(comm), true, Since(base->second.now, raw.now)};
    if (is_machine) continue;
    if (const auto list = ReadFile(task + "/children")) {  // CONFIG_PROC_CHILDREN
      kernel::WordCursor words(*list);
      while (const auto child = words.Number()) {
        children.push_back(static_cast<std::int32_t>(*child));
      }
    }
  }
  for (const std::int32_t child : children) {
    if (first) {
      // It was there before: only what is made from now on is counted, as inherit does.
      const bool is_asked = std::ranges::find(pids_, child) != pids_.end();
      if (!is_asked) processes_[child].is_target = false;
      continue;
    }
    if (processes_.contains(child) && !processes_[child].is_target) continue;
    PollProcess(child, false);
  }
}

void ProcCounts::PollMachine() {
  Values& now = machine_now_;
  if (const auto text = ReadFile(JoinPath(root_, "proc/stat"))) {
    kernel::MachineStat stat;
    if (kernel::ParseMachineStat(*text, stat)) {
      At(now, ProcCount::kSwitches) = stat.context_switches;
      if (stat.all) {
        using C = kernel::CpuColumn;
        const kernel::CpuTicks& all = *stat.all;
        const std::uint64_t user = all[C::kUser] + all[C::kNice];
        const std::uint64_t system = all[C::kSystem] + all[C::kIrq] + all[C::kSoftirq];
        At(now, ProcCount::kUserTime) = user * TickNs();
        At(now, ProcCount::kSystemTime) = system * TickNs();
        At(now, ProcCount::kTaskClock) = (user + system) * TickNs();
      }
    }
  }
  if (const auto text = ReadFile(JoinPath(root_, "proc/vmstat"))) {
    std::vector<kernel::NamedValue> values;
    kernel::ParseNamedValues(*text, values);
    const auto all = kernel::FindValue(values, "pgfault");
    const auto major = kernel::FindValue(values, "pgmajfault");
    At(now, ProcCount::kFaults) = all;
    At(now, ProcCount::kMajorFaults) = major;
    if (all && major) At(now, ProcCount::kMinorFaults) = *all - std::min(*all, *major);
  }
  if (first_) machine_base_ = now;
}

void ProcCounts::Poll() {
  std::set<std::int32_t> before;
  for (auto& [tid, thread] : threads_) {
    if (thread.alive) before.insert(tid);
    thread.alive = false;
  }
  if (pids_.empty()) {
    PollMachine();
    // The kinds of switches are kept by thread alone.
    for (const std::int32_t pid : NumbersIn(JoinPath(root_, "proc"))) PollProcess(pid, first_);
  } else {
    for (const std::int32_t pid : pids_) PollProcess(pid, first_);
  }
  for (const std::int32_t tid : before) {
    if (!threads_[tid].alive) ++ended_threads_;
  }
}

Values ProcCounts::Total() const {
  Values total;
  for (const auto& [tid, thread] : threads_) Add(total, thread.values);
  if (pids_.empty()) {
    const Values machine = Since(machine_base_, machine_now_);
    for (std::size_t i = 0; i < total.size(); ++i) {
      if (machine[i]) total[i] = machine[i];
    }
    return total;
  }
  // Processes keep times and faults of threads that ended.
  Values processes;
  for (const auto& [pid, process] : processes_) {
    if (process.is_target) Add(processes, Since(process.base, process.now));
  }
  for (std::size_t i = 0; i < total.size(); ++i) {
    if (processes[i]) total[i] = processes[i];
  }
  return total;
}

Values ProcCounts::TotalOfCommand(std::int32_t pid, const Values& at_end) const {
  Values base;
  if (const auto process = processes_.find(pid); process != processes_.end()) {
    base = process->second.base;
  }
  if (const auto thread = bases_.find(pid); thread != bases_.end()) {
    for (std::size_t i = 0; i < base.size(); ++i) {
      if (!base[i]) base[i] = thread->second.now[i];
    }
  }
  Values total = Since(base, at_end);
  const Values polled = Total();
  for (std::size_t i = 0; i < total.size(); ++i) {
    if (!total[i]) total[i] = polled[i];
  }
  return total;
}

Values ValuesOf(const rusage& usage) {
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(time.tv_usec) * 1000u;
  };
  const auto count = [](long value) { return static_cast<std::uint64_t>(value); };
  Values values;
  At(values, ProcCount::kUserTime) = ns(usage.ru_utime);
  At(values, ProcCount::kSystemTime) = ns(usage.ru_stime);
  At(values, ProcCount::kTaskClock) = ns(usage.ru_utime) + ns(usage.ru_stime);
  At(values, ProcCount::kMinorFaults) = count(usage.ru_minflt);
  At(values, ProcCount::kMajorFaults) = count(usage.ru_majflt);
  At(values, ProcCount::kFaults) = count(usage.ru_minflt + usage.ru_majflt);
  At(values, ProcCount::kVoluntary) = count(usage.ru_nvcsw);
  At(values, ProcCount::kInvoluntary) = count(usage.ru_nivcsw);
  At(values, ProcCount::kSwitches) = count(usage.ru_nvcsw + usage.ru_nivcsw);
  return values;
}

}  // namespace culprit::stat
