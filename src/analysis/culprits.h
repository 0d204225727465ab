// Culprits: what the walks of all victims say, summed up by who is to blame, held against the
// thresholds of walk_rule_table.h. Writes no sentences (finding_text.h).
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/attribution.h"
#include "analysis/explanation.h"
#include "analysis/victims.h"
#include "analysis/wake_graph.h"
#include "analysis/walk_rule_table.h"

namespace culprit::analysis {

// Whom a sum is put down to: processes that are copies of each other are one.
struct Blame {
  const WalkRule* rule = nullptr;
  PartyType type = PartyType::kThread;
  std::uint32_t id = 0;  // utid, number of a group of processes, or Timeline::Text

  friend bool operator<(const Blame& a, const Blame& b) {
    return std::tie(a.rule, a.type, a.id) < std::tie(b.rule, b.type, b.id);
  }
};

struct BlameSum {
  std::map<std::size_t, Amount> by_victim;             // by index of the victims
  std::map<Utid, std::int64_t> by_culprit_thread;      // all victims together
  std::map<Utid, std::int64_t> via;                    // threads that stood there; not the victims
  std::int64_t direct_ns = 0;                          // the victims stood there themselves
  std::map<std::uint32_t, std::int64_t> wait_classes;  // Timeline::Text
  std::map<std::uint32_t, std::int64_t> devices;       // Timeline::Text
};

class Culprits {
 public:
  Culprits(const Timeline& timeline, const VictimChoice& choice, Interval window);

  // The walk of victim number `index` of the choice.
  void Add(std::size_t index, const Attribution& walk);
  const std::map<Blame, BlameSum>& sums() const { return sums_; }

  // The program that a thread is of: its processes are one culprit, whoever started them.
  std::uint32_t GroupOf(Utid utid) const { return group_of_[utid]; }
  // Copies of one process, by name, command line and parent: workers of one job.
  std::uint32_t JobOf(Utid utid) const { return job_of_[utid]; }

 private:
  struct Step {  // a cause of one node of a walk
    std::size_t victim;
    const Attribution& walk;
    const ChainNode& node;
    const Cause& cause;
    const Amount& amount;
  };
  void AddStep(const Step& step);
  void AddBusy(const Step& step, std::string_view rule);
  void AddCpuTaken(const Step& step);
  void AddDiskWaits(std::size_t victim, const Attribution& walk);
  void Put(const Step& step, std::string_view rule, PartyType type, std::uint32_t id,
           Utid culprit_thread);

  bool AreOneJob(Utid a, Utid b) const;
  bool IsWaitForChild(Utid waiter, const ChainNode& node) const;
  bool IsAhead(std::size_t victim, Utid waited_for) const;
  void MakeGroups();

  const Timeline& timeline_;
  const VictimChoice& choice_;
  WakeGraph wakes_;
  std::vector<std::uint32_t> group_of_;  // by utid
  std::vector<std::uint32_t> job_of_;    // by utid
  std::vector<bool> is_victim_process_;  // by upid
  std::vector<VictimRole> role_of_;      // by utid; kThread where it is no victim
  std::vector<bool> is_victim_;          // by utid
  std::map<Blame, BlameSum> sums_;
};

}  // namespace culprit::analysis
