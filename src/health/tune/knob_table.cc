#include "health/tune/judges.h"

namespace culprit::tune {
namespace {

constexpr std::string_view kBaseline = "culprit's baseline";
constexpr std::string_view kMovedToDebugfs =
    "moved to /sys/kernel/debug/sched in 5.13 and replaced by EEVDF's in 6.6";

constexpr Knob Obsolete(std::string_view key, std::string_view why) {
  return {.key = key,
          .place = Place::kObsolete,
          .why = why,
          .breaks = "nothing: the line does nothing on current kernels",
          .source = "kernel sources"};
}

constexpr Knob Neighbour(std::string_view key, std::string_view kernel_default,
                         std::string_view advised) {
  return {.key = key,
          .kernel_default = kernel_default,
          .relation = Relation::kAtLeast,
          .advised = {advised, advised, advised},
          .judge = JudgeNeighbours,
          .why =
              "on a large flat network more neighbours than gc_thresh3 overflow the table: "
              "connections then fail with ENOBUFS; above gc_thresh2 entries are thrown out early",
          .breaks = "some memory a neighbour (about 400 bytes)",
          .source = "kernel Documentation/networking/ip-sysctl; defaults 128/512/1024"};
}

constexpr Knob kKnobs[] = {
    // Memory
    {.key = "vm.swappiness",
     .kernel_default = "60",
     .relation = Relation::kAtMost,
     .advised = {"10", "10", "10"},
     .judge = JudgeSwappiness,
     .why = "a data loader or server that was swapped out stalls the GPUs for seconds; page cache "
            "is the cheaper thing to give up",
     .breaks =
         "under steady memory pressure more page cache is dropped: data is read from disk again",
     .source = kBaseline},
    {.key = "vm.overcommit_memory",
     .kernel_default = "0",
     .advised = {"0", "0", "0"},
     .why = "1 moves failure from malloc to the OOM killer, 2 refuses the large reservations that "
            "CUDA, Go and JVM programs never touch",
     .breaks = "a program that documents its need of 1 (Redis while saving) may fail to fork: then "
               "keep 1",
     .source = "kernel Documentation/mm/overcommit-accounting"},
    {.key = "vm.dirty_bytes",
     .kernel_default = "0",
     .default_note = "0: vm.dirty_ratio counts, 20 % of available memory",
     .judge = JudgeDirty,
     .why = "a share of memory is hundreds of GB on a large node: a sync or a full limit then "
            "stalls every writer for minutes; bytes that the disk writes in 5-10 s do not",
     .by_profile = "training 10 s: a checkpoint's burst is taken up at once; inference and storage "
                   "5 s: an fsync waits behind what is queued, and a crash loses it",
     .breaks = "bursts larger than the limit run at disk speed; vm.dirty_ratio becomes 0 as long "
               "as this is set",
     .source = "kernel Documentation/admin-guide/sysctl/vm; seconds: culprit's baseline"},
    {.key = "vm.dirty_background_bytes",
     .kernel_default = "0",
     .default_note = "0: vm.dirty_background_ratio counts, 10 % of available memory",
     .judge = JudgeDirtyBackground,
     .why = "writing back starts at a quarter of the hard limit, so that writers seldom reach the "
            "limit",
     .by_profile = "as vm.dirty_bytes",
     .breaks = "vm.dirty_background_ratio becomes 0 as long as this is set",
     .source = "kernel Documentation/admin-guide/sysctl/vm; a quarter: culprit's baseline"},
    {.key = "vm.max_map_count",
     .kernel_default = "65530",
     .relation = Relation::kAtLeast,
     .advised = {"1048576", "1048576", "1048576"},
     .why = "programs that map many files or small regions (sharded weights, memory-mapped data "
            "sets, Elasticsearch, CUDA allocators) die of ENOMEM with memory free",
     .breaks = "nothing known; a leak of mappings is seen later",
     .source = "default of Fedora 39, Ubuntu 24.04 and Arch Linux"},
    {.key = "vm.zone_reclaim_mode",
     .kernel_default = "0",
     .advised = {"0", "0", "0"},
     .judge = JudgeNumaOnly,
     .why = "other modes free page cache of the local node while other nodes have memory: long "
            "stalls and reads from disk",
     .breaks = "memory of a job that is not bound may lie on another node",
     .source = "kernel Documentation/admin-guide/sysctl/vm"},
    {.key = "vm.min_free_kbytes",
     .default_note = "sized from memory at boot, at most 256 MiB (transparent huge pages raise it)",
     .relation = Relation::kAtLeast,
     .judge = JudgeMinFree,
     .why = "network receive cannot wait for memory: a burst at 100 Gbit/s uses up a small reserve "
            "and packets are dropped. Only ever raise it",
     .breaks = "that much memory is not for programs; far too high values cause OOM at once",
     .source = "culprit's judgement"},
    {.key = "vm.watermark_scale_factor",
     .kernel_default = "10",
     .default_note = "0.1 % of memory",
     .relation = Relation::kAtLeast,
     .judge = JudgeWatermarkScale,
     .why = "kswapd then starts earlier, so that tasks do not reclaim memory themselves in the "
            "middle of an allocation",
     .breaks = "0.5 % of memory is kept free instead of 0.1 %",
     .source = "kernel Documentation/admin-guide/sysctl/vm; when: culprit's judgement"},
    {.key = "vm.vfs_cache_pressure",
     .kernel_default = "100",
     .relation = Relation::kAtMost,
     .advised = {"", "", "50"},
     .why = "names and inodes stay longer in memory than file contents: listing and opening "
            "millions of small files stays fast",
     .by_profile = "only a storage node serves names as much as data; elsewhere page cache and "
                   "program memory matter more",
     .breaks = "slab memory grows; 0 would never free it and end in OOM",
     .source = "BeeGFS tuning guide for metadata and storage servers"},
    {.key = "thp.enabled",
     .place = Place::kSysfs,
     .path = "/sys/kernel/mm/transparent_hugepage/enabled",
     .default_note = "chosen when the kernel was built: always or madvise",
     .advised = {"madvise", "madvise", "madvise"},
     .why = "with always, sparse heaps grow by up to 512 times a touched page and are compacted in "
            "the background; programs that gain from huge pages ask for them",
     .breaks = "a program that gained from always without asking gets slower "
               "(glibc.malloc.hugetlb=1 asks for it)",
     .source = kBaseline,
     .tuned_option = "vm.transparent_hugepages",
     .boot_parameter = "transparent_hugepage",
     .missing = "this kernel was built without transparent huge pages"},
    {.key = "thp.defrag",
     .place = Place::kSysfs,
     .path = "/sys/kernel/mm/transparent_hugepage/defrag",
     .kernel_default = "madvise",
     .advised = {"madvise", "madvise", "madvise"},
     .why = "with always, a page fault compacts memory before it returns: stalls of milliseconds "
            "anywhere",
     .breaks = "fewer huge pages for programs that did not ask",
     .source = kBaseline,
     .tuned_option = "vm.transparent_hugepage.defrag",
     .missing = "this kernel was built without transparent huge pages"},

    // CPU and tasks
    {.key = "kernel.numa_balancing",
     .kernel_default = "1|0",
     .default_note = "1 on machines with several nodes, unless built otherwise",
     .advised = {"0", "0", ""},
     .judge = JudgeNumaBalancing,
     .why = "jobs that are bound to the node of their GPU gain nothing from page migration and pay "
            "for its page faults",
     .by_profile = "training and inference bind their ranks; daemons of a storage node are not "
                   "bound: there it helps",
     .breaks = "jobs that are not bound (numactl, cpuset, the launcher's binding) lose locality: "
               "keep 1 for them",
     .source = kBaseline,
     .boot_parameter = "numa_balancing"},
    {.key = "cpu.governor",
     .place = Place::kSysfs,
     .path = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
     .default_note = "chosen when the kernel was built",
     .advised = {"performance", "performance", "performance"},
     .judge = JudgeGovernor,
     .why = "a CPU that launches kernels, loads data or completes IO in short bursts is still slow "
            "when the work is done",
     .breaks = "more power drawn at idle, less thermal room for the GPUs of a badly cooled node",
     .source = "Meta GCM's check; culprit's baseline",
     .tuned_option = "cpu.governor",
     .boot_parameter = "cpufreq.default_governor",
     .missing = "no cpufreq here (usual in a VM: the host decides)"},
    {.key = "cpu.energy_performance_preference",
     .place = Place::kSysfs,
     .path = "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
     .default_note = "set by the firmware, mostly balance_performance",
     .advised = {"performance", "performance", "performance"},
     .judge = JudgeGovernor,
     .why = "with hardware-managed frequencies the preference decides, whatever the governor is "
            "called",
     .breaks = "as cpu.governor",
     .source = "kernel Documentation/admin-guide/pm/intel_pstate and amd-pstate",
     .tuned_option = "cpu.energy_performance_preference",
     .missing = "no CPU here has an energy preference (no cpufreq, or a driver without it)"},
    {.key = "cpu.no_turbo",
     .place = Place::kSysfs,
     .path = "/sys/devices/system/cpu/intel_pstate/no_turbo",
     .kernel_default = "0",
     .advised = {"0", "0", "0"},
     .why = "the one thread that feeds a GPU needs the highest clock of a core",
     .breaks = "clocks vary more from run to run: benchmarks may want 1",
     .source = "kernel Documentation/admin-guide/pm/intel_pstate",
     .tuned_option = "cpu.no_turbo",
     .missing = "not a machine with intel_pstate"},
    {.key = "cpu.boost",
     .place = Place::kSysfs,
     .path = "/sys/devices/system/cpu/cpufreq/boost",
     .kernel_default = "1",
     .advised = {"1", "1", "1"},
     .why = "the one thread that feeds a GPU needs the highest clock of a core",
     .breaks = "clocks vary more from run to run: benchmarks may want 0",
     .source = "kernel Documentation/admin-guide/pm/cpufreq",
     .missing = "no cpufreq driver with a boost switch here"},
    {.key = "kernel.pid_max",
     .default_note = "32768, or 1024 for each CPU if that is more",
     .relation = Relation::kAtLeast,
     .advised = {"4194304", "4194304", "4194304"},
     .why = "threads count: a few hundred loader processes with their threads reach 32768, and "
            "fork fails with EAGAIN",
     .breaks = "PIDs of seven digits in tools that cut the column",
     .source = "systemd's default since 243"},

    // Files
    {.key = "fs.file-max",
     .default_note = "sized from memory at boot; systemd sets the largest number",
     .why = "leave it: the limit that programs meet is nofile, a process's own",
     .breaks = "a lower value makes every program of the node fail at once",
     .source = kBaseline},
    {.key = "fs.nr_open",
     .kernel_default = "1048576",
     .relation = Relation::kAtLeast,
     .advised = {"1048576", "1048576", "1048576"},
     .why = "the highest nofile limit that can be given to a process",
     .breaks = "nothing; raising it further lets limits become so high that programs get slow",
     .source = "kernel Documentation/admin-guide/sysctl/fs"},
    {.key = "fs.aio-max-nr",
     .kernel_default = "65536",
     .relation = Relation::kAtLeast,
     .advised = {"1048576", "", "1048576"},
     .why = "io_setup fails with EAGAIN when all programs together have asked for more requests "
            "(128 each of many processes on NVMe)",
     .by_profile = "training with offload to NVMe and storage servers use libaio; inference "
                   "servers hardly do",
     .breaks = "kernel memory only for what programs really ask for",
     .source = "Ceph's and Oracle's installation guides"},
    {.key = "fs.inotify.max_user_instances",
     .kernel_default = "128",
     .relation = Relation::kAtLeast,
     .advised = {"512", "512", ""},
     .why = "containers, log shippers and notebooks of one user share it: 'too many open files' "
            "with files free",
     .by_profile = "storage nodes run few containers",
     .breaks = "some kernel memory",
     .source = "Kubernetes kind's list of known issues"},
    {.key = "fs.inotify.max_user_watches",
     .default_note = "sized from memory since 5.11 (1 % of it at most), 8192 before",
     .relation = Relation::kAtLeast,
     .advised = {"524288", "524288", ""},
     .why = "log shippers, notebooks and file synchronisers watch each directory: 'no space left "
            "on device' with the disk free",
     .by_profile = "storage nodes run few such programs",
     .breaks = "about 1 KiB of kernel memory for a watch in use",
     .source = "Kubernetes kind's list of known issues"},

    // Network
    {.key = "net.core.rmem_max",
     .kernel_default = "212992|4194304",
     .default_note = "the larger in new kernels",
     .relation = Relation::kAtLeast,
     .judge = JudgeSocketMax,
     .why = "bounds what a program may ask for with SO_RCVBUF (UDP, RPC and storage clients do); "
            "TCP's autotuning is not bound by it but by tcp_rmem",
     .breaks = "that much memory a socket, for programs that ask",
     .source = "ESnet's host tuning, for round trips in a data centre"},
    {.key = "net.core.wmem_max",
     .kernel_default = "212992|4194304",
     .default_note = "the larger in new kernels",
     .relation = Relation::kAtLeast,
     .judge = JudgeSocketMax,
     .why = "bounds what a program may ask for with SO_SNDBUF",
     .breaks = "that much memory a socket, for programs that ask",
     .source = "ESnet's host tuning, for round trips in a data centre"},
    {.key = "net.ipv4.tcp_rmem",
     .default_note = "least, initial and largest; the largest is 6 MiB (32 MiB since 6.16), less "
                     "on small machines",
     .relation = Relation::kAtLeast,
     .judge = JudgeTcpMem,
     .why = "the third number bounds the window that autotuning gives a connection: less than "
            "bandwidth times round trip caps its speed. A value above rmem_max is no error",
     .breaks = "memory of slow receivers with many connections; tcp_mem still bounds the sum",
     .source = "kernel Documentation/networking/ip-sysctl; ESnet's host tuning"},
    {.key = "net.ipv4.tcp_wmem",
     .default_note = "least, initial and largest; the largest is 4 MiB, less on small machines",
     .relation = Relation::kAtLeast,
     .judge = JudgeTcpMem,
     .why = "the third number bounds what a connection may have sent and not yet acknowledged",
     .breaks = "memory of many connections to slow receivers",
     .source = "kernel Documentation/networking/ip-sysctl; ESnet's host tuning"},
    {.key = "net.core.somaxconn",
     .kernel_default = "4096|128",
     .default_note = "128 before 5.4",
     .relation = Relation::kAtLeast,
     .advised = {"4096", "16384", "16384"},
     .why = "connections that are not yet accepted beyond it are dropped: clients wait a second "
            "and more for the retry",
     .by_profile = "inference: bursts of requests; storage: thousands of clients come back at once "
                   "after an outage; training accepts few",
     .breaks = "longer queues hide a server that does not keep up",
     .source = "kernel Documentation/networking/ip-sysctl; values: culprit's judgement"},
    {.key = "net.ipv4.tcp_max_syn_backlog",
     .default_note = "sized from memory at boot, at least 128",
     .relation = Relation::kAtLeast,
     .advised = {"", "8192", "8192"},
     .why = "half-open connections a listener keeps before it falls back to SYN cookies, which "
            "lose TCP options",
     .by_profile = "inference and storage nodes serve many clients, a training node accepts few "
                   "connections",
     .breaks = "some memory during a SYN flood",
     .source = "kernel Documentation/networking/ip-sysctl; values: culprit's judgement"},
    {.key = "net.core.netdev_max_backlog",
     .kernel_default = "1000",
     .relation = Relation::kAtLeast,
     .judge = JudgeNetdevBacklog,
     .why = "packets wait here for a CPU with RPS, veth and drivers without NAPI; what does not "
            "fit is dropped without a word",
     .breaks = "more latency under overload instead of drops",
     .source = "kernel Documentation/admin-guide/sysctl/net; ESnet's host tuning"},
    {.key = "net.ipv4.tcp_slow_start_after_idle",
     .kernel_default = "1",
     .advised = {"0", "0", "0"},
     .why = "a connection that paused (between checkpoints, batches or requests) starts from ten "
            "packets again",
     .breaks = "bursts after a pause can overflow a shallow switch that nobody else shares fairly",
     .source = "kernel Documentation/networking/ip-sysctl; RFC 5681 4.1"},
    {.key = "net.ipv4.tcp_mtu_probing",
     .kernel_default = "0",
     .advised = {"1", "1", "1"},
     .judge = JudgeMtuProbing,
     .why = "with jumbo frames a path that drops large packets and the ICMP that says so hangs a "
            "connection for ever; 1 probes after such a black hole",
     .breaks = "nothing known",
     .source = "ESnet's host tuning for hosts with jumbo frames"},
    Neighbour("net.ipv4.neigh.default.gc_thresh1", "128", "4096"),
    Neighbour("net.ipv4.neigh.default.gc_thresh2", "512", "8192"),
    Neighbour("net.ipv4.neigh.default.gc_thresh3", "1024", "16384"),
    Neighbour("net.ipv6.neigh.default.gc_thresh1", "128", "4096"),
    Neighbour("net.ipv6.neigh.default.gc_thresh2", "512", "8192"),
    Neighbour("net.ipv6.neigh.default.gc_thresh3", "1024", "16384"),
    {.key = "net.netfilter.nf_conntrack_max",
     .default_note = "sized from memory when the module is loaded",
     .relation = Relation::kAtLeast,
     .judge = JudgeConntrack,
     .why = "with the table full, packets of new connections are dropped ('nf_conntrack: table "
            "full' in the kernel log)",
     .breaks = "about 320 bytes of kernel memory for an entry in use",
     .source = "kernel Documentation/networking/nf_conntrack-sysctl",
     .missing = "connection tracking is not loaded"},

    // Limits of processes: units and PAM set them, no sysctl does
    {.key = "limits.nofile",
     .place = Place::kLimit,
     .path = "Max open files",
     .default_note = "1024 4096; systemd: 1024 524288",
     .advised = {"1024 524288", "1024 524288", "1024 524288"},
     .judge = JudgeNofile,
     .why = "soft 1024 keeps select() and programs that close all descriptors sane, hard 524288 "
            "lets those that need more raise it",
     .breaks = "a program that needs more than 1024 and does not raise its soft limit: give its "
               "unit LimitNOFILE=",
     .source = "systemd's default since 240"},
    {.key = "limits.memlock",
     .place = Place::kLimit,
     .path = "Max locked memory",
     .default_note = "8 MiB since 5.16, 64 KiB before",
     .advised = {"unlimited unlimited", "unlimited unlimited", "unlimited unlimited"},
     .judge = JudgeMemlock,
     .why = "RDMA registers memory by locking it: NCCL and MPI fail with ibv_reg_mr: Cannot "
            "allocate memory",
     .breaks = "a user can lock all memory: give it to the jobs' units or group only",
     .source = kBaseline},

    // Keys that tuning guides still list
    Obsolete("kernel.sched_min_granularity_ns", kMovedToDebugfs),
    Obsolete("kernel.sched_wakeup_granularity_ns", kMovedToDebugfs),
    Obsolete("kernel.sched_latency_ns", kMovedToDebugfs),
    Obsolete("kernel.sched_migration_cost_ns", kMovedToDebugfs),
    Obsolete("kernel.sched_nr_migrate", kMovedToDebugfs),
    Obsolete("kernel.sched_tunable_scaling", kMovedToDebugfs),
    Obsolete("net.ipv4.tcp_tw_recycle", "removed in 4.12: it broke clients behind NAT"),
    Obsolete("net.ipv4.tcp_low_latency", "without effect since 4.14, when the prequeue went"),
    Obsolete("net.ipv4.tcp_fack", "without effect since 4.15, when RACK replaced it"),
    Obsolete("vm.nr_pdflush_threads", "without effect since 2.6.32, when pdflush went"),
};

}  // namespace

std::span<const Knob> Knobs() { return kKnobs; }

const Knob* FindKnob(std::string_view key) {
  for (const Knob& knob : kKnobs) {
    if (knob.key == key) return &knob;
  }
  return nullptr;
}

}  // namespace culprit::tune
