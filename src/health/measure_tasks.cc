// Tasks: stuck in D, zombies, task and file descriptor limits.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "health/measures.h"
#include "health/stack_class.h"
#include "health/taskstats.h"

namespace culprit::health {
namespace {

bool NeedTasks(const Context& context, Readings& out) {
  if (context.after.tasks.whole) return true;
  out.Unknown(context.after.tasks.error, false);
  return false;
}

std::string NameOf(const TaskScan& tasks, std::int32_t pid) {
  const auto at = tasks.names.find(pid);
  return at == tasks.names.end() ? "?" : at->second;
}

// How long a task has waited: what the scheduler says, at least the time between the samples.
double WaitedSeconds(const Context& context, const TaskRow& row) {
  return std::max(row.waited_s.value_or(0), context.seconds);
}

// The mount or device that the class of a group points to, from what else was read.
std::string PointsTo(const Context& context, const StackGroup& group) {
  std::string text(group.kind->points_to);
  if (group.behalf != nullptr) text += fmt::format(", for {}", group.behalf->points_to);
  const std::string_view name = (group.behalf == nullptr ? group.kind : group.behalf)->name;
  std::vector<kernel::Mount> mounts;
  kernel::ParseMountInfo(context.after.texts.Get("/proc/self/mountinfo"), mounts);
  std::string list;
  for (const kernel::Mount& mount : mounts) {
    const bool fits = (name == "NFS" && mount.type.starts_with("nfs")) ||
                      (name == "Ceph" && mount.type == "ceph") ||
                      (name == "Lustre" && mount.type == "lustre") ||
                      (name == "FUSE" && mount.type.starts_with("fuse") && mount.type != "fusectl");
    if (!fits || list.size() > 300) continue;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", mount.mount_point, mount.source);
  }
  return list.empty() ? text : text + "; here: " + list;
}

}  // namespace

void MeasureDState(const Context& context, Readings& out) {
  if (!NeedTasks(context, out)) return;
  const TaskScan& tasks = context.after.tasks;
  if (!context.two) {
    context.NeedTwo(out);
    if (!tasks.waiting.empty()) {
      out.rows().back().evidence.push_back(
          fmt::format("{} tasks are in D in the one sample", tasks.waiting.size()));
    }
    return;
  }
  const auto still = StillWaiting(context.before.tasks.waiting, tasks.waiting);
  if (still.empty()) {
    Reading& reading = out.Value("", 0);
    reading.summary =
        tasks.waiting.empty()
            ? "no task is in D"
            : fmt::format("{} tasks in D, none of them in the same wait as a sample ago",
                          tasks.waiting.size());
    return;
  }
  for (const StackGroup& group : GroupByStack(still)) {
    double oldest = 0;
    for (const TaskRow* row : group.rows) oldest = std::max(oldest, WaitedSeconds(context, *row));
    const TaskRow& first = *group.rows.front();
    Reading& reading = out.Value(group.rows.size() == 1
                                     ? fmt::format("{} (tid {})", first.comm, first.tid)
                                     : fmt::format("{} tasks with one stack", group.rows.size()),
                                 oldest);
    reading.summary = fmt::format(
        "{} in uninterruptible sleep for {:.1f} s{}: {}",
        group.rows.size() == 1 ? "a task is" : fmt::format("{} tasks are", group.rows.size()),
        oldest, first.waited_s ? "" : " at least", group.Describe());
    reading.evidence.push_back("waits for: " + PointsTo(context, group));
    reading.evidence.push_back("stack, innermost first: " + group.Frames());
    std::size_t shown = 0;
    for (const TaskRow* row : group.rows) {
      if (++shown > 5) break;
      reading.evidence.push_back(
          fmt::format("{} (tid {}, pid {} {}), {:.1f} s, {}{}", row->comm, row->tid, row->pid,
                      NameOf(tasks, row->pid), WaitedSeconds(context, *row),
                      row->wchan.empty() ? "no wchan" : "wchan " + row->wchan,
                      row->kernel_thread ? ", kernel thread" : ""));
    }
    reading.advice = std::string((group.behalf == nullptr ? group.kind : group.behalf)->helps);
    if (first.stack.empty() && !context.node.is_root) {
      reading.advice += "; run as root to see the stack";
      reading.needs_root = true;
    }
    reading.age_s = oldest;
  }
}

void MeasureZombies(const Context& context, Readings& out) {
  if (!NeedTasks(context, out)) return;
  const TaskScan& tasks = context.after.tasks;
  std::map<std::int32_t, std::vector<const TaskRow*>> by_parent;
  for (const TaskRow& row : tasks.zombies) {
    // Probes of ours that have ended and are not collected yet.
    if (context.node.live && row.parent_pid == getpid()) continue;
    by_parent[row.parent_pid].push_back(&row);
  }
  if (by_parent.empty()) {
    out.Value("", 0).summary = "no zombie";
    return;
  }
  for (const auto& [parent, rows] : by_parent) {
    // A zombie does not run again: since it last ran is since it died.
    double oldest = 0;
    bool known = false;
    for (const TaskRow* row : rows) {
      known = known || row->waited_s.has_value();
      oldest = std::max(oldest, row->waited_s.value_or(0));
    }
    // Without the scheduler's word: those that were there a sample ago.
    if (!known && context.two) {
      for (const TaskRow* row : rows) {
        const bool seen =
            std::ranges::any_of(context.before.tasks.zombies, [&](const TaskRow& old) {
              return old.tid == row->tid && old.start_ticks == row->start_ticks;
            });
        if (seen) oldest = std::max(oldest, context.seconds);
      }
    }
    const std::string name = NameOf(tasks, parent);
    Reading& reading = out.Value(fmt::format("parent {} (pid {})", name, parent), oldest);
    reading.summary = fmt::format("{} zombies of {} (pid {}), the oldest dead for {:.0f} s",
                                  rows.size(), name, parent, oldest);
    reading.age_s = oldest;
    reading.evidence.push_back(
        fmt::format("for example {} (pid {})", rows.front()->comm, rows.front()->tid));
    reading.advice = fmt::format(
        "pid {} ({}) does not wait for its children: fix or restart it; in a container use an init "
        "(docker run --init); killing zombies does nothing",
        parent, name);
    // Many zombies are a leak of pids whatever their age.
    const auto pid_max = kernel::ParseSingle(context.after.texts.Get("/proc/sys/kernel/pid_max"));
    if (!pid_max || *pid_max == 0) continue;
    const double share = 100 * static_cast<double>(rows.size()) / static_cast<double>(*pid_max);
    if (share >= 80) reading.status = FindingStatus::kCritical;
    if (share >= 20 && share < 80) reading.status = FindingStatus::kWarning;
    if (share >= 20) reading.evidence.push_back(fmt::format("{:.0f} % of pid_max", share));
  }
}

void MeasurePids(const Context& context, Readings& out) {
  if (!NeedTasks(context, out)) return;
  const auto threads = static_cast<double>(context.after.tasks.threads);
  auto pid_max = kernel::ParseSingle(context.after.texts.Get("/proc/sys/kernel/pid_max"));
  if (pid_max == 0) pid_max.reset();
  auto threads_max = kernel::ParseSingle(context.after.texts.Get("/proc/sys/kernel/threads-max"));
  if (threads_max == 0) threads_max.reset();
  if (!pid_max && !threads_max) {
    out.Unknown(context.after.texts.Reason("/proc/sys/kernel/pid_max"));
  } else {
    const auto limit = std::min(pid_max.value_or(~0ULL), threads_max.value_or(~0ULL));
    Reading& reading = out.Value("node", 100 * threads / static_cast<double>(limit));
    reading.evidence.push_back(fmt::format("{:.0f} threads of {} (pid_max {}, threads-max {})",
                                           threads, limit, pid_max ? std::to_string(*pid_max) : "?",
                                           threads_max ? std::to_string(*threads_max) : "?"));
  }
  for (const CgroupRow& row : context.after.cgroups) {
    if (!row.tasks || !row.task_limit || *row.task_limit == 0) continue;
    Reading& reading = out.Value("cgroup " + row.path, 100 * static_cast<double>(*row.tasks) /
                                                           static_cast<double>(*row.task_limit));
    reading.evidence.push_back(fmt::format("{} tasks of pids.max {}", *row.tasks, *row.task_limit));
    reading.advice = "raise pids.max of this cgroup, or find what forks there";
  }
}

void MeasureDescriptors(const Context& context, Readings& out) {
  // "1216 0 9223372036854775807": used, free, max.
  kernel::WordCursor words(context.after.texts.Get("/proc/sys/fs/file-nr"));
  const auto used = words.Number();
  words.Word();
  const auto most = words.Number();
  if (used && most && *most > 0) {
    Reading& reading =
        out.Value("node", 100 * static_cast<double>(*used) / static_cast<double>(*most));
    reading.evidence.push_back(fmt::format("{} files open of fs.file-max {}", *used, *most));
  } else {
    out.Unknown(context.after.texts.Has("/proc/sys/fs/file-nr")
                    ? "/proc/sys/fs/file-nr cannot be understood"
                    : context.after.texts.Reason("/proc/sys/fs/file-nr"));
  }
  const Descriptors& all = context.after.descriptors;
  for (const DescriptorRow& row : all.fullest) {
    Reading& reading =
        out.Value(fmt::format("{} (pid {})", row.comm, row.pid),
                  100 * static_cast<double>(row.open) / static_cast<double>(row.limit));
    reading.evidence.push_back(fmt::format("{} files open of a limit of {}", row.open, row.limit));
    reading.advice = fmt::format(
        "find the leak: ls -l /proc/{}/fd | awk '{{print $NF}}' | sort | uniq -c", row.pid);
  }
  if (all.seen == 0 && all.denied > 0 && !context.node.is_root) {
    out.Unknown("other users' processes cannot be looked at", true);
  }
}

namespace {

void DelaysOfProcesses(const Context& context, Readings& out) {
  if (!context.node.live)
    return static_cast<void>(out.NotApplicable("a captured tree has no netlink to ask"));
  if (!context.NeedTwo(out)) return;
  if (const Text* why = context.after.texts.Find("@delays"); why != nullptr) {
    out.Unknown(why->text, why->error_number == EPERM || why->error_number == EACCES);
    return;
  }
  context.after.texts.Under("@delays/", [&](auto path, auto text) {
    const std::string_view before_text = context.before.texts.Get(path);
    const auto pid = ParseInteger<std::int32_t>(path.substr(8));
    if (before_text.empty() || !pid) return;
    const TaskDelays before = ParseDelays(before_text), after = ParseDelays(text);
    const auto share = [&](std::uint64_t old, std::uint64_t now) {
      return 100 * Delta(old, now).value_or(0) / 1e9 / context.seconds;
    };
    const double reclaim = share(before.reclaim_ns, after.reclaim_ns);
    const double thrashing = share(before.thrashing_ns, after.thrashing_ns);
    const double cpu = share(before.cpu_ns, after.cpu_ns),
                 block_io = share(before.block_io_ns, after.block_io_ns);
    if (reclaim + thrashing + cpu + block_io <= 0) return;
    Reading& reading =
        out.Value(fmt::format("{} (pid {})", NameOf(context.after.tasks, *pid), *pid),
                  std::max(reclaim, thrashing));
    reading.evidence.push_back(
        fmt::format("of the time, summed over its threads: {:.1f} % freeing memory, {:.1f} % "
                    "thrashing, {:.1f} % "
                    "waiting for a CPU, {:.1f} % for block IO",
                    reclaim, thrashing, cpu, block_io));
  });
  if (out.rows().empty())
    out.Value("", 0).summary = "no process waited for anything that is accounted";
}

}  // namespace

void MeasureDelays(const Context& context, Readings& out) {
  const auto on = kernel::ParseSingle(context.after.texts.Get("/proc/sys/kernel/task_delayacct"));
  if (!on) {
    out.NotApplicable("this kernel has no switch for delay accounting");
  } else if (*on == 0) {
    out.NotApplicable(
        "delay accounting is off (kernel.task_delayacct=0, the default); turn it on while "
        "diagnosing");
  } else {
    DelaysOfProcesses(context, out);
  }
}

}  // namespace culprit::health
