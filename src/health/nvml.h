// The GPUs as NVIDIA's management library tells them, read through dlopen in a child: the library
// and the driver under it may hang or crash. nvidia-smi is not run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "health/child.h"

namespace culprit::health {

// Puts "@nvml/driver" (driver version or the reason why there is none) and, for each GPU, lines of
// "name value" as "@nvml/0/PCI" now and "@nvml/1/PCI" after `sample`.
void ProbeNvml(ProbeOutput& output, DurationNs sample);

// Whether the loader could find the library: where there is none, no child has to look for it.
bool NvmlMayExist();
// Whether an NVIDIA device is on the PCI bus, from what was read of it.
bool HasGpu(const Texts& texts);
// Addresses of NVIDIA display (0300) and 3D (0302) controllers on the PCI bus: "0000:9b:00.0".
std::vector<std::string> PciGpus(const Texts& texts);

// One GPU's lines. A value that the card does not support is absent.
struct Gpu {
  std::string pci;  // "0000:9b:00.0"
  std::map<std::string, std::string, std::less<>> before, after;

  std::optional<double> Number(std::string_view name) const;        // now
  std::optional<double> NumberBefore(std::string_view name) const;  // a sample ago
  std::optional<double> Grown(std::string_view name) const;         // the difference
  std::vector<std::int32_t> Pids() const;                           // that have a context on it
  std::string Name() const;                                         // "GPU 0 (0000:9b:00.0)"
};
std::vector<Gpu> ParseGpus(const Texts& texts);

}  // namespace culprit::health
