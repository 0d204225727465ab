// The parsers of /proc and /sys text: the first byte chooses one, the rest is the file. A parser
// may refuse anything; it must not read outside, and what it returns must lie inside the text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "health/kmsg.h"
#include "health/mounts.h"
#include "kernel/proc_cpu.h"
#include "kernel/proc_disk.h"
#include "kernel/proc_net.h"
#include "kernel/proc_scan.h"
#include "kernel/proc_task.h"

namespace {

using namespace culprit;          // NOLINT(google-build-using-namespace)
using namespace culprit::kernel;  // NOLINT(google-build-using-namespace)

void MustLieIn(std::string_view part, std::string_view text) {
  if (part.empty()) return;
  CULPRIT_CHECK(part.data() >= text.data() &&
                part.data() + part.size() <= text.data() + text.size());
}

void ParseWith(std::uint8_t which, std::string_view text) {
  switch (which % 18) {
    case 0: {
      MachineStat stat;
      ParseMachineStat(text, stat, true);
      break;
    }
    case 1:
      ParseLoadAverage(text);
      break;
    case 2: {
      std::vector<CpuSchedStat> cpus;
      ParseSchedStat(text, cpus);
      break;
    }
    case 3: {
      std::vector<SoftirqLine> lines;
      ParseSoftirqs(text, lines);
      for (const auto& line : lines) MustLieIn(line.name, text);
      break;
    }
    case 4: {
      Pressure pressure;
      ParsePressure(text, pressure);
      break;
    }
    case 5: {
      std::vector<DiskStat> disks;
      ParseDiskStats(text, disks);
      for (const auto& disk : disks) MustLieIn(disk.name, text);
      break;
    }
    case 6: {
      std::vector<Mount> mounts;
      ParseMountInfo(text, mounts);
      health::MountsToProbe(text);
      break;
    }
    case 7: {
      std::vector<NfsMountStat> mounts;
      ParseMountStats(text, mounts);
      break;
    }
    case 8: {
      std::vector<NetDevStat> interfaces;
      ParseNetDev(text, interfaces);
      for (const auto& interface : interfaces) MustLieIn(interface.name, text);
      break;
    }
    case 9: {
      std::vector<SoftnetStat> cpus;
      ParseSoftnet(text, cpus);
      break;
    }
    case 10: {
      std::vector<ProtocolValue> values;
      ParseProtocolValues(text, values);
      for (const auto& value : values) MustLieIn(value.name, text);
      break;
    }
    case 11:
      if (const auto stat = ParseTaskStat(text)) MustLieIn(stat->comm, text);
      break;
    case 12: {
      TaskStatus status;
      ParseTaskStatus(text, status);
      MustLieIn(status.name, text);
      break;
    }
    case 13: {
      std::vector<CgroupLine> lines;
      ParseTaskCgroups(text, lines);
      for (const auto& line : lines) MustLieIn(line.path, text);
      break;
    }
    case 14: {
      std::vector<std::string_view> functions;
      ParseTaskStack(text, functions);
      for (const auto function : functions) MustLieIn(function, text);
      break;
    }
    case 15: {
      std::vector<NamedValue> values;
      ParseNamedValues(text, values);
      for (const auto& value : values) MustLieIn(value.name, text);
      break;
    }
    case 16:
      ParseCpuList(text);
      break;
    default:
      for (const auto& events : health::FindXids(health::ParseKmsg(text)))
        health::StatusOfXid(events);
      for (const auto& record : health::ParseKmsg(text)) health::MatchKmsg(record.message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  ParseWith(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
