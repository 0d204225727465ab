// GPUs whose job is bound to the CPUs of another NUMA node: each transfer crosses the link between
// the sockets.
#include <fmt/format.h>

#include <set>

#include "health/gpu_holders.h"
#include "health/measures.h"

namespace culprit::health {
namespace {

std::string List(const std::set<std::uint32_t>& nodes) {
  std::string text;
  for (const std::uint32_t node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node);
  return text;
}

void Place(const GpuPlace& gpu, const std::map<std::uint32_t, std::uint32_t>& node_of,
           Readings& out) {
  double wrong = 0;
  std::vector<std::string> evidence;
  for (const GpuHolder& holder : gpu.holders) {
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t cpu : holder.cpus) {
      if (const auto at = node_of.find(cpu); at != node_of.end()) nodes.insert(at->second);
    }
    if (nodes.empty()) continue;
    const bool apart = !nodes.contains(*gpu.node);
    wrong += apart ? 1 : 0;
    // Who may run anywhere is no fault that could be shown: the scheduler may do well.
    evidence.push_back(fmt::format("{} (pid {}) may run on node {}{}", holder.comm, holder.pid,
                                   List(nodes), apart ? ", not the GPU's" : ""));
    // The culprits first, and not hundreds of lines.
    if (apart) std::swap(evidence.back(), evidence[static_cast<std::size_t>(wrong) - 1]);
  }
  if (evidence.size() > 8) {
    const std::size_t more = evidence.size() - 8;
    evidence.resize(8);
    evidence.push_back(fmt::format("and {} more processes", more));
  }
  Reading& reading = out.Value("GPU " + gpu.pci, wrong);
  reading.worst = FindingStatus::kWarning;
  reading.evidence = std::move(evidence);
  reading.summary = wrong > 0
                        ? fmt::format(
                              "GPU {} is on NUMA node {}, and {:.0f} of its {} processes may run "
                              "on other nodes only",
                              gpu.pci, *gpu.node, wrong, gpu.holders.size())
                        : fmt::format("GPU {} is on NUMA node {}; {} processes hold it", gpu.pci,
                                      *gpu.node, gpu.holders.size());
  reading.advice = fmt::format(
      "bind the job to the node of its GPU: numactl --cpunodebind={0} --membind={0}", *gpu.node);
}

}  // namespace

void MeasureGpuNuma(const Context& context, Readings& out) {
  const auto gpus = GpuPlaces(context.after.texts);
  if (gpus.empty()) return static_cast<void>(out.NotApplicable("no NVIDIA GPU on this node"));
  const auto node_of = NodeOfCpus(context.after.texts);
  if (node_of.empty()) return static_cast<void>(out.NotApplicable("one NUMA node"));
  if (!context.node.container.empty()) {
    out.Unknown("inside a container: the processes that the driver names are those of the host");
    return;
  }
  for (const GpuPlace& gpu : gpus) {
    if (gpu.node) {
      Place(gpu, node_of, out);
    } else {
      out.Unknown(fmt::format("the firmware does not tell the NUMA node of GPU {}", gpu.pci));
    }
  }
}

}  // namespace culprit::health
