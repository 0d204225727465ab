#include "analysis/findings.h"

#include <algorithm>
#include <set>

#include "analysis/finding_text.h"
#include "analysis/walk_sql.h"

namespace culprit::analysis {
namespace {

// A holder that has the lock for less than this part of the waits is one of many in a convoy.
constexpr double kHolderShare = 0.5;
// Waits of a thread that feeds others count for less than those of the one that is fed.
constexpr double kFeederWeight = 0.7;
constexpr std::size_t kMostVia = 4;

double Ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Level LevelOf(const WalkRule& rule, double share, std::int64_t ns) {
  if (ns < rule.least_ns) return Level::kInfo;
  if (share >= rule.critical_share) return Level::kCritical;
  return share >= rule.warn_share ? Level::kWarning : Level::kInfo;
}

// Most first, then by thread.
std::vector<std::pair<Utid, std::int64_t>> MostFirst(const std::map<Utid, std::int64_t>& sums) {
  std::vector<std::pair<Utid, std::int64_t>> rows(sums.begin(), sums.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

std::uint32_t Largest(const std::map<std::uint32_t, std::int64_t>& sums) {
  std::uint32_t best = 0;
  std::int64_t most = -1;
  for (const auto& [id, ns] : sums) {
    if (ns > most) {
      best = id;
      most = ns;
    }
  }
  return best;
}

// The name of a process: the comm of its main thread, which is what ps and top show.
std::string ProcessName(const Timeline& timeline, Utid utid) {
  const Process* process = timeline.ProcessOf(utid);
  const Thread& thread = timeline.thread(utid);
  if (process == nullptr || thread.is_main) return thread.name;
  const std::string_view name = process->name;
  return std::string(name.substr(name.rfind('/') + 1));
}

class Maker {
 public:
  Maker(const Timeline& timeline, std::span<const Walked> victims, const Culprits& culprits)
      : timeline_(timeline), victims_(victims), culprits_(culprits) {}

  std::vector<ExplainFinding> Make() {
    std::map<Blame, BlameSum> sums = culprits_.sums();
    JoinConvoys(sums);
    std::vector<ExplainFinding> findings;
    const auto taken = TakenByPair(sums);
    for (const auto& [blame, sum] : sums) {
      ExplainFinding finding;
      if (!Weigh(blame, sum, finding)) continue;
      if (IsReturned(blame, finding, taken)) finding.level = std::min(finding.level, Level::kInfo);
      NameCulprit(blame, sum, finding);
      const Walked& worst = WalkOf(finding.victims.front().victim.utid);
      const FindingContext context{timeline_, culprits_, worst, blame, sum};
      Describe(context, finding);
      finding.sql = WalkSql(context);
      findings.push_back(std::move(finding));
    }
    return findings;
  }

 private:
  const Walked& WalkOf(Utid utid) const {
    return *std::ranges::find_if(victims_,
                                 [&](const Walked& row) { return row.victim.utid == utid; });
  }

  // Who took how much from whom, by the programs of both: {taker, victim}.
  using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;
  Pairs TakenByPair(const std::map<Blame, BlameSum>& sums) const {
    Pairs taken;
    for (const auto& [blame, sum] : sums) {
      if (blame.rule->id != rule::kNeighbour) continue;
      for (const auto& [index, amount] : sum.by_victim) {
        const Walked& walked = victims_[index];
        double& most = taken[{blame.id, culprits_.GroupOf(walked.victim.utid)}];
        most = std::max(most, Ratio(amount.ns, walked.alive_ns));
      }
    }
    return taken;
  }

  // Two that want one CPU take it from each other: named is the one that takes more.
  bool IsReturned(const Blame& blame, const ExplainFinding& finding, const Pairs& taken) const {
    if (blame.rule->id != rule::kNeighbour) return false;
    const std::uint32_t victim = culprits_.GroupOf(finding.victims.front().victim.utid);
    const auto back = taken.find({victim, blame.id});
    return back != taken.end() && back->second > finding.share();
  }

  // Holders of one process of whom none has most of the waits are a convoy.
  void JoinConvoys(std::map<Blame, BlameSum>& sums) {
    struct Group {
      std::int64_t all = 0, most = 0;
      std::vector<Blame> holders;
    };
    std::map<std::uint32_t, Group> groups;
    for (const auto& [blame, sum] : sums) {
      if (blame.rule->id != rule::kHolder) continue;
      std::int64_t ns = 0;
      for (const auto& [victim, amount] : sum.by_victim) ns += amount.ns;
      Group& group = groups[culprits_.GroupOf(blame.id)];
      group.all += ns;
      group.most = std::max(group.most, ns);
      group.holders.push_back(blame);
    }
    for (const auto& [number, group] : groups) {
      if (Ratio(group.most, group.all) >= kHolderShare) continue;
      BlameSum joined;
      for (const Blame& holder : group.holders) {
        const BlameSum& sum = sums[holder];
        for (const auto& [victim, amount] : sum.by_victim) joined.by_victim[victim].Add(amount);
        for (const auto& [utid, ns] : sum.by_culprit_thread) joined.by_culprit_thread[utid] += ns;
        for (const auto& [utid, ns] : sum.via) joined.via[utid] += ns;
        joined.direct_ns += sum.direct_ns;
        sums.erase(holder);
      }
      sums[{&FindWalkRule(rule::kConvoy), PartyType::kProcess, number}] = std::move(joined);
    }
  }

  // False: too little to be told.
  bool Weigh(const Blame& blame, const BlameSum& sum, ExplainFinding& finding) {
    finding.id = blame.rule->id;
    finding.kind = blame.rule->kind;
    for (const auto& [index, amount] : sum.by_victim) {
      const Walked& walked = victims_[index];
      const double share = Ratio(amount.ns, walked.alive_ns);
      if (share < kLeastShare) continue;
      finding.victims.push_back({NameTask(timeline_, walked.victim.utid), amount, share});
      finding.level = std::max(finding.level, LevelOf(*blame.rule, share, amount.ns));
    }
    std::ranges::stable_sort(finding.victims, [](const VictimShare& a, const VictimShare& b) {
      return a.waited.ns > b.waited.ns;
    });
    return !finding.victims.empty();
  }

  void NameCulprit(const Blame& blame, const BlameSum& sum, ExplainFinding& finding) {
    Party& party = finding.culprit;
    party.type = blame.type;
    std::set<std::int64_t> pids;
    for (const auto& [utid, ns] : MostFirst(sum.by_culprit_thread)) {
      const TaskName task = NameTask(timeline_, utid);
      pids.insert(task.pid);
      if (finding.threads.size() < kMostThreads) finding.threads.push_back({task, ns});
    }
    if (!finding.threads.empty()) {
      party.task = finding.threads.front().thread;
      if (const int priority = timeline_.PriorityOf(party.task->utid); priority >= 0) {
        party.priority = priority;
      }
      if (const Process* process = timeline_.ProcessOf(party.task->utid)) {
        party.cgroup = process->cgroup;
      }
      party.name = blame.type == PartyType::kThread ? party.task->thread
                                                    : ProcessName(timeline_, party.task->utid);
    }
    if (blame.type == PartyType::kIrq || blame.type == PartyType::kKernel) {
      if (party.name.empty()) party.name = timeline_.Text(blame.id);
    } else if (blame.type == PartyType::kCgroup) {
      party.name = party.cgroup;
    } else if (blame.type == PartyType::kScheduler) {
      party.name = "the scheduler";
    }
    if (!sum.devices.empty()) {
      party.device = timeline_.Text(Largest(sum.devices));
      if (party.name.empty() || blame.type == PartyType::kDevice) party.name = party.device;
    }
    if (party.name.empty() && blame.rule->id == rule::kNetwork) party.name = "network";
    if (party.name.empty()) party.name = "not known";
    std::int64_t all_via = 0;
    for (const auto& [utid, ns] : sum.via) all_via += ns;
    for (const auto& [utid, ns] : MostFirst(sum.via)) {
      if (all_via <= sum.direct_ns) break;
      if (finding.via.size() < kMostVia) finding.via.push_back(NameTask(timeline_, utid));
    }
  }

  const Timeline& timeline_;
  std::span<const Walked> victims_;
  const Culprits& culprits_;
};

}  // namespace

std::int64_t Walked::ReadyNs() const {
  std::int64_t sum = 0;
  for (const auto& [cause, amount] : walk.nodes.front().causes) {
    const bool is_ready = cause.kind == CauseKind::kCpuTaken || cause.kind == CauseKind::kCpuIrq ||
                          cause.kind == CauseKind::kCpuIdle ||
                          cause.kind == CauseKind::kThrottled ||
                          cause.kind == CauseKind::kCpuUnseen;
    if (is_ready) sum += amount.ns;
  }
  return sum;
}

TaskName NameTask(const Timeline& timeline, Utid utid) {
  TaskName name;
  name.utid = utid;
  const Thread& thread = timeline.thread(utid);
  name.tid = thread.tid;
  name.thread = thread.name;
  if (const Process* process = timeline.ProcessOf(utid)) {
    name.pid = process->pid;
    name.process = process->name;
  }
  return name;
}

std::vector<ExplainFinding> MakeFindings(const Timeline& timeline, const VictimChoice& choice,
                                         std::span<const Walked> victims,
                                         const Culprits& culprits) {
  static_cast<void>(choice);
  std::vector<ExplainFinding> findings = Maker(timeline, victims, culprits).Make();
  SortFindings(victims, findings);
  return findings;
}

void SortFindings(std::span<const Walked> victims, std::vector<ExplainFinding>& findings) {
  const auto weight = [&](const ExplainFinding& finding) {
    double most = 0;
    for (const VictimShare& row : finding.victims) {
      const auto found = std::ranges::find_if(
          victims, [&](const Walked& walked) { return walked.victim.utid == row.victim.utid; });
      const bool is_main = found != victims.end() && found->victim.role == VictimRole::kMain;
      most = std::max(most, row.share * (is_main ? 1 : kFeederWeight));
    }
    return most;
  };
  std::ranges::stable_sort(findings, [&](const ExplainFinding& a, const ExplainFinding& b) {
    if (a.level != b.level) return a.level > b.level;
    return weight(a) > weight(b);
  });
}

}  // namespace culprit::analysis
