// NodeFacts: what of a node the advice depends on: memory, CPUs, NUMA, swap, links, disks, GPUs,
// and what has overflowed since boot. Reads each file once; judges nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "health/tune/root_files.h"

namespace culprit::tune {

// How fast the fastest mounted file system can be written, and how that is known.
struct WriteBandwidth {
  double bytes_per_s = 0;
  std::string how;  // "/data (md0): raid0 of 4 disks, ..."
};

struct NodeFacts {
  std::string release;  // "6.1.0-18-amd64"
  std::uint32_t kernel_major = 0;
  std::uint32_t kernel_minor = 0;
  std::string command_line;
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint32_t cpus = 0;
  std::uint32_t numa_nodes = 0;  // with memory; 0: not known
  bool virtual_machine = false;
  bool container = false;
  std::uint32_t gpus = 0;
  std::vector<std::string> rdma_devices;
  std::vector<std::string> swaps;
  bool swap_known = false;
  bool swap_in_memory = false;                // all of it on zram
  std::uint64_t fastest_link_bits_per_s = 0;  // 0: no link tells
  std::string fastest_link;
  bool jumbo_frames = false;
  std::uint32_t largest_network_bits = 0;  // host bits of the widest IPv4 network on link
  std::uint64_t neighbours = 0;            // IPv4 entries now
  std::uint64_t neighbour_overflows = 0;   // since boot
  std::uint64_t softnet_dropped = 0;       // since boot
  std::optional<std::uint64_t> conntrack_count;
  std::uint64_t pages_scanned_direct = 0;  // since boot
  std::uint64_t pages_scanned_kswapd = 0;
  std::optional<WriteBandwidth> write_bandwidth;

  bool KernelAtLeast(std::uint32_t major, std::uint32_t minor) const {
    return kernel_major != major ? kernel_major > major : kernel_minor >= minor;
  }
  // One line for the head of a report.
  std::string Summary() const;
};

NodeFacts ReadNodeFacts(const RootFiles& files);

// The estimate alone (write_bandwidth.cc). `link_bits_per_s` bounds network file systems.
std::optional<WriteBandwidth> EstimateWriteBandwidth(const RootFiles& files,
                                                     std::uint64_t link_bits_per_s);

}  // namespace culprit::tune
