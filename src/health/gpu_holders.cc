#include "health/gpu_holders.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "health/nvml.h"
#include "kernel/open_devices.h"
#include "kernel/proc_task.h"

namespace culprit::health {
namespace {

constexpr std::string_view kPci = "/sys/bus/pci/devices/", kNode = "/sys/devices/system/node/node";
// Minor of /dev/nvidiaN -> PCI address, by the driver's "Device Minor: 	 3".
std::map<std::uint32_t, std::string> Minors(const std::string& root) {
  constexpr std::string_view kName = "Device Minor:";
  const std::string folder = "/proc/driver/nvidia/gpus";
  std::map<std::uint32_t, std::string> minors;
  for (const std::string& pci : ListFolder(root + folder)) {
    const Text text = ReadText(root, folder + "/" + pci + "/information");
    for (const std::string_view line : SplitLines(text.text)) {
      if (!line.starts_with(kName)) continue;
      if (const auto minor = ParseInteger<std::uint32_t>(TrimBlanks(line.substr(kName.size())))) {
        minors[*minor] = pci;
      }
    }
  }
  return minors;
}

// PCI address -> processes that have this GPU alone open.
std::map<std::string, std::set<std::int32_t>> ByOpenFiles(const std::string& root,
                                                          const TaskScan& tasks) {
  std::map<std::string, std::set<std::int32_t>> holders;
  const auto minors = Minors(root);
  if (minors.empty()) return holders;
  std::size_t budget = kernel::kMostDescriptors;
  for (const auto& [pid, comm] : tasks.names) {
    const auto open = kernel::OpenPaths(root, pid, budget, [](std::string_view path) {
      return kernel::NvidiaMinor(path).has_value();
    });
    if (!open) return holders;
    if (open->size() != 1) continue;
    const auto at = minors.find(*kernel::NvidiaMinor(*open->begin()));
    if (at != minors.end()) holders[at->second].insert(pid);
  }
  return holders;
}

std::map<std::string, std::set<std::int32_t>> ByNvml(const Texts& texts) {
  std::map<std::string, std::set<std::int32_t>> holders;
  for (const Gpu& gpu : ParseGpus(texts)) {
    for (const std::int32_t pid : gpu.Pids()) holders[gpu.pci].insert(pid);
  }
  return holders;
}

}  // namespace

void ReadGpuHolders(const std::string& root, Moment& moment) {
  Texts& texts = moment.texts;
  const auto gpus = PciGpus(texts);
  if (gpus.empty()) return;
  const auto nodes = ExpandPattern(root, std::string(kNode) + "*/cpulist");
  if (nodes.size() < 2) return;
  for (const std::string& path : nodes) texts.Put(path, ReadText(root, path));
  for (const std::string& pci : gpus) {
    const std::string path = std::string(kPci) + pci + "/numa_node";
    texts.Put(path, ReadText(root, path));
  }
  const bool nvml = texts.Get("@nvml/driver").starts_with("version");
  for (const auto& [pci, pids] : nvml ? ByNvml(texts) : ByOpenFiles(root, moment.tasks)) {
    for (const std::int32_t pid : pids) {
      Text status = ReadText(root, "/proc/" + std::to_string(pid) + "/status");
      if (status.error_number == 0)
        texts.Put("@holder/" + pci + "/" + std::to_string(pid), std::move(status));
    }
  }
}

std::vector<GpuPlace> GpuPlaces(const Texts& texts) {
  std::vector<GpuPlace> places;
  for (const std::string& pci : PciGpus(texts)) {
    GpuPlace& place = places.emplace_back();
    place.pci = pci;
    // -1 is no number here, and means unknown.
    place.node =
        ParseInteger<std::uint32_t>(TrimBlanks(texts.Get(std::string(kPci) + pci + "/numa_node")));
    const std::string prefix = "@holder/" + pci + "/";
    texts.Under(prefix, [&](std::string_view path, std::string_view text) {
      kernel::TaskStatus status;
      const auto pid = ParseInteger<std::int32_t>(path.substr(prefix.size()));
      if (!pid || !kernel::ParseTaskStatus(text, status)) return;
      auto cpus = kernel::ParseCpuList(status.allowed_cpus);
      if (!cpus || cpus->empty()) return;
      place.holders.push_back({*pid, std::string(status.name), std::move(*cpus)});
    });
  }
  return places;
}

std::map<std::uint32_t, std::uint32_t> NodeOfCpus(const Texts& texts) {
  std::map<std::uint32_t, std::uint32_t> nodes;
  texts.Under(kNode, [&](std::string_view path, std::string_view text) {
    if (!path.ends_with("/cpulist")) return;
    const std::string_view number = path.substr(kNode.size());
    const auto node = ParseInteger<std::uint32_t>(number.substr(0, number.find('/')));
    const auto cpus = kernel::ParseCpuList(TrimBlanks(text));
    if (!node || !cpus) return;
    for (const std::uint32_t cpu : *cpus) nodes[cpu] = *node;
  });
  return nodes;
}

}  // namespace culprit::health
