// Tests of the audit: what is advised to which node, where values come from, and what is not
// applicable. Every node here is a made-up tree.
#include "health/tune/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "health/tune/fake_node.h"

namespace culprit::tune {
namespace {

using testing::HasSubstr;

Audit AuditOf(const TestTree& tree, Profile profile = Profile::kTraining) {
  const RootFiles files = tree.Files();
  return AuditBaseline(files, ReadNodeFacts(files), profile);
}

const AuditItem& Item(const Audit& audit, std::string_view key) {
  const AuditItem* item = audit.Find(key);
  CULPRIT_CHECK(item != nullptr);
  return *item;
}

ItemStatus StatusOf(const TestTree& tree, std::string_view key,
                    Profile profile = Profile::kTraining) {
  return Item(AuditOf(tree, profile), key).status;
}

TEST(KnobTable, EveryLineIsWhole) {
  std::vector<std::string_view> keys;
  for (const Knob& knob : Knobs()) {
    keys.push_back(knob.key);
    EXPECT_FALSE(knob.why.empty()) << knob.key;
    EXPECT_FALSE(knob.breaks.empty()) << knob.key;
    EXPECT_FALSE(knob.source.empty()) << knob.key;
    EXPECT_EQ(knob.path.empty(), knob.place == Place::kSysctl || knob.place == Place::kObsolete)
        << knob.key;
    // What differs between the profiles says why.
    const bool differs = knob.advised[0] != knob.advised[1] || knob.advised[1] != knob.advised[2];
    EXPECT_TRUE(!differs || !knob.by_profile.empty()) << knob.key;
    EXPECT_TRUE(knob.place != Place::kSysctl || SysctlPath(knob.key)) << knob.key;
  }
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end()) << "a key stands there twice";
}

TEST(NodeFacts, OfATrainingNode) {
  const TestTree tree;
  PutFakeNode(tree);
  const NodeFacts node = ReadNodeFacts(tree.Files());
  EXPECT_EQ(node.kernel_major, 6U);
  EXPECT_EQ(node.kernel_minor, 1U);
  EXPECT_EQ(node.cpus, 128U);
  EXPECT_EQ(node.numa_nodes, 2U);
  EXPECT_EQ(node.gpus, 2U);
  EXPECT_EQ(node.memory_bytes, 2113929216ULL * 1024);
  EXPECT_EQ(node.fastest_link_bits_per_s, 200'000'000'000ULL);
  EXPECT_TRUE(node.jumbo_frames);
  EXPECT_EQ(node.largest_network_bits, 8U);
  EXPECT_FALSE(node.virtual_machine);
  ASSERT_TRUE(node.write_bandwidth);
  // 4 disks x half of 16 GT/s x 4 lanes x 128/130 / 8 bits.
  EXPECT_NEAR(node.write_bandwidth->bytes_per_s, 4 * 0.5 * 16e9 * 4 * 128 / 130 / 8, 1e6);
}

TEST(NodeFacts, OfNothingAtAll) {
  const TestTree tree;
  const NodeFacts node = ReadNodeFacts(tree.Files());
  EXPECT_EQ(node.memory_bytes, 0U);
  EXPECT_FALSE(node.write_bandwidth);
  EXPECT_FALSE(node.swap_known);
}

TEST(Bandwidth, LevelsOfMdAndDiskKinds) {
  const TestTree tree;
  PutFakeNode(tree);
  const double disk = 0.5 * 16e9 * 4 * 128 / 130 / 8;
  const auto speed = [&tree] {
    const auto found = EstimateWriteBandwidth(tree.Files(), 0);
    return found ? found->bytes_per_s : 0;
  };
  for (const auto& [level, factor] : std::vector<std::pair<std::string, double>>{
           {"raid0", 4}, {"raid1", 1}, {"raid10", 2}, {"raid5", 3}, {"raid6", 2}}) {
    tree.Put("/sys/dev/block/9:0/md/level", level + "\n");
    EXPECT_NEAR(speed(), disk * factor, 1e6) << level;
  }
  // One member that is not known: the whole is not.
  tree.Put("/sys/class/nvme/nvme2/device/current_link_speed", "Unknown\n");
  EXPECT_EQ(speed(), 0);
  // A network file system is as fast as the link.
  tree.Put("/proc/self/mountinfo", "30 1 0:50 / /data rw - nfs4 server:/x rw\n");
  const auto nfs = EstimateWriteBandwidth(tree.Files(), 100'000'000'000);
  ASSERT_TRUE(nfs);
  EXPECT_NEAR(nfs->bytes_per_s, 12.5e9, 1);
}

TEST(Bandwidth, ALoopOfDevicesEnds) {
  const TestTree tree;
  tree.Put("/proc/self/mountinfo", "25 1 253:0 / / rw - ext4 /dev/dm-0 rw\n");
  tree.Put("/sys/dev/block/253:0/uevent", "DEVNAME=dm-0\n");
  tree.Put("/sys/dev/block/253:0/slaves/dm-0/x", "");
  tree.Put("/sys/class/block/dm-0/slaves/dm-0/x", "");
  EXPECT_FALSE(EstimateWriteBandwidth(tree.Files(), 0));
}

TEST(Audit, AdvisesATrainingNode) {
  const TestTree tree;
  PutFakeNode(tree);
  const Audit audit = AuditOf(tree);
  EXPECT_EQ(Item(audit, "vm.swappiness").status, ItemStatus::kChange);
  EXPECT_EQ(Item(audit, "vm.swappiness").advice.value, "10");
  EXPECT_EQ(Item(audit, "vm.overcommit_memory").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "vm.zone_reclaim_mode").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "kernel.numa_balancing").status, ItemStatus::kChange);
  EXPECT_EQ(Item(audit, "kernel.pid_max").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "vm.min_free_kbytes").advice.value, "1048576");
  EXPECT_EQ(Item(audit, "thp.enabled").status, ItemStatus::kChange);
  EXPECT_EQ(Item(audit, "thp.enabled").current, "always");
  EXPECT_EQ(Item(audit, "thp.defrag").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "net.ipv4.tcp_mtu_probing").status, ItemStatus::kChange);
  EXPECT_EQ(Item(audit, "limits.nofile").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "limits.memlock").status, ItemStatus::kChange);
  // 200 Gbit/s x 2 ms x 2 = 100 MB: the next power of two.
  EXPECT_EQ(Item(audit, "net.core.rmem_max").advice.value, "134217728");
  EXPECT_EQ(Item(audit, "net.ipv4.tcp_rmem").advice.value, "4096 131072 134217728");
  // Three policies, in the order of their numbers.
  const AuditItem& governor = Item(audit, "cpu.governor");
  EXPECT_EQ(governor.status, ItemStatus::kChange);
  ASSERT_EQ(governor.files.size(), 3U);
  EXPECT_THAT(governor.files[2].path, HasSubstr("policy10"));
}

TEST(Audit, DirtyLimitsAreSecondsOfTheDisk) {
  const TestTree tree;
  PutFakeNode(tree);
  const double speed = 4 * 0.5 * 16e9 * 4 * 128 / 130 / 8;
  const double unit = 64 << 20;
  const auto wanted = [&](std::string_view key, Profile profile) {
    return ParseNumber(Item(AuditOf(tree, profile), key).advice.value).value_or(0);
  };
  EXPECT_NEAR(wanted("vm.dirty_bytes", Profile::kTraining), speed * 10, unit);
  EXPECT_NEAR(wanted("vm.dirty_bytes", Profile::kInference), speed * 5, unit);
  EXPECT_NEAR(wanted("vm.dirty_bytes", Profile::kStorage), speed * 5, unit);
  EXPECT_NEAR(wanted("vm.dirty_background_bytes", Profile::kTraining), speed * 2.5, unit);
  EXPECT_EQ(StatusOf(tree, "vm.dirty_bytes"), ItemStatus::kChange) << "20 % of 2 TB";
  // Within a factor of 1.5 an estimate cannot say more.
  PutSysctl(tree, "vm/dirty_bytes", "200000000000");
  EXPECT_EQ(StatusOf(tree, "vm.dirty_bytes"), ItemStatus::kOk);
  PutSysctl(tree, "vm/dirty_bytes", "1000000");
  EXPECT_EQ(StatusOf(tree, "vm.dirty_bytes"), ItemStatus::kChange) << "throttles every writer";
  // A small node: a share of memory that is less than the disk takes in that time protects it.
  PutSysctl(tree, "vm/dirty_bytes", "0");
  tree.Put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n");
  EXPECT_EQ(StatusOf(tree, "vm.dirty_bytes"), ItemStatus::kOk);
  // An unknown disk is said to be one.
  tree.Put("/sys/dev/block/9:0/md/level", "raid-new\n");
  const AuditItem item = Item(AuditOf(tree), "vm.dirty_bytes");
  EXPECT_EQ(item.status, ItemStatus::kUnknown);
  EXPECT_THAT(item.reason, HasSubstr("--disk-bandwidth"));
}

TEST(Audit, ProfilesDiffer) {
  const TestTree tree;
  PutFakeNode(tree);
  EXPECT_EQ(StatusOf(tree, "net.core.somaxconn", Profile::kTraining), ItemStatus::kOk);
  EXPECT_EQ(StatusOf(tree, "net.core.somaxconn", Profile::kInference), ItemStatus::kChange);
  EXPECT_EQ(StatusOf(tree, "kernel.numa_balancing", Profile::kStorage), ItemStatus::kLeave);
  EXPECT_EQ(StatusOf(tree, "vm.vfs_cache_pressure", Profile::kTraining), ItemStatus::kLeave);
  EXPECT_EQ(StatusOf(tree, "vm.vfs_cache_pressure", Profile::kStorage), ItemStatus::kChange);
}

TEST(Audit, SwapOfEveryKind) {
  const TestTree tree;
  PutFakeNode(tree);
  PutSysctl(tree, "vm/swappiness", "0");
  EXPECT_EQ(StatusOf(tree, "vm.swappiness"), ItemStatus::kChange) << "0 is an earlier OOM";
  PutSysctl(tree, "vm/swappiness", "5");
  tree.Put("/etc/sysctl.d/swap.conf", "vm.swappiness = 5\n");
  EXPECT_EQ(StatusOf(tree, "vm.swappiness"), ItemStatus::kOk);
  tree.Put("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n");
  EXPECT_EQ(StatusOf(tree, "vm.swappiness"), ItemStatus::kLeave);
  tree.Put("/proc/swaps", "Filename Type Size Used Priority\n");
  EXPECT_EQ(StatusOf(tree, "vm.swappiness"), ItemStatus::kNotApplicable);
  std::filesystem::remove(tree.At("/proc/swaps"));
  EXPECT_EQ(StatusOf(tree, "vm.swappiness"), ItemStatus::kUnknown);
}

TEST(Audit, NotApplicableSaysWhy) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/sys/devices/system/node/has_memory", "0\n");
  std::filesystem::remove_all(tree.At("/sys/devices/system/cpu/cpufreq"));
  std::filesystem::remove_all(tree.At("/sys/class/infiniband"));
  tree.Put("/sys/class/net/eth0/mtu", "1500\n");
  const Audit audit = AuditOf(tree);
  for (const auto& [key, reason] : std::vector<std::pair<std::string, std::string>>{
           {"vm.zone_reclaim_mode", "one NUMA node"},
           {"kernel.numa_balancing", "one NUMA node"},
           {"cpu.governor", "no cpufreq"},
           {"limits.memlock", "no RDMA"},
           {"net.ipv4.tcp_mtu_probing", "no link here has jumbo frames"},
           {"fs.aio-max-nr", "kernel 6.1.0-18-amd64 has no such key"},
           {"kernel.sched_latency_ns", "5.13"}}) {
    EXPECT_EQ(Item(audit, key).status, ItemStatus::kNotApplicable) << key;
    EXPECT_THAT(Item(audit, key).reason, HasSubstr(reason));
  }
}

TEST(Audit, EvidenceOfOverflowAsksForMore) {
  const TestTree tree;
  PutFakeNode(tree);
  EXPECT_EQ(StatusOf(tree, "net.core.netdev_max_backlog"), ItemStatus::kLeave);
  EXPECT_EQ(StatusOf(tree, "net.ipv4.neigh.default.gc_thresh3"), ItemStatus::kLeave);
  EXPECT_EQ(StatusOf(tree, "vm.watermark_scale_factor"), ItemStatus::kLeave);
  EXPECT_EQ(StatusOf(tree, "net.netfilter.nf_conntrack_max"), ItemStatus::kNotApplicable);
  tree.Put("/proc/net/softnet_stat", "00000010 00000003 00000000 0 0 0 0 0 0 0 0 0 00000000\n");
  tree.Put("/proc/net/route",
           "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
           "eth0 0000000A 00000000 0001 0 0 0 0000FFFF 0 0 0\n");  // a /16
  tree.Put("/proc/vmstat", "pgscan_kswapd 4000000\npgscan_direct 6000000\n");
  PutSysctl(tree, "net/netfilter/nf_conntrack_max", "262144");
  PutSysctl(tree, "net/netfilter/nf_conntrack_count", "250000");
  EXPECT_EQ(StatusOf(tree, "net.core.netdev_max_backlog"), ItemStatus::kChange);
  EXPECT_EQ(StatusOf(tree, "net.ipv4.neigh.default.gc_thresh3"), ItemStatus::kChange);
  EXPECT_EQ(StatusOf(tree, "vm.watermark_scale_factor"), ItemStatus::kChange);
  EXPECT_EQ(Item(AuditOf(tree), "net.netfilter.nf_conntrack_max").advice.value, "524288");
}

TEST(Audit, ADriverWithoutTheGovernorIsNotApplicable) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", "schedutil\n");
  EXPECT_EQ(StatusOf(tree, "cpu.governor"), ItemStatus::kNotApplicable);
}

TEST(Audit, InfiniteFileLimitsAreTooMany) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/proc/self/limits",
           "Max open files            1073741816           1073741816     files\n");
  const AuditItem item = Item(AuditOf(tree), "limits.nofile");
  EXPECT_EQ(item.status, ItemStatus::kChange);
  EXPECT_THAT(item.reason, HasSubstr("slow"));
}

TEST(Audit, UnreadableAndAbsurdFiles) {
  const TestTree tree;
  PutFakeNode(tree);
  std::filesystem::remove(tree.At("/proc/sys/vm/swappiness"));
  std::filesystem::create_directories(tree.At("/proc/sys/vm/swappiness"));
  PutSysctl(tree, "net/ipv4/tcp_rmem", "\x1b[31m 1 2 3 4");
  PutSysctl(tree, "net/core/somaxconn", "");
  PutSysctl(tree, "kernel/pid_max", "99999999999999999999999999");
  tree.Put("/proc/meminfo", "MemTotal: 99999999999999999999999 kB\n");
  tree.Put("/proc/net/softnet_stat", std::string(5000, 'f') + "\n\n");
  tree.Put("/proc/self/mountinfo", std::string(100000, '-'));
  const Audit audit = AuditOf(tree);
  EXPECT_EQ(Item(audit, "vm.swappiness").status, ItemStatus::kUnknown);
  EXPECT_EQ(Item(audit, "net.ipv4.tcp_rmem").status, ItemStatus::kUnknown);
  EXPECT_EQ(Item(audit, "net.core.somaxconn").status, ItemStatus::kChange);
  EXPECT_EQ(Item(audit, "vm.dirty_bytes").status, ItemStatus::kUnknown);
}

TEST(Origin, SaysWhoSetAValue) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/usr/lib/sysctl.d/50-pid-max.conf", "# systemd\nkernel.pid_max = 4194304\n");
  tree.Put("/etc/sysctl.d/30-site.conf", "vm.max_map_count=262144\nvm.swappiness=30\n");
  PutSysctl(tree, "vm/max_map_count", "262144");
  const Audit audit = AuditOf(tree);
  EXPECT_EQ(Item(audit, "kernel.pid_max").origin.set_by.place,
            "/usr/lib/sysctl.d/50-pid-max.conf:2");
  EXPECT_EQ(Item(audit, "vm.max_map_count").origin.set_by.kind, OriginKind::kSysctlFile);
  EXPECT_EQ(Item(audit, "vm.overcommit_memory").origin.set_by.kind, OriginKind::kKernelDefault);
  EXPECT_EQ(Item(audit, "vm.min_free_kbytes").origin.set_by.kind, OriginKind::kSizedAtBoot);
  // 60 is the kernel's default, but the file says 30: it was set back, or the file is new.
  const Origin& swappiness = Item(audit, "vm.swappiness").origin;
  ASSERT_TRUE(swappiness.at_boot);
  EXPECT_EQ(swappiness.at_boot->place, "/etc/sysctl.d/30-site.conf:2");
}

TEST(Origin, RightNowButNotAtTheNextBootIsAdvice) {
  const TestTree tree;
  PutFakeNode(tree);
  PutSysctl(tree, "vm/max_map_count", "2000000");
  const AuditItem by_hand = Item(AuditOf(tree), "vm.max_map_count");
  EXPECT_EQ(by_hand.status, ItemStatus::kChange);
  EXPECT_THAT(by_hand.reason, HasSubstr("no file keeps it"));
  tree.Put("/etc/sysctl.d/1.conf", "vm.max_map_count = 65530\n");
  EXPECT_THAT(Item(AuditOf(tree), "vm.max_map_count").reason, HasSubstr("/etc/sysctl.d/1.conf:1"));
  tree.Put("/etc/sysctl.d/2.conf", "vm.max_map_count = 2000000\n");
  EXPECT_EQ(StatusOf(tree, "vm.max_map_count"), ItemStatus::kOk);
}

TEST(Origin, TunedProfilesIncludeAndGiveWayToTheSitesFiles) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/etc/tuned/active_profile", "my-ai\n");
  tree.Put("/etc/tuned/profiles/my-ai/tuned.conf",
           "[main]\ninclude=throughput-performance\n[sysctl]\nvm.swappiness=7\n");
  tree.Put("/usr/lib/tuned/throughput-performance/tuned.conf",
           "[cpu]\ngovernor=powersave\n[sysctl]\nvm.swappiness=1\nnet.core.somaxconn=>4096\n"
           "[vm]\ntransparent_hugepages=always\n");
  PutSysctl(tree, "vm/swappiness", "7");
  Audit audit = AuditOf(tree);
  EXPECT_EQ(audit.tuned_profile, "my-ai");
  EXPECT_EQ(Item(audit, "vm.swappiness").origin.set_by.place,
            "/etc/tuned/profiles/my-ai/tuned.conf:4");
  EXPECT_EQ(Item(audit, "net.core.somaxconn").origin.set_by.kind, OriginKind::kTuned);
  EXPECT_EQ(Item(audit, "thp.enabled").origin.set_by.kind, OriginKind::kTuned);
  EXPECT_EQ(Item(audit, "cpu.governor").origin.set_by.kind, OriginKind::kTuned);
  // tuned lets the site's own files win, those of packages not.
  tree.Put("/usr/lib/sysctl.d/x.conf", "vm.swappiness=50\n");
  EXPECT_FALSE(Item(AuditOf(tree), "vm.swappiness").origin.at_boot);
  tree.Put("/etc/sysctl.d/x.conf", "vm.swappiness=8\n");
  audit = AuditOf(tree);
  ASSERT_TRUE(Item(audit, "vm.swappiness").origin.at_boot);
  EXPECT_EQ(Item(audit, "vm.swappiness").origin.at_boot->value, "8");
  tree.Put("/etc/tuned/tuned-main.conf", "reapply_sysctl = 0\n");
  EXPECT_FALSE(Item(AuditOf(tree), "vm.swappiness").origin.at_boot);
}

TEST(Origin, ALoopOfTunedProfilesEnds) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/etc/tuned/active_profile", "a\n");
  tree.Put("/etc/tuned/a/tuned.conf", "[main]\ninclude=b\n");
  tree.Put("/etc/tuned/b/tuned.conf", "[main]\ninclude=a\n[sysctl]\nvm.swappiness=60\n");
  EXPECT_EQ(Item(AuditOf(tree), "vm.swappiness").origin.set_by.kind, OriginKind::kTuned);
}

TEST(Origin, CommandLineTmpfilesAndLimits) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/proc/cmdline", "quiet sysctl.vm.swappiness=60 transparent-hugepage=always -- x=1\n");
  tree.Put("/etc/systemd/system.conf",
           "[Manager]\n#DefaultLimitNOFILE=1\nDefaultLimitNOFILE=9:9\n");
  tree.Put("/etc/security/limits.d/rdma.conf", "@rdma - memlock unlimited # x\n");
  Audit audit = AuditOf(tree);
  EXPECT_EQ(Item(audit, "vm.swappiness").origin.set_by.kind, OriginKind::kCommandLine);
  EXPECT_EQ(Item(audit, "thp.enabled").origin.set_by.kind, OriginKind::kCommandLine);
  tree.Put("/etc/tmpfiles.d/thp.conf",
           "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n");
  audit = AuditOf(tree);
  EXPECT_EQ(Item(audit, "thp.enabled").origin.set_by.place, "/etc/tmpfiles.d/thp.conf:1");
}

TEST(Origin, ObsoleteLinesAreFound) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/etc/sysctl.d/old.conf", "\nkernel.sched_latency_ns = 24000000\n");
  const AuditItem item = Item(AuditOf(tree), "kernel.sched_latency_ns");
  EXPECT_EQ(item.status, ItemStatus::kObsolete);
  EXPECT_THAT(item.reason, HasSubstr("/etc/sysctl.d/old.conf:2"));
}

TEST(Policy, TheSharedCaseOfBlanksAndMissingKeys) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  const std::string folder = std::string(source == nullptr ? "." : source) +
                             "/../shared/cases/small/48-sysctl-whitespace-missing";
  const auto text = ReadFile(folder + "/policy.txt");
  if (!text.ok()) GTEST_SKIP() << folder << " is not there";
  const auto policy = ParsePolicy(*text, "policy.txt");
  ASSERT_TRUE(policy.ok());
  const auto files = RootFiles::Open(folder);
  ASSERT_TRUE(files.ok());
  const Audit audit = AuditPolicy(*files, ReadNodeFacts(*files), *policy);
  ASSERT_EQ(audit.items.size(), 5U);
  EXPECT_EQ(Item(audit, "net.ipv4.tcp_rmem").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "net.ipv4.tcp_congestion_control").status, ItemStatus::kChange);
  EXPECT_EQ(Item(audit, "net.ipv4.tcp_congestion_control").current, "cubic");
  EXPECT_EQ(Item(audit, "net.core.rmem_max").status, ItemStatus::kNotApplicable);
  EXPECT_THAT(Item(audit, "net.core.rmem_max").reason, HasSubstr("not available here"));
  EXPECT_EQ(Item(audit, "kernel.core_pattern").status, ItemStatus::kOk);
  EXPECT_EQ(Item(audit, "net.ipv4.conf.eth0/100.rp_filter").status, ItemStatus::kNotApplicable);
}

TEST(Policy, LinesThatAreNoneAreErrors) {
  for (const char* text : {"vm.swappiness\n", "= 3\n", "vm.swappiness =\n", "../x = 1\n",
                           "net.ipv4.conf.*.rp_filter = 1\n", "vm.swappiness > 3\n"}) {
    EXPECT_FALSE(ParsePolicy(text, "p").ok()) << text;
  }
  const auto good = ParsePolicy("# c\n\nvm/swappiness<=10\nthp.enabled = never\n", "p");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)[0].key, "vm.swappiness");
  EXPECT_EQ((*good)[0].relation, Relation::kAtMost);
  EXPECT_EQ((*good)[1].key, "thp.enabled");
  EXPECT_EQ((*good)[1].place, "p:4");
}

}  // namespace
}  // namespace culprit::tune
