// Which processes hold which NVIDIA GPU, and where they may run: for the check of NUMA nodes. Reads
// nothing that takes a lock of a process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "health/moment.h"

namespace culprit::health {

// Adds to the moment, where there are GPUs and two NUMA nodes or more:
//   "/sys/bus/pci/devices/PCI/numa_node", "/sys/devices/system/node/nodeN/cpulist" as they are,
//   "@holder/PCI/PID" -> /proc/PID/status of a process that holds that GPU.
// NVML names the processes where it answered. Else those count that have exactly one /dev/nvidiaN
// open: the CUDA library opens every GPU that it sees.
void ReadGpuHolders(const std::string& root, Moment& moment);

struct GpuHolder {
  std::int32_t pid = 0;
  std::string comm;
  std::vector<std::uint32_t> cpus;  // that it may run on
};
struct GpuPlace {
  std::string pci;
  std::optional<std::uint32_t> node;  // nothing: the firmware does not say (-1)
  std::vector<GpuHolder> holders;
};
std::vector<GpuPlace> GpuPlaces(const Texts& texts);

// CPU -> its NUMA node.
std::map<std::uint32_t, std::uint32_t> NodeOfCpus(const Texts& texts);

}  // namespace culprit::health
