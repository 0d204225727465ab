// Baseline: what hardware and links a node has on a good day, in a file, so that what is missing
// later is known. "key value" lines, sorted; a key names what it is of.
#pragma once

#include <string>

#include "base/result.h"
#include "health/context.h"

namespace culprit::health {

Result<Baseline> LoadBaseline(const std::string& path);
[[nodiscard]] Status SaveBaseline(const std::string& path, const Baseline& baseline);

// "gpu.count", "rdma.mlx5_0.1.rate", "net.eth0.speed", "disk.nvme0n1.size" of what was read.
Baseline BaselineOf(const Moment& moment);

}  // namespace culprit::health
