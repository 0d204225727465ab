// NodeReader: reads moments of a node, live or from a captured tree, each file once. What can block
// is read in children under a deadline; what did not come back is noted, not waited for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "health/child.h"
#include "health/context.h"
#include "health/moment.h"

namespace culprit::health {

class NodeReader {
 public:
  // `root`: "" for the live node, else a captured tree.
  NodeReader(std::string root, ReadPlan plan) : root_(std::move(root)), plan_(std::move(plan)) {}

  bool live() const { return root_.empty(); }
  NodeFacts ReadFacts() const;

  // Starts what runs beside the sampling: statfs of the mounts, NVML, NVMe. `first` is the moment
  // that was read before: a mount at which an earlier probe of ours still hangs is not asked again.
  void StartSlow(const Moment& first, DurationNs sample);
  // One moment. `last`: the second of a pair, which also has the kernel stacks. Returns by
  // `deadline`.
  Moment Read(bool last, TimeNs deadline);
  // Adds what the slow probes have found to `moment`, waiting for them until `deadline`.
  void CollectSlow(Moment& moment, TimeNs deadline);

  // Probes that did not come back, of all reads so far; those that came back since are gone.
  const std::vector<StuckProbe>& stuck() const { return stuck_; }
  void ForgetStuck();

 private:
  struct Running {
    std::string probe;
    std::string comm;
    ChildProbe child;
    TimeNs started;
  };
  void Launch(std::string_view probe, std::string_view comm, const ChildProbe::Work& work,
              std::vector<Running>& into);
  void Gather(std::vector<Running>& running, Moment& moment, TimeNs deadline);
  void AskCgroupsWhoWaits(Moment& moment) const;
  void ReadStacks(Moment& moment, TimeNs deadline);
  void StartMounts(const Moment& first);
  bool NvmlStillHangs();  // then it is not asked again, and noted as stuck

  std::string root_;
  ReadPlan plan_;
  std::vector<Running> slow_;
  std::vector<StuckProbe> stuck_;
  std::vector<Running> abandoned_;  // killed, and the kernel holds them
};

}  // namespace culprit::health
