#include "analysis/culprits.h"

#include <algorithm>
#include <tuple>

namespace culprit::analysis {
namespace {

// Copies of a process are told by these; a parent that is not known is one like any other.
using GroupKey = std::tuple<std::string_view, std::string_view, Upid>;

// Processes of these are told apart by what they run.
bool IsInterpreter(std::string_view name) {
  constexpr std::string_view kNames[] = {"python", "bash", "sh",   "dash",
                                         "perl",   "java", "node", "ruby"};
  return std::ranges::any_of(kNames, [&](std::string_view known) {
    return name == known || (known == "python" && name.starts_with(known));
  });
}

// Of the requests in a disk's queue: whoever has more than half of them is its user.
constexpr double kMostOfQueue = 0.5;
// A walk back through requests that overlap a wait ends after these.
constexpr std::size_t kMostRequests = 4096;

}  // namespace

Culprits::Culprits(const Timeline& timeline, const VictimChoice& choice, Interval window)
    : timeline_(timeline), choice_(choice), wakes_(timeline, window) {
  MakeGroups();
  is_victim_process_.assign(timeline.processes().size(), false);
  is_victim_.assign(timeline.threads().size(), false);
  role_of_.assign(timeline.threads().size(), VictimRole::kThread);
  for (const Victim& victim : choice.idle) {
    is_victim_[victim.utid] = true;
    role_of_[victim.utid] = victim.role;
  }
  for (const Victim& victim : choice.victims) {
    is_victim_[victim.utid] = true;
    role_of_[victim.utid] = victim.role;
    if (const Process* process = timeline.ProcessOf(victim.utid)) {
      is_victim_process_[process->upid] = true;
    }
  }
}

void Culprits::MakeGroups() {
  std::map<GroupKey, std::uint32_t> groups, jobs;
  const auto number = [](auto& numbers, const GroupKey& key) {
    return numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
  };
  std::vector<std::string_view> main_name(timeline_.processes().size());
  for (const Thread& thread : timeline_.threads()) {
    if (thread.is_main && thread.upid != kNone) main_name[thread.upid] = thread.name;
  }
  for (const Thread& thread : timeline_.threads()) {
    const Process* process = timeline_.ProcessOf(thread.utid);
    if (process == nullptr) {  // one of its own: no process has this parent
      const GroupKey alone{thread.name, "", kNone - 1};
      group_of_.push_back(number(groups, alone));
      job_of_.push_back(number(jobs, alone));
      continue;
    }
    const std::string_view comm = main_name[process->upid];
    const std::string_view name = comm.empty() ? std::string_view(process->name) : comm;
    const std::string_view script = IsInterpreter(name) ? process->cmdline : std::string_view();
    group_of_.push_back(number(groups, {name, script, kNone}));
    job_of_.push_back(number(jobs, {name, process->cmdline, process->parent}));
  }
}

void Culprits::Add(std::size_t index, const Attribution& walk) {
  // What lies below a wait for a child that ended is that wait, whatever held the child up.
  std::vector<bool> is_child(walk.nodes.size(), false);
  for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
    const ChainNode& node = walk.nodes[i];
    if (node.depth > 0) {
      is_child[i] = is_child[node.parent] ||
                    (!node.is_blocked_wait && IsWaitForChild(walk.nodes[node.parent].thread, node));
    }
    for (const auto& [cause, amount] : node.causes) {
      const Step step{index, walk, node, cause, amount};
      if (is_child[i]) {
        Put(step, rule::kChild, PartyType::kProcess, GroupOf(node.thread), node.thread);
      } else {
        AddStep(step);
      }
    }
  }
  AddDiskWaits(index, walk);
}

void Culprits::AddStep(const Step& step) {
  const bool is_own = step.node.depth == 0;
  const Utid thread = step.cause.thread;
  switch (step.cause.kind) {
    case CauseKind::kRunning:
      if (!is_own) AddBusy(step, rule::kBusy);
      return;
    case CauseKind::kTimer:
      if (!is_own) AddBusy(step, rule::kSleeps);
      return;
    case CauseKind::kCpuTaken:
      return AddCpuTaken(step);
    case CauseKind::kCpuIrq:
      return Put(step, rule::kIrq, PartyType::kIrq, step.cause.detail, kNone);
    case CauseKind::kCpuIdle:
      return Put(step, rule::kIdle, PartyType::kScheduler, 0, kNone);
    case CauseKind::kThrottled:
      return Put(step, rule::kThrottled, PartyType::kCgroup, GroupOf(thread), thread);
    case CauseKind::kBlocked:
    case CauseKind::kNotWoken:
      if (step.cause.detail == 0) return;  // an ordinary sleep to the end of the recording
      return Put(step, rule::kBlocked, PartyType::kKernel, step.cause.detail, kNone);
    case CauseKind::kStopped:
      return Put(step, rule::kStopped, PartyType::kProcess, GroupOf(thread), thread);
    case CauseKind::kNetwork:
      return Put(step, rule::kNetwork, PartyType::kDevice, 0, kNone);
    case CauseKind::kInterrupt:
      return Put(step, rule::kInterrupt, PartyType::kIrq, step.cause.detail, kNone);
    case CauseKind::kDisk:  // AddDiskWaits
    case CauseKind::kCpuUnseen:
    case CauseKind::kAbsent:
    case CauseKind::kUnknown:
      return;
  }
}

// `cause.thread` ran, or slept by itself, while its parent in the walk waited for it.
void Culprits::AddBusy(const Step& step, std::string_view rule) {
  const Utid thread = step.cause.thread;
  const Utid waiter = step.walk.nodes[step.node.parent].thread;
  if (step.node.is_blocked_wait) {
    return Put(step, rule::kBlocked, PartyType::kThread, thread, thread);
  }
  if (wakes_.IsLock(waiter, thread)) {
    return Put(step, rule::kHolder, PartyType::kThread, thread, thread);
  }
  if (IsAhead(step.victim, thread)) {
    return Put(step, rule::kConsumer, PartyType::kThread, thread, thread);
  }
  const bool is_inside = timeline_.SameProcess(waiter, thread);
  Put(step, rule, is_inside ? PartyType::kThread : PartyType::kProcess,
      is_inside ? thread : GroupOf(thread), thread);
}

bool Culprits::IsWaitForChild(Utid waiter, const ChainNode& node) const {
  const Utid thread = node.thread;
  if (node.is_end && timeline_.SameProcess(waiter, thread)) return true;
  const Process* process = timeline_.ProcessOf(thread);
  const Process* of_waiter = timeline_.ProcessOf(waiter);
  if (process == nullptr || of_waiter == nullptr || is_victim_[thread]) return false;
  const auto states = timeline_.StatesOf(thread);
  return process->parent == of_waiter->upid && !states.empty() &&
         states.back().activity == Activity::kDead;
}

// A worker that waits for the main thread, or a thread that waits for work, lacks nothing.
bool Culprits::IsAhead(std::size_t victim, Utid waited_for) const {
  if (!choice_.is_certain) return true;
  return choice_.victims[victim].role != VictimRole::kMain && is_victim_[waited_for] &&
         role_of_[waited_for] == VictimRole::kMain;
}

void Culprits::AddCpuTaken(const Step& step) {
  const Utid thread = step.cause.thread, other = step.cause.other;
  if (timeline_.IsKernel(other)) {
    return Put(step, rule::kKernelThread, PartyType::kKernel, GroupOf(other), other);
  }
  const Utid victim = choice_.victims[step.victim].utid;
  if (AreOneJob(thread, other)) {
    return Put(step, rule::kOversubscribed, PartyType::kSelf, JobOf(thread), other);
  }
  const int own = timeline_.PriorityOf(victim), held_back = timeline_.PriorityOf(thread);
  const int taker = timeline_.PriorityOf(other);
  const bool is_inverted = step.node.depth > 0 && own >= 0 && held_back >= 0 && taker >= 0 &&
                           taker < held_back && own < taker;
  Put(step, is_inverted ? rule::kInversion : rule::kNeighbour, PartyType::kProcess, GroupOf(other),
      other);
}

bool Culprits::AreOneJob(Utid a, Utid b) const {
  if (timeline_.SameProcess(a, b) || JobOf(a) == JobOf(b)) return true;
  const Process* of_a = timeline_.ProcessOf(a);
  const Process* of_b = timeline_.ProcessOf(b);
  if (of_a == nullptr || of_b == nullptr) return false;
  if (!is_victim_process_[of_a->upid] || !is_victim_process_[of_b->upid]) return false;
  if (!choice_.is_certain) return false;
  const auto descends = [&](const Process* from, Upid ancestor) {
    for (int depth = 0; depth < 8 && from->parent != kNone; ++depth) {
      if (from->parent == ancestor) return true;
      from = &timeline_.processes()[from->parent];
    }
    return false;
  };
  return descends(of_a, of_b->upid) || descends(of_b, of_a->upid);
}

// Who had requests in the disk's queue while somebody waited for one.
void Culprits::AddDiskWaits(std::size_t victim, const Attribution& walk) {
  const auto requests = timeline_.disk_requests();
  for (const DiskWait& wait : walk.disk_waits) {
    const std::uint32_t device = requests[wait.request].device;
    std::map<std::uint32_t, std::int64_t> by_group;
    std::map<std::uint32_t, Utid> a_thread;
    std::int64_t all = 0;
    const auto end =
        std::partition_point(requests.begin(), requests.end(),
                             [&](const DiskRequest& row) { return row.begin < wait.time.end; });
    std::size_t looked_at = 0;
    for (auto row = end; row != requests.begin() && looked_at < kMostRequests; ++looked_at) {
      --row;
      if (row->device != device || row->complete < 0 || row->utid == kNone) continue;
      const std::int64_t ns = Intersect({row->begin, row->complete}, wait.time).length();
      if (ns == 0) continue;
      by_group[GroupOf(row->utid)] += ns;
      a_thread[GroupOf(row->utid)] = row->utid;
      all += ns;
    }
    Blame blame{&FindWalkRule(rule::kDisk), PartyType::kDevice, device};
    Utid thread = kNone;
    for (const auto& [group, ns] : by_group) {
      if (static_cast<double>(ns) <= kMostOfQueue * static_cast<double>(all)) continue;
      thread = a_thread[group];
      if (group == GroupOf(wait.thread) || AreOneJob(wait.thread, a_thread[group])) continue;
      // A journal, a flush and a writeback write what others gave them: whose it was is not known.
      if (timeline_.IsKernel(wait.thread) || timeline_.IsKernel(thread)) continue;
      blame.type = PartyType::kProcess;
      blame.id = group;
    }
    BlameSum& sum = sums_[blame];
    const std::int64_t ns = wait.time.length();
    sum.by_victim[victim].Add(ns, wait.time.begin);
    sum.devices[device] += ns;
    if (thread != kNone) sum.by_culprit_thread[thread] += ns;
    if (wait.thread != choice_.victims[victim].utid) {
      sum.via[wait.thread] += ns;
    } else {
      sum.direct_ns += ns;
    }
  }
}

void Culprits::Put(const Step& step, std::string_view rule, PartyType type, std::uint32_t id,
                   Utid culprit_thread) {
  BlameSum& sum = sums_[{&FindWalkRule(rule), type, id}];
  sum.by_victim[step.victim].Add(step.amount);
  if (culprit_thread != kNone) sum.by_culprit_thread[culprit_thread] += step.amount.ns;
  if (step.node.depth > 0 && step.cause.thread != culprit_thread) {
    sum.via[step.cause.thread] += step.amount.ns;
  } else {
    sum.direct_ns += step.amount.ns;
  }
  if (step.node.is_blocked_wait) sum.wait_classes[step.node.wait_class] += step.amount.ns;
}

}  // namespace culprit::analysis
