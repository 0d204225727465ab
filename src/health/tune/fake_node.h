// FakeNode: a tree of the files of a big training node on bare metal, for the tests of tune: 2 NUMA
// nodes, 2 TiB, 4 NVMe disks in a raid0, a 200 Gbit/s link, RDMA, GPUs, swap on disk.
#pragma once

#include <string>

#include "health/tune/test_tree.h"

namespace culprit::tune {

inline void PutSysctl(const TestTree& tree, const std::string& path, const std::string& value) {
  tree.Put("/proc/sys/" + path, value + "\n");
}

inline void PutFakeNode(const TestTree& tree) {
  PutSysctl(tree, "kernel/osrelease", "6.1.0-18-amd64");
  tree.Put("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/md0p1 ro quiet\n");
  tree.Put("/proc/meminfo",
           "MemTotal:       2113929216 kB\nMemFree:  100 kB\nMemAvailable:   2000000000 kB\n");
  tree.Put("/proc/vmstat", "pgscan_kswapd 10\npgscan_direct 0\n");
  tree.Put("/proc/swaps",
           "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme9n1p3 partition\t8000\t0\t-2\n");
  tree.Put("/proc/cpuinfo", "processor : 0\nflags : fpu vme\n");
  tree.Put("/proc/net/arp", "IP address HW type Flags HW address Mask Device\n");
  tree.Put("/proc/net/route",
           "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
           "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");  // 10.0.0.0/24
  tree.Put("/proc/net/softnet_stat", "00000010 00000000 00000000 0 0 0 0 0 0 0 0 0 00000000\n");
  tree.Put("/proc/self/limits",
           "Limit                     Soft Limit           Hard Limit           Units\n"
           "Max open files            1024                 524288               files\n"
           "Max locked memory         8388608              8388608              bytes\n");
  tree.Put("/proc/self/mountinfo",
           "25 1 9:0 / / rw,relatime shared:1 - ext4 /dev/md0 rw\n"
           "26 25 0:22 / /proc rw - proc proc rw\n");
  tree.Put("/sys/devices/system/cpu/online", "0-127\n");
  tree.Put("/sys/devices/system/node/has_memory", "0-1\n");
  tree.Put("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  for (const char* gpu : {"0000:1b:00.0", "0000:1c:00.0"}) {
    tree.Put("/sys/bus/pci/devices/" + std::string(gpu) + "/vendor", "0x10de\n");
    tree.Put("/sys/bus/pci/devices/" + std::string(gpu) + "/class", "0x030200\n");
  }
  tree.Put("/sys/class/net/eth0/device/vendor", "0x15b3\n");
  tree.Put("/sys/class/net/eth0/speed", "200000\n");
  tree.Put("/sys/class/net/eth0/mtu", "9000\n");
  tree.Put("/sys/class/net/lo/mtu", "65536\n");

  tree.Put("/sys/dev/block/9:0/uevent", "MAJOR=9\nMINOR=0\nDEVNAME=md0\nDEVTYPE=disk\n");
  tree.Put("/sys/dev/block/9:0/md/level", "raid0\n");
  for (const std::string number : {"0", "1", "2", "3"}) {
    tree.Put("/sys/dev/block/9:0/slaves/nvme" + number + "n1/x", "");
    tree.Put("/sys/class/block/nvme" + number + "n1/queue/rotational", "0\n");
    tree.Put("/sys/class/nvme/nvme" + number + "/device/current_link_speed", "16.0 GT/s PCIe\n");
    tree.Put("/sys/class/nvme/nvme" + number + "/device/current_link_width", "4\n");
  }

  PutSysctl(tree, "vm/swappiness", "60");
  PutSysctl(tree, "vm/overcommit_memory", "0");
  PutSysctl(tree, "vm/dirty_bytes", "0");
  PutSysctl(tree, "vm/dirty_ratio", "20");
  PutSysctl(tree, "vm/dirty_background_bytes", "0");
  PutSysctl(tree, "vm/dirty_background_ratio", "10");
  PutSysctl(tree, "vm/max_map_count", "65530");
  PutSysctl(tree, "vm/zone_reclaim_mode", "0");
  PutSysctl(tree, "vm/min_free_kbytes", "90112");
  PutSysctl(tree, "vm/watermark_scale_factor", "10");
  PutSysctl(tree, "vm/vfs_cache_pressure", "100");
  PutSysctl(tree, "kernel/numa_balancing", "1");
  PutSysctl(tree, "kernel/pid_max", "4194304");
  PutSysctl(tree, "net/core/rmem_max", "212992");
  PutSysctl(tree, "net/core/somaxconn", "4096");
  PutSysctl(tree, "net/core/netdev_max_backlog", "1000");
  PutSysctl(tree, "net/ipv4/tcp_rmem", "4096\t131072\t6291456");
  PutSysctl(tree, "net/ipv4/tcp_mtu_probing", "0");
  PutSysctl(tree, "net/ipv4/neigh/default/gc_thresh3", "1024");
  tree.Put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  tree.Put("/sys/kernel/mm/transparent_hugepage/defrag",
           "always defer defer+madvise [madvise] never\n");
  for (const std::string policy : {"policy0", "policy1", "policy10"}) {
    const std::string base = "/sys/devices/system/cpu/cpufreq/" + policy;
    tree.Put(base + "/scaling_governor", "powersave\n");
    tree.Put(base + "/scaling_available_governors", "performance powersave\n");
    tree.Put(base + "/energy_performance_preference", "balance_performance\n");
    tree.Put(base + "/energy_performance_available_preferences",
             "default performance balance_performance balance_power power\n");
  }
}

}  // namespace culprit::tune
