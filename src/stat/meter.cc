#include "stat/meter.h"

#include <fmt/core.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_scan.h"
#include "stat/event_table.h"

namespace culprit::stat {
namespace {

// Threads that are born while a process is attached to are counted once only when nobody is born
// between two looks; a process that makes threads all the time gets so many tries.
constexpr int kAttachTries = 8;

std::vector<std::int32_t> ThreadsOf(const std::string& root, std::int32_t pid) {
  std::vector<std::int32_t> tids;
  std::error_code ignored;
  const std::string path = JoinPath(root, "proc/") + std::to_string(pid) + "/task";
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    if (const auto tid = ParseInteger<std::int32_t>(entry.path().filename().native())) {
      tids.push_back(*tid);
    }
  }
  std::ranges::sort(tids);
  return tids;
}

bool IsClock(const Event& event) {
  return event.type == PERF_TYPE_SOFTWARE &&
         (event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK);
}

std::string PerfRemedy(const std::string& root, int error_number, bool whole_machine) {
  if (error_number == ENOSYS)
    return "this kernel has no perf events, or a seccomp filter hides them";
  const auto text = ReadFile(JoinPath(root, "proc/sys/kernel/perf_event_paranoid"));
  const auto level = text ? ParseInteger<int>(TrimBlanks(*text)) : std::nullopt;
  if (level && *level <= 1 && error_number == EPERM) {
    return "forbidden by a seccomp filter or security module; start the container with "
           "--security-opt seccomp=unconfined or --cap-add PERFMON";
  }
  return fmt::format(
      "perf_event_paranoid is {}; run as root or with CAP_PERFMON, or sysctl "
      "kernel.perf_event_paranoid={}",
      level ? std::to_string(*level) : "not readable", whole_machine ? 0 : 1);
}

}  // namespace

std::string_view StateName(CountState state) {
  constexpr std::string_view kNames[] = {"counted", "not counted", "not supported", "not allowed",
                                         "not known"};
  return kNames[static_cast<int>(state)];
}

std::optional<double> Count::Scaled() const {
  if (state != CountState::kCounted) return std::nullopt;
  if (running_ns == 0 || running_ns >= enabled_ns) return static_cast<double>(raw);
  return static_cast<double>(raw) * static_cast<double>(enabled_ns) /
         static_cast<double>(running_ns);
}

double Count::RunningPct() const {
  if (enabled_ns == 0) return 100;
  return std::min(100.0, 100.0 * static_cast<double>(running_ns) / static_cast<double>(enabled_ns));
}

Sample Difference(const Sample& later, const Sample& earlier) {
  const auto minus = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
  std::map<std::tuple<int, int, int>, const Row*> before;
  for (const Row& row : earlier.rows) before[{row.pid, row.tid, row.cpu}] = &row;
  Sample difference = later;
  difference.begin = earlier.end;
  for (Row& row : difference.rows) {
    const auto found = before.find({row.pid, row.tid, row.cpu});
    if (found == before.end()) continue;
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      Count& count = row.counts[i];
      const Count& base = found->second->counts[i];
      count.raw = minus(count.raw, base.raw);
      count.enabled_ns = minus(count.enabled_ns, base.enabled_ns);
      count.running_ns = minus(count.running_ns, base.running_ns);
      if (count.state == CountState::kCounted && count.enabled_ns > 0 && count.running_ns == 0) {
        count.state = CountState::kNeverOn;
      }
    }
  }
  return difference;
}

Result<std::unique_ptr<Meter>> Meter::Attach(CounterOpener& opener, MeterPlan plan) {
  std::unique_ptr<Meter> meter(new Meter(opener, std::move(plan)));
  bool any_proc = false;
  for (const EventGroup& group : meter->plan_.groups) {
    for (const Event& event : group) {
      meter->events_.push_back({event, "", CountState::kCounted, ""});
      any_proc = any_proc || event.proc != ProcCount::kNone;
    }
  }
  if (const auto text = ReadFile(JoinPath(meter->plan_.root, "sys/devices/system/cpu/online"))) {
    meter->online_ = kernel::ParseCpuList(TrimBlanks(*text)).value_or(std::vector<std::uint32_t>());
  }
  CULPRIT_TRY(meter->plan_.pids.empty() ? meter->AttachMachine() : meter->AttachProcesses());
  bool migrations = false;
  for (EventStatus& status : meter->events_) {
    if (!status.source.empty()) continue;
    const bool by_cpu = meter->SplitsCpus();
    if (status.event.proc != ProcCount::kNone) {
      status.source = "/proc";
      status.refusal = CountState::kCounted;
      if (!status.reason.empty()) status.reason = "from /proc: " + status.reason;
      migrations = migrations || status.event.proc == ProcCount::kMigrations;
    } else if (status.refusal == CountState::kCounted) {
      status.refusal = CountState::kNotKnown;
      status.reason = by_cpu ? "no CPU counted it" : "no thread was there to be counted";
    }
  }
  if (any_proc || meter->plan_.split == Split::kThread) {
    meter->proc_ = ProcCounts::Begin(meter->plan_.root, meter->plan_.pids, migrations);
  }
  meter->begin_ = NowBoottime();
  // Bases last, and together: what was counted while others were opened is taken off.
  for (Cell& cell : meter->cells_) {
    CULPRIT_ASSIGN(cell.base, cell.counter->Read());
  }
  for (const auto& cover : meter->covers_) {
    CULPRIT_ASSIGN(const Reading base, cover->Read());
    meter->cover_bases_.push_back(base.value);
  }
  return meter;
}

Status Meter::AttachMachine() {
  if (online_.empty()) {
    return Error{"/sys/devices/system/cpu/online cannot be read", "mount /sys"};
  }
  for (const std::uint32_t cpu : online_) {
    CULPRIT_TRY(OpenGroups({.cpu = static_cast<std::int32_t>(cpu)}));
  }
  return {};
}

Status Meter::AttachProcesses() {
  const bool inherit = plan_.split != Split::kThread;
  const auto list = [this] {
    std::vector<std::int32_t> all;
    for (const std::int32_t pid : plan_.pids) {
      const auto tids = ThreadsOf(plan_.root, pid);
      all.insert(all.end(), tids.begin(), tids.end());
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  for (const std::int32_t pid : plan_.pids) {
    if (ThreadsOf(plan_.root, pid).empty()) {
      return Error{"no process " + std::to_string(pid), "see ps, or pgrep NAME"};
    }
  }
  for (int attempt = 0; attempt < kAttachTries; ++attempt) {
    cells_.clear();
    covers_.clear();
    attached_.clear();
    const std::vector<std::int32_t> before = list();
    for (const std::int32_t tid : before) CULPRIT_TRY(AttachThread(tid, inherit));
    const std::vector<std::int32_t> after = list();
    // A newcomer may be the child of one that was attached (and inherit its counters) or of one
    // that was not yet: nobody can tell, so begin anew. New ones of --per-thread are just added.
    unstable_ = inherit && !std::ranges::includes(before, after);
    if (!unstable_) break;
  }
  return {};
}

Status Meter::AttachThread(std::int32_t tid, bool inherit) {
  attached_.push_back(tid);
  const CounterPlace place{.tid = tid, .inherit = inherit, .from_exec = plan_.is_command};
  if (plan_.split == Split::kThread && proc_ == std::nullopt) {
    Event clock;
    clock.type = PERF_TYPE_SOFTWARE;
    clock.config = PERF_COUNT_SW_TASK_CLOCK;
    clock.exclude_kernel = true;  // counts the same, and any user may
    CounterPlace cover = place;
    cover.inherit = true;
    auto opened = opener_.Open(clock, cover, nullptr);
    if (opened.counter) covers_.push_back(std::move(opened.counter));
  }
  if (!SplitsCpus()) return OpenGroups(place);
  for (const std::uint32_t cpu : online_) {
    CounterPlace here = place;
    here.cpu = static_cast<std::int32_t>(cpu);
    CULPRIT_TRY(OpenGroups(here));
  }
  return {};
}

Status Meter::OpenGroups(const CounterPlace& place) {
  std::size_t event = 0;
  for (const EventGroup& group : plan_.groups) {
    const Counter* leader = nullptr;
    for (std::size_t i = 0; i < group.size(); ++i, ++event) {
      CULPRIT_ASSIGN(auto counter, OpenOne(event, place, leader));
      if (counter == nullptr) continue;
      cells_.push_back({std::move(counter), {}, event, place.tid, place.cpu});
      if (leader == nullptr) leader = cells_.back().counter.get();
    }
  }
  return {};
}

Result<std::unique_ptr<Counter>> Meter::OpenOne(std::size_t index, const CounterPlace& place,
                                                const Counter* leader) {
  EventStatus& status = events_[index];
  Event& event = status.event;
  if (!event.has_perf || status.refusal != CountState::kCounted) return std::unique_ptr<Counter>();
  if (!event.cpus.empty()) {
    if (place.tid >= 0) {
      status.refusal = CountState::kNotSupported;
      status.reason = "counts for the machine, not for a process: use -a";
      return std::unique_ptr<Counter>();
    }
    if (std::ranges::find(event.cpus, static_cast<std::uint32_t>(place.cpu)) == event.cpus.end()) {
      return std::unique_ptr<Counter>();
    }
  }
  OpenedCounter opened = opener_.Open(event, place, leader);
  if (!opened.counter && leader != nullptr && opened.error_number == EINVAL) {
    opened = opener_.Open(event, place, nullptr);  // the group has more events than counters
  }
  // What happens in the kernel is not for every user. For faults and switches /proc has all of it.
  const bool is_software = event.type == PERF_TYPE_SOFTWARE && !IsClock(event);
  if (!opened.counter && (opened.error_number == EACCES || opened.error_number == EPERM) &&
      !event.exclude_kernel && !event.exclude_user && !is_software) {
    event.exclude_kernel = true;
    const int first_error = opened.error_number;
    opened = opener_.Open(event, place, leader);
    if (opened.counter && !IsClock(event)) {
      status.source = "perf (user mode)";
      status.reason = "what the kernel did for it is not counted: " +
                      PerfRemedy(plan_.root, first_error, plan_.pids.empty());
    } else if (!opened.counter) {
      event.exclude_kernel = false;
    }
  }
  if (opened.counter) {
    if (status.source.empty()) status.source = "perf";
    return std::move(opened.counter);
  }
  const int error_number = opened.error_number;
  if (error_number == ESRCH) return std::unique_ptr<Counter>();  // it has ended meanwhile
  if (error_number == ENODEV && place.cpu >= 0) return std::unique_ptr<Counter>();  // offline now
  if (error_number == EMFILE || error_number == ENFILE) {
    return Error{fmt::format("{} counters are open and no more can be", cells_.size()),
                 "raise the limit of open files (ulimit -n), or count fewer events (-e)"};
  }
  if (status.source.empty()) Refuse(index, error_number);
  return std::unique_ptr<Counter>();
}

void Meter::Refuse(std::size_t index, int error_number) {
  EventStatus& status = events_[index];
  const bool allowed = error_number != EACCES && error_number != EPERM && error_number != ENOSYS;
  status.refusal = allowed ? CountState::kNotSupported : CountState::kNotAllowed;
  status.reason = allowed ? "this machine's CPU or kernel has no such event"
                          : PerfRemedy(plan_.root, error_number, plan_.pids.empty());
}

Status Meter::Poll() {
  if (!proc_ || plan_.pids.empty()) return {};
  proc_->Poll();
  if (plan_.split != Split::kThread) return {};
  const std::set<std::int32_t> attached(attached_.begin(), attached_.end());
  for (const auto& [tid, thread] : proc_->threads()) {
    if (!thread.alive || attached.contains(tid)) continue;
    const std::size_t first = cells_.size();
    ++late_threads_;
    const bool is_command = std::exchange(plan_.is_command, false);  // it has no exec before it
    const Status attached_now = AttachThread(tid, false);
    plan_.is_command = is_command;
    CULPRIT_TRY(attached_now);
    for (std::size_t i = first; i < cells_.size(); ++i) cells_[i].base = {};
  }
  return {};
}

Result<Sample> Meter::Take(const ProcCounts::Values* at_end) {
  Sample sample;
  sample.end = NowBoottime() - begin_;
  if (proc_) proc_->Poll();
  sample.rows.emplace_back().counts.resize(events_.size());
  std::map<std::int32_t, std::vector<Count>> split;
  for (Cell& cell : cells_) {
    CULPRIT_ASSIGN(const Reading reading, cell.counter->Read());
    const auto add = [&](Count& count) {
      count.state = CountState::kCounted;
      count.raw += reading.value - std::min(cell.base.value, reading.value);
      count.enabled_ns += reading.enabled_ns - std::min(cell.base.enabled_ns, reading.enabled_ns);
      count.running_ns += reading.running_ns - std::min(cell.base.running_ns, reading.running_ns);
    };
    add(sample.rows.front().counts[cell.event]);
    if (plan_.split == Split::kNone) continue;
    auto& counts = split[plan_.split == Split::kCpu ? cell.cpu : cell.tid];
    counts.resize(events_.size());
    add(counts[cell.event]);
  }
  if (plan_.split == Split::kThread && proc_) {
    for (const auto& [tid, thread] : proc_->threads()) split[tid].resize(events_.size());
  }
  for (auto& [key, counts] : split) {
    Row row;
    (plan_.split == Split::kCpu ? row.cpu : row.tid) = key;
    row.counts = std::move(counts);
    sample.rows.push_back(std::move(row));
  }
  ProcCounts::Values total;
  if (proc_) {
    total = at_end != nullptr ? proc_->TotalOfCommand(plan_.pids.front(), *at_end) : proc_->Total();
  }
  for (Row& row : sample.rows) {
    const ProcCounts::Values* values = row.tid < 0 && row.cpu < 0 ? &total : nullptr;
    if (row.tid >= 0 && proc_) {
      if (const auto found = proc_->threads().find(row.tid); found != proc_->threads().end()) {
        row.pid = found->second.pid;
        row.comm = found->second.comm;
        values = &found->second.values;
      }
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      Count& count = row.counts[i];
      const EventStatus& status = events_[i];
      if (status.refusal != CountState::kCounted) {
        count = {.state = status.refusal};
      } else if (status.source == "/proc") {
        const auto value = values != nullptr
                               ? (*values)[static_cast<std::size_t>(status.event.proc)]
                               : std::nullopt;
        if (value) count = {.state = CountState::kCounted, .raw = *value};
      } else if (count.state == CountState::kCounted && count.enabled_ns > 0 &&
                 count.running_ns == 0) {
        count.state = CountState::kNeverOn;
      }
    }
  }
  return sample;
}

bool Meter::AnyAlive() const {
  return std::ranges::any_of(plan_.pids, [this](std::int32_t pid) {
    const auto text = ReadFile(JoinPath(plan_.root, "proc/") + std::to_string(pid) + "/stat");
    // A zombie's threads are over.
    if (!text) return false;
    const auto close = text->rfind(')');
    return close == text->npos || close + 2 >= text->size() || (*text)[close + 2] != 'Z';
  });
}

std::vector<std::string> Meter::Notes(const Sample& total, bool has_end) const {
  std::vector<std::string> notes;
  const bool kinds = std::ranges::any_of(events_, [](const EventStatus& status) {
    return status.event.proc == ProcCount::kVoluntary ||
           status.event.proc == ProcCount::kInvoluntary;
  });
  if (unstable_) {
    notes.push_back(
        "it made threads all the while it was attached to: those born then may be missing, or be "
        "counted twice");
  }
  const bool from_proc = std::ranges::any_of(
      events_, [](const EventStatus& status) { return status.source == "/proc"; });
  if (from_proc && proc_ && !has_end && proc_->ended_threads() > 0 && !plan_.pids.empty()) {
    notes.push_back(fmt::format(
        "{} threads ended meanwhile: switches that they made after the last look at /proc (ten a "
        "second) are in neither kind",
        FormatCount(proc_->ended_threads())));
  }
  if (kinds && plan_.pids.empty()) {
    notes.push_back(
        "switches away from the idle task, and of threads that ended, are in neither kind");
  }
  if (plan_.split == Split::kThread && !covers_.empty()) {
    std::uint64_t all = 0, seen = 0;
    for (std::size_t i = 0; i < covers_.size(); ++i) {
      if (const auto reading = covers_[i]->Read()) {
        all += reading->value -
               std::min(reading->value, cover_bases_.size() > i ? cover_bases_[i] : 0);
      }
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!IsClock(events_[i].event) || events_[i].source.empty()) continue;
      seen = total.rows.front().counts[i].raw;
      if (all > seen && static_cast<double>(all - seen) > 0.01 * static_cast<double>(all)) {
        notes.push_back(fmt::format(
            "{:.1f} % of the task-clock was in threads that were born meanwhile, before they were "
            "seen: it is in no row",
            100.0 * static_cast<double>(all - seen) / static_cast<double>(all)));
      }
      break;
    }
  }
  return notes;
}

}  // namespace culprit::stat
