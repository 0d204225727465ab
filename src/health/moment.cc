#include "health/moment.h"

namespace culprit::health {

void ParseMoment(Moment& moment) {
  const Texts& texts = moment.texts;
  kernel::ParseMachineStat(texts.Get("/proc/stat"), moment.stat);
  kernel::ParseNamedValues(texts.Get("/proc/meminfo"), moment.meminfo);
  kernel::ParseNamedValues(texts.Get("/proc/vmstat"), moment.vmstat);
  kernel::ParseDiskStats(texts.Get("/proc/diskstats"), moment.disks);
  kernel::ParseNetDev(texts.Get("/proc/net/dev"), moment.interfaces);
  std::vector<kernel::ProtocolValue> more;
  kernel::ParseProtocolValues(texts.Get("/proc/net/snmp"), moment.protocols);
  kernel::ParseProtocolValues(texts.Get("/proc/net/netstat"), more);
  moment.protocols.insert(moment.protocols.end(), more.begin(), more.end());
  moment.kernel_log = ParseKmsg(texts.Get("/dev/kmsg"));
  moment.uptime_s = kernel::ParseUptime(texts.Get("/proc/uptime"));
}

ReadPlan PlanReads(std::span<const Rule* const> rules) {
  // A file that several rules read is read once.
  ReadPlan plan;
  const auto add = [](std::vector<std::string_view>& list, std::string_view word) {
    for (const auto known : list) {
      if (known == word) return;
    }
    list.push_back(word);
  };
  add(plan.proc_files, "/proc/uptime");
  add(plan.proc_files, "/proc/stat");
  for (const Rule* rule : rules) {
    kernel::WordCursor words(rule->reads);
    for (std::string_view word = words.Word(); !word.empty(); word = words.Word()) {
      if (word.starts_with("/proc/")) add(plan.proc_files, word);
      if (word.starts_with("/sys/") || word.starts_with("/etc/")) add(plan.sys_files, word);
      plan.tasks = plan.tasks || word == "@tasks";
      plan.stacks = plan.stacks || word == "@stacks";
      plan.cgroups = plan.cgroups || word == "@cgroups";
      plan.descriptors = plan.descriptors || word == "@descriptors";
      plan.mounts = plan.mounts || word == "@mounts";
      plan.kmsg = plan.kmsg || word == "@kmsg";
      plan.nvml = plan.nvml || word == "@nvml";
      plan.ethtool = plan.ethtool || word == "@ethtool";
      plan.nvme = plan.nvme || word == "@nvme";
      plan.delays = plan.delays || word == "@delays";
      plan.clock = plan.clock || word == "@clock";
      plan.holders = plan.holders || word == "@holders";
    }
  }
  // To see that an earlier probe still hangs at a mount, the tasks are needed.
  plan.tasks = plan.tasks || plan.mounts;
  return plan;
}

}  // namespace culprit::health
