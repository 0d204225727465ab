// Checks of disks, mounts, network, the kernel log and GPUs, over trees and texts made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "health/baseline.h"
#include "health/device_probes.h"
#include "health/disk_rates.h"
#include "health/kmsg.h"
#include "health/mounts.h"
#include "health/nvml.h"
#include "health/oom_log.h"
#include "health/test_tree.h"

namespace culprit::health {
namespace {

using testing::Contains;
using testing::HasSubstr;

kernel::DiskStat Disk(std::string_view text) {
  kernel::DiskStat disk;
  EXPECT_TRUE(kernel::ParseDiskStatColumns(text, disk));
  disk.name = "sda";
  return disk;
}

// small/40-iostat-util/expected.txt.
TEST(DiskRates, AsIostatShowsThem) {
  const auto first = ReadText(SharedCase("small/40-iostat-util/t0"), "/diskstats");
  const auto second = ReadText(SharedCase("small/40-iostat-util/t1"), "/diskstats");
  std::vector<kernel::DiskStat> before, after;
  ASSERT_TRUE(kernel::ParseDiskStats(first.text, before));
  ASSERT_TRUE(kernel::ParseDiskStats(second.text, after));
  const auto rates = RatesOfDisks(before, after, 1.0);
  ASSERT_EQ(rates.size(), 2U) << "dm-3 fell: it is a new device and has no rate";
  EXPECT_EQ(rates[0].name, "sda");
  EXPECT_DOUBLE_EQ(rates[0].read.per_s, 2);
  EXPECT_DOUBLE_EQ(*rates[0].raw_util_pct, 101);
  EXPECT_DOUBLE_EQ(*rates[0].util_pct, 100);
  EXPECT_DOUBLE_EQ(*rates[0].queue, 0.001);
  EXPECT_EQ(rates[1].name, "nvme0n1");
  EXPECT_DOUBLE_EQ(rates[1].read.per_s, 200000);
  EXPECT_DOUBLE_EQ(*rates[1].read.await_ms, 0.05);
  EXPECT_DOUBLE_EQ(*rates[1].queue, 10);
  EXPECT_DOUBLE_EQ(rates[1].little_queue, 10) << "Little's law: 200,000/s times 0.05 ms";
}

TEST(DiskRates, AWrapOf32BitsIsNoReset) {
  const auto rates = RatesOf(Disk("1 0 0 4294967290 0 0 0 0 0 4294967000 4294967290"),
                             Disk("3 0 16 4 0 0 0 0 0 204 4"), 1.0);
  ASSERT_TRUE(rates.has_value());
  EXPECT_DOUBLE_EQ(*rates->read.await_ms, 5);
  EXPECT_DOUBLE_EQ(*rates->util_pct, 50);
}

TEST(Disk, NvmeIsNeverAlarmedForItsUtilization) {
  TestTree tree;
  for (const std::string sample : {"0", "1"}) {
    const auto text = ReadText(SharedCase("small/40-iostat-util/t" + sample), "/diskstats");
    tree.Write(sample + "/proc/diskstats", text.text);
    tree.Write(sample + "/proc/uptime", sample == "0" ? "100.00 1\n" : "101.00 1\n");
  }
  const Report report = tree.Check("disk.util,disk.queue,disk.nvme_latency");
  for (const Finding& finding : report.findings)
    EXPECT_EQ(finding.status, FindingStatus::kOk) << finding.summary;
}

TEST(Disk, SlowFlushesNameTheDiskAndItsKind) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "101 1\n");
  tree.Write(
      "0/proc/diskstats",
      "259 0 nvme0n1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n259 1 nvme0n1p1 0 0 0 0 0 0 0 0 0 0 0\n");
  tree.Write("1/proc/diskstats",
             "259 0 nvme0n1 0 0 0 0 100 0 800 100 0 900 6100 0 0 0 0 100 6000\n259 1 nvme0n1p1 0 0 "
             "0 0 100 0 800 99999 0 900 9\n");
  const Finding finding = FindingOf(tree.Check("disk.nvme_latency"), "disk.nvme_latency");
  EXPECT_EQ(finding.status, FindingStatus::kCritical);
  EXPECT_EQ(finding.subject, "nvme0n1") << "the partition counts for nothing";
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 60);
  EXPECT_THAT(finding.summary, HasSubstr("flushes of nvme0n1"));
}

TEST(Disk, RequestsThatNeverEnd) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "140 1\n");
  tree.Both("proc/diskstats",
            "8 0 sda 5 0 40 9 0 0 0 0 3 10 10\n8 16 sdb 5 0 40 9 0 0 0 0 0 10 10\n");
  const Finding finding = FindingOf(tree.Check("disk.stuck"), "disk.stuck");
  EXPECT_EQ(finding.status, FindingStatus::kCritical);
  EXPECT_EQ(finding.subject, "sda");
}

TEST(Disk, TwoThousandOfThem) {
  TestTree tree;
  std::string before, after;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "65 " + std::to_string(i) + " sd" + std::to_string(i) + "x ";
    before += name + "0 0 0 0 0 0 0 0 0 0 0\n";
    after += name +
             (i < 100 ? "100 0 800 30000 0 0 0 0 0 900 30000\n" : "100 0 800 10 0 0 0 0 0 10 10\n");
  }
  tree.Write("0/proc/diskstats", before);
  tree.Write("1/proc/diskstats", after);
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "101 1\n");
  const Report report = tree.Check("disk.latency");
  EXPECT_EQ(report.findings.size(), 20U) << "twenty are told, the rest is counted";
  EXPECT_THAT(report.findings[19].evidence, Contains(HasSubstr("and 80 more")));
}

TEST(Mounts, OneADeviceAndNoPseudoFileSystems) {
  const auto mounts = MountsToProbe(
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /home /srv rw - ext4 /dev/sda1 rw\n"
      "3 1 0:4 / /proc rw - proc proc rw\n4 1 0:50 / /mnt rw - nfs4 h:/x rw\n"
      "5 1 0:51 / /var/lib/docker/overlay2/a rw - overlay overlay rw\n6 1 0:52 / /dev/shm rw - "
      "tmpfs t rw\n"
      "7 1 0:53 / /fuse rw - fuse.sshfs h: rw\n8 1 0:54 / /a rw - autofs x rw\n");
  ASSERT_EQ(mounts.size(), 4U);
  EXPECT_EQ(mounts[0].mount_point, "/");
  EXPECT_EQ(KindOfMount(mounts[1]), MountKind::kNetwork);
  EXPECT_EQ(KindOfMount(mounts[2]), MountKind::kMemory);
  EXPECT_EQ(KindOfMount(mounts[3]), MountKind::kNetwork);
  EXPECT_LE(MountProbeComm(mounts[1]).size(), 15U);
}

TEST(Mounts, ReadOnlyAgainstFstabAndByFault) {
  TestTree tree;
  tree.Both("etc/fstab",
            "# x\nUUID=1 / ext4 errors=remount-ro 0 1\nUUID=2 /cd iso ro 0 0\nUUID=3 /data xfs "
            "defaults 0 0\n");
  tree.Both(
      "proc/self/mountinfo",
      "1 0 8:1 / / rw - ext4 /dev/sda1 ro,errors=remount-ro\n2 1 8:2 / /cd ro - ext4 /dev/sda2 ro\n"
      "3 1 8:3 / /data ro - xfs /dev/sda3 ro\n4 1 8:4 / /ok rw - xfs /dev/sda4 rw\n5 1 8:5 / "
      "/quiet ro - xfs /dev/sda5 ro\n");
  const Report report = tree.Check("fs.readonly", false);
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].subject, "/");
  EXPECT_EQ(report.findings[1].subject, "/data");
  EXPECT_EQ(report.verdict, FindingStatus::kCritical);
}

TEST(Net, DropsRetransmitsAndListenQueues) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "101 1\n");
  tree.Write("0/proc/net/dev",
             "eth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\neth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  tree.Write("1/proc/net/dev",
             "eth0: 1000 20000 0 1000 0 0 0 0 0 5 0 0 0 0 0 0\neth1: 10 100 0 90 0 0 0 0 0 0 0 0 0 "
             "0 0 0\n");
  tree.Write("0/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 1000 10\n");
  tree.Write("1/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 3000 130\n");
  tree.Write("0/proc/net/netstat", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 5 5\n");
  tree.Write("1/proc/net/netstat", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 8 8\n");
  const Report report = tree.Check("net.drops,net.retransmits,net.listen");
  const Finding drops = FindingOf(report, "net.drops");
  EXPECT_EQ(drops.status, FindingStatus::kWarning);
  EXPECT_EQ(drops.subject, "eth0") << "eth1 has too few packets to say anything";
  EXPECT_NEAR(drops.value.value_or(0), 100.0 * 1000 / 21000, 1e-9);
  EXPECT_EQ(FindingOf(report, "net.retransmits").status, FindingStatus::kCritical);
  EXPECT_DOUBLE_EQ(FindingOf(report, "net.retransmits").value.value_or(0), 6);
  EXPECT_EQ(FindingOf(report, "net.listen").status, FindingStatus::kWarning);
}

TEST(Net, RdmaPortsAgainstTheBaseline) {
  TestTree tree;
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  tree.Both(port + "state", "4: ACTIVE\n");
  tree.Both(port + "phys_state", "5: LinkUp\n");
  tree.Both(port + "rate", "200 Gb/sec (4X HDR)\n");
  tree.Write("0/" + port + "counters/link_downed", "1\n");
  tree.Write("1/" + port + "counters/link_downed", "3\n");
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "101 1\n");
  Report report = tree.Check("rdma.port,rdma.errors");
  EXPECT_EQ(FindingOf(report, "rdma.port").status, FindingStatus::kOk);
  EXPECT_EQ(FindingOf(report, "rdma.errors").subject, "mlx5_0 port 1");
  EXPECT_DOUBLE_EQ(FindingOf(report, "rdma.errors").value.value_or(0), 2);
  EXPECT_EQ(report.seen.at("rdma.mlx5_0.1.rate"), "200 Gb/sec (4X HDR)");
  CheckOptions options;
  options.rules = SelectRules("rdma.port").value();
  options.root = tree.path() + "/0";
  options.baseline = report.seen;
  (*options.baseline)["rdma.mlx5_0.1.rate"] = "400 Gb/sec (4X NDR)";
  (*options.baseline)["rdma.mlx5_1.1.state"] = "4: ACTIVE";
  report = Checker(options).Run({});
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].status, FindingStatus::kCritical);
  EXPECT_EQ(report.findings[1].status, FindingStatus::kCritical);
}

// small/49-kmsg-xid/expected.txt; the log's clock begins at boot.
TEST(Kmsg, XidsOfTheSharedCase) {
  const auto text = ReadText(SharedCase("small/49-kmsg-xid"), "/kmsg");
  ASSERT_EQ(text.error_number, 0);
  const auto records = ParseKmsg(text.text);
  ASSERT_EQ(records.size(), 6U);
  const auto xids = FindXids(records);
  ASSERT_EQ(xids.size(), 3U);
  EXPECT_EQ(xids[0].gpu, "0000:9b:00");
  EXPECT_EQ(xids[0].code, 31U);
  EXPECT_DOUBLE_EQ(xids[0].first_s, 5);
  EXPECT_EQ(MeaningOfXid(31).status, FindingStatus::kWarning);
  EXPECT_EQ(xids[1].code, 79U);
  EXPECT_EQ(StatusOfXid(xids[1]), FindingStatus::kCritical);
  EXPECT_EQ(xids[2].gpu, "0000:b3:00");
  EXPECT_EQ(xids[2].code, 0U);
  EXPECT_EQ(StatusOfXid(xids[2]), FindingStatus::kCritical);
  const auto kills = FindOomKills(records);
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_EQ(kills[0].pid, 77);
  EXPECT_EQ(kills[0].comm, "my (app)");
  EXPECT_DOUBLE_EQ(kills[0].time_s, 7201);
  EXPECT_FALSE(kills[0].in_cgroup);
  // As a check of a node that is up for 7260 s: Xid 31 was two hours ago and only informs.
  TestTree tree;
  tree.Both("dev/kmsg", text.text);
  tree.Both("proc/uptime", "7260.00 1\n");
  const Report report = tree.Check("gpu.xid,memory.oom");
  ASSERT_EQ(report.findings.size(), 3U);
  EXPECT_EQ(report.findings[0].subject, "GPU 0000:9b:00 Xid 79");
  EXPECT_EQ(report.findings[1].subject, "GPU 0000:b3:00 off the bus");
  EXPECT_EQ(report.findings[2].id, "memory.oom");
  EXPECT_EQ(report.findings[2].subject, "node");
  EXPECT_THAT(report.findings[2].evidence,
              Contains(HasSubstr("killed my (app) (pid 77) 59 s ago")));
}

TEST(Kmsg, AThousandLinesAreOneEventAndTheOddOnesAreRead) {
  std::string log;
  for (int i = 0; i < 1000; ++i) {
    log += "4," + std::to_string(i) + "," + std::to_string(i * 1000) +
           ",-;NVRM: Xid (PCI:0000:01:00): 74, pid=1, NVLink: Link 04 error\n";
  }
  log +=
      "4,2000,5000000,-;NVRM: Xid (PCI:0000:01:00): 45, pid=7, Ch 1, caused by previous Xid 31\n";
  log += "4,2001,5000000,-;NVRM: Xid (PCI:0000:01:00): 149, NETIR_BER_EVENT Nonfatal\n";
  log += "4,2002,5000000,-;NVRM: Xid (PCI:0000:01:00): 149, NETIR_LINK_DOWN Fatal\n";
  log += "4,2003,5000000,-;NVRM: Xid (PCI:0000:01:00): 999, what\n";
  log +=
      "4,2004,5000000,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM "
      "Fault Up\n";
  log +=
      "4,2005,x,-;NVRM: Xid (PCI:0000:01:00): 79\n;;;\nnoise\n4,5\n 4,2006,1,-;NVRM: Xid "
      "(PCI:0000:01:00): 79\n";
  const auto xids = FindXids(ParseKmsg(log));
  const auto find = [&](std::uint32_t code) -> XidEvents {
    for (const auto& xid : xids) {
      if (xid.code == code) return xid;
    }
    return {};
  };
  EXPECT_EQ(find(74).count, 1000U);
  EXPECT_EQ(find(45).caused_by, 31U);
  EXPECT_EQ(find(149).count, 2U);
  EXPECT_EQ(StatusOfXid(find(999)), FindingStatus::kWarning);
  EXPECT_EQ(MeaningOfXid(999).meaning, "not in the table");
  EXPECT_TRUE(find(20034).is_switch);
  EXPECT_EQ(StatusOfXid(find(20034)), FindingStatus::kCritical);
  EXPECT_EQ(find(79).count, 0U) << "a torn record and a key line are no events";
}

TEST(Kmsg, LinesOfOtherFaults) {
  const auto topic = [](std::string_view message) {
    const KmsgPattern* pattern = MatchKmsg(message);
    return pattern == nullptr ? -1 : static_cast<int>(pattern->topic);
  };
  EXPECT_EQ(topic("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:77]"),
            static_cast<int>(KmsgTopic::kLockup));
  EXPECT_EQ(topic("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
            static_cast<int>(KmsgTopic::kLockup));
  EXPECT_EQ(topic("rcu: INFO: rcu_sched self-detected stall on CPU"),
            static_cast<int>(KmsgTopic::kLockup));
  EXPECT_EQ(topic("INFO: task dd:12 blocked for more than 120 seconds."),
            static_cast<int>(KmsgTopic::kHungTask));
  EXPECT_EQ(topic("nvme nvme0: I/O tag 0 (0001) opcode 0x2 (I/O Cmd) QID 1 timeout, aborting "
                  "req_op:READ(0) size:4096"),
            static_cast<int>(KmsgTopic::kDisk));
  EXPECT_EQ(topic("Buffer I/O error on dev sda1, logical block 5, async page read"),
            static_cast<int>(KmsgTopic::kDisk));
  EXPECT_EQ(topic("EXT4-fs (vda): mounted filesystem"), -1);
  EXPECT_EQ(topic(""), -1);
}

TEST(Kmsg, NfsOutagesPairByServer) {
  TestTree tree;
  tree.Both("dev/kmsg",
            "3,1,1000000,-;nfs: server a not responding, still trying\n3,2,2000000,-;nfs: server b "
            "not responding, still trying\n"
            "3,3,9000000,-;nfs: server a OK\n");
  tree.Both("proc/uptime", "100 1\n");
  const Report report = tree.Check("mount.nfs_log");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].subject, "b");
  EXPECT_EQ(report.findings[0].status, FindingStatus::kCritical);
  EXPECT_DOUBLE_EQ(report.findings[0].value.value_or(0), 98);
}

TEST(Nvme, HealthLog) {
  std::string log(512, '\0'), identify(4096, '\0');
  log[0] = 0x04;
  log[1] = 0x36, log[2] = 0x01;  // 0x136 = 310 K
  log[5] = 101;
  log[160] = 7;
  identify[266] = 0x57, identify[267] = 0x01;  // 343 K
  const std::string text = NvmeHealthText(log, identify);
  EXPECT_THAT(text, HasSubstr("critical_warning 4\n"));
  EXPECT_THAT(text, HasSubstr("temperature_k 310\n"));
  EXPECT_THAT(text, HasSubstr("percentage_used 101\n"));
  EXPECT_THAT(text, HasSubstr("media_errors 7\n"));
  EXPECT_THAT(text, HasSubstr("wctemp_k 343\n"));
  EXPECT_EQ(NvmeHealthText("short", ""), "");
}

TEST(Baseline, IsWrittenAndReadBack) {
  TestTree tree;
  const Baseline saved = {{"gpu.count", "8"}, {"rdma.mlx5_0.1.rate", "200 Gb/sec (4X HDR)"}};
  const std::string path = tree.path() + "/baseline";
  ASSERT_TRUE(SaveBaseline(path, saved).ok());
  const auto loaded = LoadBaseline(path);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded, saved);
  tree.Write("bad", "novalue\n");
  EXPECT_FALSE(LoadBaseline(tree.path() + "/bad").ok());
  EXPECT_FALSE(LoadBaseline(tree.path() + "/none").ok());
}

}  // namespace
}  // namespace culprit::health
