#include "health/tune/node_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/text.h"
#include "health/tune/sysctl_text.h"
#include "kernel/proc_net.h"
#include "kernel/proc_scan.h"

namespace culprit::tune {
namespace {

constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";  // include/linux/proc_ns.h

std::string ReadLine(const RootFiles& files, const std::string& path) {
  return OneLine(files.Read(path).text);
}

std::uint64_t ReadNumber(const RootFiles& files, const std::string& path) {
  return kernel::ParseSingle(files.Read(path).text).value_or(0);
}

std::uint32_t CountListed(const RootFiles& files, const std::string& path) {
  const auto list = kernel::ParseCpuList(TrimBlanks(files.Read(path).text));
  return list ? static_cast<std::uint32_t>(list->size()) : 0;
}

void ReadKernel(const RootFiles& files, NodeFacts& node) {
  node.release = ReadLine(files, "/proc/sys/kernel/osrelease");
  const auto parts = Split(node.release, '.');
  node.kernel_major = ParseInteger<std::uint32_t>(parts[0]).value_or(0);
  if (parts.size() > 1) {
    const auto digits = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
    node.kernel_minor = ParseInteger<std::uint32_t>(digits).value_or(0);
  }
  node.command_line = ReadLine(files, "/proc/cmdline");
}

void ReadMemory(const RootFiles& files, NodeFacts& node) {
  const FileText meminfo = files.Read("/proc/meminfo");
  std::vector<kernel::NamedValue> values;
  kernel::ParseNamedValues(meminfo.text, values);
  node.memory_bytes = kernel::FindValue(values, "MemTotal").value_or(0);
  node.available_bytes = kernel::FindValue(values, "MemAvailable").value_or(0);
  node.numa_nodes = CountListed(files, "/sys/devices/system/node/has_memory");
  if (node.numa_nodes == 0) {
    node.numa_nodes = static_cast<std::uint32_t>(
        files.Match("/sys/devices/system/node/node[0-9]*/meminfo").size());
  }
  const FileText vmstat = files.Read("/proc/vmstat");
  values.clear();
  kernel::ParseNamedValues(vmstat.text, values);
  node.pages_scanned_direct = kernel::FindValue(values, "pgscan_direct").value_or(0);
  node.pages_scanned_kswapd = kernel::FindValue(values, "pgscan_kswapd").value_or(0);

  const FileText swaps = files.Read("/proc/swaps");
  node.swap_known = swaps.ok();
  const auto lines = SplitLines(swaps.text);
  for (std::size_t i = 1; i < lines.size(); ++i) {  // the first line is the head
    const auto words = SplitWords(lines[i]);
    if (!words.empty()) node.swaps.emplace_back(words.front());
  }
  node.swap_in_memory =
      !node.swaps.empty() && std::ranges::all_of(node.swaps, [](const std::string& name) {
        return name.find("/zram") != name.npos;
      });
}

void ReadMachine(const RootFiles& files, NodeFacts& node) {
  node.cpus = CountListed(files, "/sys/devices/system/cpu/online");
  const auto cpus = files.Read("/proc/cpuinfo");
  for (const auto line : SplitLines(cpus.text)) {
    if (!line.starts_with("flags")) continue;
    const auto words = SplitWords(line);
    node.virtual_machine = std::ranges::find(words, "hypervisor") != words.end();
    break;
  }
  // As culprit check has it: who is in the first pid namespace of a kernel is in no container,
  // whatever files lie about (an image that was booted as a machine keeps its /.dockerenv).
  node.container = !(files.live() && files.LinkTarget("/proc/self/ns/pid") == kFirstPidNamespace) &&
                   (files.Exists("/.dockerenv") || files.Exists("/run/.containerenv") ||
                    files.Exists("/run/systemd/container"));
  for (const std::string& vendor : files.Match("/sys/bus/pci/devices/*/vendor")) {
    const std::string name = ReadLine(files, vendor);
    const std::string kind = ReadLine(files, vendor.substr(0, vendor.rfind('/')) + "/class");
    // NVIDIA and AMD accelerators: VGA, 3D controllers and processing accelerators.
    const bool accelerator =
        kind.starts_with("0x0302") || kind.starts_with("0x1200") || kind.starts_with("0x0300");
    if (accelerator && (name == "0x10de" || name == "0x1002")) ++node.gpus;
  }
  node.rdma_devices = files.List("/sys/class/infiniband");
}

// /proc/net/route: hexadecimal in the byte order of the machine; no gateway: on link.
void ReadRoutes(const RootFiles& files, NodeFacts& node) {
  const FileText route = files.Read("/proc/net/route");
  for (const auto line : SplitLines(route.text)) {
    const auto words = SplitWords(line);
    if (words.size() < 8 || words[2] != "00000000") continue;
    const auto mask = ParseInteger<std::uint32_t>(words[7], 16);
    if (!mask || *mask == 0) continue;  // a default route through a device is no network
    const auto host_bits = 32U - static_cast<std::uint32_t>(std::popcount(*mask));
    node.largest_network_bits = std::max(node.largest_network_bits, host_bits);
  }
}

void ReadNetwork(const RootFiles& files, NodeFacts& node) {
  for (const std::string& name : files.List("/sys/class/net")) {
    const std::string base = "/sys/class/net/" + name;
    if (name == "lo" || !files.Exists(base + "/device")) continue;  // bonds, bridges, veth: no link
    if (ReadNumber(files, base + "/mtu") >= 8000) node.jumbo_frames = true;
    // Mbit/s; -1 or EINVAL when the link is down or does not tell.
    const auto bits = ReadNumber(files, base + "/speed") * 1'000'000;
    if (bits > node.fastest_link_bits_per_s && bits < 10'000'000'000'000) {
      node.fastest_link_bits_per_s = bits;
      node.fastest_link = name;
    }
  }
  ReadRoutes(files, node);
  const FileText arp = files.Read("/proc/net/arp");
  const auto entries = SplitLines(arp.text).size();
  node.neighbours = entries == 0 ? 0 : entries - 1;
  // One line a CPU below the head line, hexadecimal; newer kernels have table_fulls as the last.
  const FileText cache = files.Read("/proc/net/stat/arp_cache");
  const auto lines = SplitLines(cache.text);
  if (!lines.empty()) {
    const auto head = SplitWords(lines.front());
    const auto column = std::ranges::find(head, "table_fulls") - head.begin();
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto words = SplitWords(lines[i]);
      if (column >= std::ssize(words)) continue;
      const auto at = static_cast<std::size_t>(column);
      node.neighbour_overflows += ParseInteger<std::uint64_t>(words[at], 16).value_or(0);
    }
  }
  std::vector<kernel::SoftnetStat> cpus;
  kernel::ParseSoftnet(files.Read("/proc/net/softnet_stat").text, cpus);
  for (const auto& cpu : cpus) node.softnet_dropped += cpu.dropped;
  node.conntrack_count =
      kernel::ParseSingle(files.Read("/proc/sys/net/netfilter/nf_conntrack_count").text);
}

}  // namespace

NodeFacts ReadNodeFacts(const RootFiles& files) {
  NodeFacts node;
  ReadKernel(files, node);
  ReadMemory(files, node);
  ReadMachine(files, node);
  ReadNetwork(files, node);
  node.write_bandwidth = EstimateWriteBandwidth(files, node.fastest_link_bits_per_s);
  return node;
}

std::string NodeFacts::Summary() const {
  std::string text = release.empty() ? "kernel not known" : "kernel " + release;
  if (cpus > 0) text += fmt::format(", {} CPU{}", cpus, cpus == 1 ? "" : "s");
  if (memory_bytes > 0) text += ", " + FormatBytes(memory_bytes);
  if (numa_nodes > 0)
    text += fmt::format(", {} NUMA node{}", numa_nodes, numa_nodes == 1 ? "" : "s");
  text += fmt::format(", {} GPU{}", gpus, gpus == 1 ? "" : "s");
  if (!rdma_devices.empty()) text += fmt::format(", {} RDMA devices", rdma_devices.size());
  if (fastest_link_bits_per_s > 0) {
    text += fmt::format(", {} {} Gbit/s", fastest_link,
                        static_cast<double>(fastest_link_bits_per_s) / 1e9);
  }
  if (swap_known && swaps.empty()) text += ", no swap";
  if (virtual_machine) text += ", virtual machine";
  if (container) text += ", in a container";
  return text;
}

}  // namespace culprit::tune
