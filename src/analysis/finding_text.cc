#include "analysis/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace culprit::analysis {
namespace {

constexpr int kDefaultPriority = 120;  // nice 0
constexpr int kLeastNice = 139;        // nice 19
constexpr int kRealTimeBelow = 100;

double Ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string Length(std::int64_t ns) { return FormatDuration({ns}); }

std::string PriorityText(std::int64_t priority) {
  if (priority < kRealTimeBelow) return fmt::format("real time, priority {}", 99 - priority);
  return fmt::format("nice {}", priority - kDefaultPriority);
}

class Words {
 public:
  Words(const FindingContext& context, ExplainFinding& finding)
      : context_(context), timeline_(context.timeline), finding_(finding) {}

  void Write() {
    finding_.remedy.text = context_.blame.rule->remedy;
    finding_.remedy.wins_at_most_ns = finding_.wait_ns();
    const std::string_view id = context_.blame.rule->id;
    if (id == rule::kNeighbour || id == rule::kInversion || id == rule::kKernelThread) {
      CpuTaken(id);
    } else if (id == rule::kOversubscribed) {
      Oversubscribed();
    } else if (id == rule::kIrq) {
      Irq();
    } else if (id == rule::kThrottled) {
      Throttled();
    } else if (id == rule::kIdle) {
      Idle();
    } else if (id == rule::kHolder || id == rule::kConvoy) {
      Lock(id == rule::kConvoy);
    } else if (id == rule::kDisk) {
      Disk();
    } else if (id == rule::kBlocked) {
      Blocked();
    } else if (id == rule::kStopped) {
      Stopped();
    } else {
      Waited(id);
    }
    AddCommon();
  }

 private:
  std::string Victim() const { return NameWithId(finding_.victims.front().victim, false); }
  std::string Share() const { return Percent(finding_.share()); }
  // "12.3 % of 10.0 s"
  std::string ShareOfTime() const {
    return fmt::format("{} of {}", Share(), Length(context_.worst.alive_ns));
  }
  // "culprit (pid 991, nice 0)"
  std::string Culprit() const {
    const Party& party = finding_.culprit;
    if (!party.task) return party.name;
    TaskName task = *party.task;
    std::string text;
    if (party.type == PartyType::kThread) {
      text = fmt::format("{} (tid {}", task.thread, task.tid);
      if (task.pid != task.tid) text += fmt::format(" of pid {}", task.pid);
    } else {
      text = fmt::format("{} (pid {}", party.name, task.pid);
    }
    if (party.priority) text += ", " + PriorityText(*party.priority);
    text += ")";
    const std::size_t others = OtherProcesses();
    if (others > 0) text += fmt::format(" and {} more like it", others);
    return text;
  }
  std::set<std::int64_t> Pids() const {
    std::set<std::int64_t> pids;
    for (const auto& [utid, ns] : context_.sum.by_culprit_thread) {
      if (const Process* process = timeline_.ProcessOf(utid)) pids.insert(process->pid);
    }
    return pids;
  }
  std::size_t OtherProcesses() const {
    const auto pids = Pids();
    return pids.size() > 1 && finding_.culprit.type != PartyType::kThread ? pids.size() - 1 : 0;
  }
  // " via dataloader (tid 12)" for what the victim itself did not meet.
  std::string Via() const {
    if (finding_.via.empty()) return "";
    std::string text = " while it waited for " + NameWithId(finding_.via.front(), false);
    if (finding_.via.size() > 1) text += fmt::format(" and {} more", finding_.via.size() - 1);
    return text;
  }

  void CpuTaken(std::string_view id) {
    const std::int64_t ready = context_.worst.ReadyNs();
    const bool is_direct = finding_.via.empty();
    std::int64_t direct = 0;  // of the wait of the victim itself
    for (const auto& [cause, amount] : context_.worst.walk.nodes.front().causes) {
      const bool is_its = cause.kind == CauseKind::kCpuTaken &&
                          context_.culprits.GroupOf(cause.other) == context_.blame.id;
      if (is_its) direct += amount.ns;
    }
    if (is_direct) {
      finding_.summary = fmt::format(
          "{} was ready to run but off the CPU for {} of {}. During {} of that wait {} ran on its "
          "CPU, in {} waits.",
          Victim(), Percent(Ratio(ready, context_.worst.alive_ns)), Length(context_.worst.alive_ns),
          Percent(Ratio(direct, ready)), Culprit(),
          FormatCount(static_cast<std::uint64_t>(finding_.victims.front().waited.count)));
    } else {
      finding_.summary =
          fmt::format("{} waited {} for {}, which was ready to run while {} ran on its CPU.",
                      Victim(), ShareOfTime(), NameWithId(finding_.via.front(), false), Culprit());
    }
    if (id == rule::kInversion) {
      finding_.summary += " Its priority lies between theirs: a priority inversion.";
    }
    Affinity();
    if (id == rule::kKernelThread) {
      finding_.confidence = 0.9;
      finding_.remedy.text =
          "these are kernel threads: see whose work they do with culprit record workqueue, and "
          "keep that off the victim's CPUs";
      return;
    }
    RemedyForNeighbour();
  }

  void RemedyForNeighbour() {
    const Party& party = finding_.culprit;
    if (!party.task) return;
    const auto pids = Pids();
    std::string list;
    std::size_t named = 0;
    for (const std::int64_t pid : pids) {
      if (++named > 8) break;
      list += fmt::format(" {}", pid);
    }
    const std::int64_t priority = party.priority.value_or(kDefaultPriority);
    const auto free = FreeCpus();
    if (priority < kRealTimeBelow) {
      finding_.remedy.command = fmt::format("chrt -a -o -p 0 {}", party.task->pid);
      finding_.remedy.text = "it runs with a real-time policy: make it an ordinary process";
    } else if (pids.size() == 1 && !free.empty()) {
      finding_.remedy.command = fmt::format("taskset -apc {} {}", CpuList(free), party.task->pid);
      finding_.remedy.text = fmt::format(
          "keep {} off the CPUs that the victim uses; or give it less weight: renice "
          "-n 19 -p{}",
          party.name, list);
    } else if (priority < kLeastNice) {
      finding_.remedy.command = "renice -n 19 -p" + list;
      finding_.remedy.text = fmt::format("give {} less weight than the victim", party.name);
    } else {
      finding_.remedy.command = fmt::format("chrt -a -i -p 0 {}", party.task->pid);
      finding_.remedy.text =
          "it has the least weight that nice can give: let it run only when nobody else wants to, "
          "or limit its cgroup's cpu.max";
    }
  }

  // CPUs that the victims do not use.
  std::vector<std::int16_t> FreeCpus() const {
    std::set<std::int16_t> used;
    for (const VictimShare& row : finding_.victims) {
      for (const std::int16_t cpu : timeline_.CpusOf(row.victim.utid)) used.insert(cpu);
    }
    for (const TaskName& task : finding_.via) {
      for (const std::int16_t cpu : timeline_.CpusOf(task.utid)) used.insert(cpu);
    }
    std::vector<std::int16_t> free;
    for (std::size_t cpu = 0; cpu < timeline_.cpu_count(); ++cpu) {
      const auto number = static_cast<std::int16_t>(cpu);
      if (!used.contains(number)) free.push_back(number);
    }
    return free;
  }

  // Where the one who stood ready may run, and whether another CPU was free meanwhile.
  void Affinity() {
    const Utid utid =
        finding_.via.empty() ? finding_.victims.front().victim.utid : finding_.via.front().utid;
    const auto cpus = timeline_.CpusOf(utid);
    const std::int64_t idle = IdleElsewhere(utid);
    if (cpus.size() == 1 && timeline_.cpu_count() > 1) {
      finding_.evidence.push_back(
          fmt::format("{} was seen on CPU {} alone", timeline_.thread(utid).name, cpus.front()));
    }
    if (idle > 0) {
      finding_.evidence.push_back(fmt::format("meanwhile another CPU {} was idle for {}: {}",
                                              cpus.size() == 1 ? "" : "that it uses", Length(idle),
                                              cpus.size() == 1
                                                  ? "not for a thread that is bound to one CPU"
                                                  : "the scheduler could have moved it"));
    }
  }

  // During the waits for a CPU of `utid`: the time that the idlest other CPU was idle.
  std::int64_t IdleElsewhere(Utid utid) const {
    std::int64_t total = 0;
    const auto cpus = timeline_.CpusOf(utid);
    for (const Interval& time : context_.worst.walk.times) {
      for (const State& state : timeline_.StatesIn(utid, time)) {
        if (!IsReady(state.activity)) continue;
        const Interval part = Intersect({state.ts, state.end}, time);
        std::int64_t best = 0;
        for (std::size_t cpu = 0; cpu < timeline_.cpu_count(); ++cpu) {
          const bool uses = std::ranges::find(cpus, static_cast<std::int16_t>(cpu)) != cpus.end();
          if (cpus.size() > 1 && !uses) continue;
          std::int64_t idle = 0;
          for (const CpuRun& run : timeline_.RunsIn(cpu, part)) {
            if (run.utid == kIdleThread) idle += Intersect({run.ts, run.end}, part).length();
          }
          best = std::max(best, idle);
        }
        total += best;
      }
    }
    return total;
  }

  void Oversubscribed() {
    std::set<Utid> threads;
    for (const auto& [utid, ns] : context_.sum.by_culprit_thread) threads.insert(utid);
    for (const VictimShare& row : finding_.victims) threads.insert(row.victim.utid);
    finding_.culprit.name = finding_.culprit.task ? finding_.culprit.task->thread : "the victims";
    finding_.summary = fmt::format(
        "{} was ready to run but off the CPU for {} because its own kind ran: {} threads share {} "
        "CPUs.",
        Victim(), ShareOfTime(), threads.size(), timeline_.cpu_count());
    finding_.remedy.text =
        fmt::format("start fewer: num_workers, OMP_NUM_THREADS or -j of at most {} for these CPUs",
                    timeline_.cpu_count());
  }

  void Irq() {
    finding_.summary = fmt::format("{} was ready to run for {} while its CPU served {}{}.",
                                   Victim(), ShareOfTime(), finding_.culprit.name, Via());
    finding_.remedy.text = fmt::format(
        "move the interrupt: its number is in /proc/interrupts, its CPUs in "
        "/proc/irq/NUMBER/smp_affinity_list");
  }

  void Throttled() {
    finding_.summary =
        fmt::format("{} was ready to run for {}, but cgroup {} had used up its CPU quota{}.",
                    Victim(), ShareOfTime(), finding_.culprit.name, Via());
    finding_.remedy.text =
        "raise the quota (cpu.max; cpu.cfs_quota_us in version 1), or take it away";
    if (!finding_.culprit.cgroup.empty()) {
      finding_.remedy.command =
          fmt::format("echo max > /sys/fs/cgroup{}/cpu.max", finding_.culprit.cgroup);
    }
    finding_.confidence = 0.95;
    finding_.confidence_why = "the kernel's own count of throttled time, read ten times a second";
  }

  void Idle() {
    finding_.summary =
        fmt::format("{} was ready to run for {} while the CPU in whose queue it stood was idle{}.",
                    Victim(), ShareOfTime(), Via());
    finding_.confidence = 0.6;
    finding_.confidence_why = "late wakeups, a guest without its CPU and a quota look alike here";
  }

  void Lock(bool is_convoy) {
    if (is_convoy) {
      std::set<Utid> threads;
      for (const auto& [utid, ns] : context_.sum.by_culprit_thread) threads.insert(utid);
      finding_.summary =
          fmt::format("{} waited {} for its turn: {} threads of {} take turns, as on one lock.",
                      Victim(), ShareOfTime(), threads.size(), finding_.culprit.name);
    } else {
      finding_.summary = fmt::format("{} waited {} for {}, as for a lock that it held.", Victim(),
                                     ShareOfTime(), Culprit());
    }
    finding_.confidence = 0.8;
    finding_.confidence_why =
        "told from who wakes whom: threads of one process that wake each other one at a time";
  }

  void Disk() {
    if (finding_.culprit.type == PartyType::kProcess) {
      finding_.summary =
          fmt::format("{} waited {} for disk {}; meanwhile most of its queue was {}'s{}.", Victim(),
                      ShareOfTime(), finding_.culprit.device, Culprit(), Via());
      finding_.remedy.command = fmt::format("ionice -c 3 -p {}", finding_.culprit.task->pid);
      finding_.remedy.text =
          "let it use the disk only when nobody else does (bfq), or limit its cgroup's io.max";
    } else {
      finding_.summary = fmt::format("{} waited {} for disk {}{}.", Victim(), ShareOfTime(),
                                     finding_.culprit.device, Via());
      if (finding_.culprit.task) {
        const bool is_kernel = timeline_.IsKernel(finding_.culprit.task->utid);
        finding_.evidence.push_back(fmt::format(
            "most of the disk's queue was {}'s: {}", NameWithId(*finding_.culprit.task, true),
            is_kernel ? "flushes and write-back that the kernel does for others"
                      : "the job's own requests"));
      }
    }
    finding_.confidence = 0.9;
    finding_.confidence_why = "the wait ended in the interrupt in which a request completed";
  }

  void Blocked() {
    std::string where;
    if (context_.blame.type == PartyType::kKernel) {
      where = finding_.culprit.name;
    } else if (!context_.sum.wait_classes.empty()) {
      where = timeline_.Text(context_.sum.wait_classes.begin()->first);
    }
    if (where.empty()) where = "the kernel";
    finding_.summary =
        fmt::format("{} was in uninterruptible sleep for {} in {}", Victim(), ShareOfTime(), where);
    if (context_.blame.type == PartyType::kThread) {
      finding_.summary += ", until " + Culprit() + " ended it";
    }
    finding_.summary += Via() + ".";
    finding_.confidence = 0.8;
  }

  void Stopped() {
    finding_.summary = fmt::format("{} was stopped by a signal or a debugger for {}{}.", Culprit(),
                                   ShareOfTime(), Via());
    if (finding_.culprit.task) {
      finding_.remedy.command = fmt::format("kill -CONT {}", finding_.culprit.task->pid);
    }
    if (finding_.culprit.task && finding_.culprit.task->utid != context_.worst.victim.utid) {
      finding_.summary += " " + Victim() + " waited for it.";
    }
  }

  void Waited(std::string_view id) {
    if (id == rule::kBusy || id == rule::kConsumer || id == rule::kChild) {
      finding_.summary = fmt::format("{} waited {} for {}, which was at work meanwhile.", Victim(),
                                     ShareOfTime(), Culprit());
    } else if (id == rule::kSleeps) {
      finding_.summary =
          fmt::format("{} waited {} for {}, which slept on a timer of its own meanwhile.", Victim(),
                      ShareOfTime(), Culprit());
    } else if (id == rule::kNetwork) {
      finding_.summary =
          fmt::format("{} waited {} until packets arrived{}.", Victim(), ShareOfTime(), Via());
    } else {
      finding_.summary = fmt::format("{} waited {} for an interrupt of {}{}.", Victim(),
                                     ShareOfTime(), finding_.culprit.name, Via());
    }
    finding_.confidence = 0.8;
    finding_.confidence_why = "the thread that ended the wait is the one that was waited for";
  }

  void AddCommon() {
    if (finding_.victims.size() > 1) {
      finding_.evidence.push_back(fmt::format("{} victims in all", finding_.victims.size()));
    }
    if (timeline_.has_own_threads_only()) {
      // Of the rest of the machine, which may have had a larger share in it, nothing is known.
      finding_.confidence = std::min(finding_.confidence, 0.6);
      finding_.confidence_why = "only the recorded processes' switches are known";
    } else if (finding_.confidence_why.empty()) {
      finding_.confidence_why = "every switch of that CPU is in the recording";
    }
  }

  const FindingContext& context_;
  const Timeline& timeline_;
  ExplainFinding& finding_;
};

}  // namespace

std::string NameWithId(const TaskName& task, bool is_process) {
  const std::string_view name = task.thread.empty() ? std::string_view("a thread") : task.thread;
  return is_process ? fmt::format("{} (pid {})", name, task.pid)
                    : fmt::format("{} (tid {})", name, task.tid);
}

std::string Percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string CpuList(const std::vector<std::int16_t>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return text;
}

void Describe(const FindingContext& context, ExplainFinding& finding) {
  Words(context, finding).Write();
}

}  // namespace culprit::analysis
