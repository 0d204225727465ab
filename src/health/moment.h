// Moment: everything that was read of a node at one time, parsed once. Two of them, a second apart,
// are what the checks compare. Nothing is judged here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "health/cgroups.h"
#include "health/descriptors.h"
#include "health/kmsg.h"
#include "health/rule.h"
#include "health/tasks.h"
#include "health/texts.h"
#include "kernel/proc_cpu.h"
#include "kernel/proc_disk.h"
#include "kernel/proc_net.h"
#include "kernel/proc_scan.h"

namespace culprit::health {

struct Moment {
  TimeNs at;  // when the reading began
  Texts texts;
  std::optional<double> uptime_s;

  kernel::MachineStat stat;
  std::vector<kernel::NamedValue> meminfo;
  std::vector<kernel::NamedValue> vmstat;
  std::vector<kernel::DiskStat> disks;
  std::vector<kernel::NetDevStat> interfaces;
  std::vector<kernel::ProtocolValue> protocols;
  std::vector<KmsgRecord> kernel_log;

  TaskScan tasks;
  std::vector<CgroupRow> cgroups;
  // By resource, where the node's own pressure is worth a look.
  std::map<std::string, std::vector<CgroupPressure>, std::less<>> cgroup_pressure;
  Descriptors descriptors;

  Moment() = default;
  Moment(Moment&&) = default;
  Moment& operator=(Moment&&) = default;
};

// A probe that did not come back, died, or could not be started.
struct StuckProbe {
  enum class End { kHangs, kDied, kNotStarted };
  std::string probe;
  std::string at;  // what it was reading; of one that was not started: why
  End end = End::kHangs;
  double after_s = 0;
  bool Is(End what) const { return end == what; }
};

// Fills the parsed members from the texts.
void ParseMoment(Moment& moment);

// What the words of the rules' `reads` ask for.
struct ReadPlan {
  std::vector<std::string_view> proc_files;  // cannot block: read by us
  std::vector<std::string_view> sys_files;   // drivers answer: read in a child
  bool tasks = false, stacks = false, cgroups = false, descriptors = false, mounts = false,
       kmsg = false;
  bool nvml = false, ethtool = false, nvme = false, delays = false, clock = false, holders = false;
};
ReadPlan PlanReads(std::span<const Rule* const> rules);

}  // namespace culprit::health
