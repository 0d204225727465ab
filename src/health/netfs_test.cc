// Checks of network file systems and software RAIDs over files as their kernels write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "health/test_tree.h"

namespace culprit::health {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct TwoSecondTree : TestTree {
  TwoSecondTree() {
    Write("0/proc/uptime", "100.00 1\n");
    Write("1/proc/uptime", "102.00 1\n");
  }
  // Of one check, which has one subject.
  Finding One(const std::string& id) const {
    const Report report = Check(id);
    EXPECT_EQ(report.findings.size(), 1U);
    return FindingOf(report, id);
  }
};

// mountstats of one NFS mount whose READ line is given: ops, transmissions, timeouts, bytes sent
// and received, queue, rtt, execute in ms, errors.
std::string MountStats(std::string_view read) {
  return "device rootfs mounted on / with fstype rootfs\n"
         "device 10.0.0.1:/data mounted on /mnt/da\\040ta with fstype nfs4 statvers=1.1\n"
         "\topts:\trw,vers=4.1,rsize=1048576,timeo=600,retrans=2\n\tage:\t13968\n"
         "\tcaps:\tcaps=0xfff7,wtmult=512\n\tsec:\tflavor=1,pseudoflavor=1\n"
         "\tevents:\t52 226 0 0 1 13 398 0 0 331 0 47 0 0 77 0 0 77 0 0 0 0 0 0 0 0 0\n"
         "\tbytes:\t1207640230 0 0 0 1210214218 0 295483 0\n\tRPC iostats version: 1.1  p/v: "
         "100003/4 (nfs)\n\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726\n"
         "\tper-op statistics\n\t        NULL: 0 0 0 0 0 0 0 0 0\n\t        READ: " +
         std::string(read) + "\n\t       WRITE: 0 0 0 0 0 0 0 0 0\n\n";
}

TEST(Nfs, RoundTripsAndRetransmissions) {
  const TwoSecondTree tree;
  tree.Write("0/proc/self/mountstats", MountStats("1000 1000 0 1 1 10 5000 5100 0"));
  // 200 operations, 204 transmissions, 400 ms on the wire.
  tree.Write("1/proc/self/mountstats", MountStats("1200 1204 2 1 1 10 5400 5600 0"));
  Finding finding = tree.One("mount.nfs");
  EXPECT_EQ(finding.subject, "/mnt/da ta");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 2);
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("100 operations/s, round trip 2.0 ms, server "
                                                   "10.0.0.1:/data")));
  // 100 operations at 80 ms each, none sent again.
  tree.Write("1/proc/self/mountstats", MountStats("1100 1100 0 1 1 10 13000 13600 0"));
  finding = tree.One("mount.nfs");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_THAT(finding.summary, HasSubstr("answers in 80 ms"));
  // An idle mount, and one whose counters began anew.
  tree.Write("1/proc/self/mountstats", MountStats("1000 1000 0 1 1 10 5000 5100 0"));
  EXPECT_EQ(tree.One("mount.nfs").status, FindingStatus::kOk);
  tree.Write("1/proc/self/mountstats", MountStats("5 5 0 1 1 10 5 5 0"));
  EXPECT_EQ(tree.One("mount.nfs").status, FindingStatus::kUnknown);
}

std::string Import(std::string_view state, std::string_view flags = "replayable, pingable") {
  return "import:\n    name: lustre-OST0003-osc-ffff8800cf6f0000\n    target: lustre-OST0003_UUID\n"
         "    state: " +
         std::string(state) +
         "\n    connect_flags: [ write_grant, server_lock ]\n    connect_data:\n"
         "       flags: 0x84a0f5c46aa4\n    import_flags: [ " +
         std::string(flags) +
         " ]\n    connection:\n       failover_nids: [ 10.0.0.7@o2ib ]\n"
         "       current_connection: \"10.0.0.7@o2ib\"\n       connection_attempts: 3\n"
         "    rpcs:\n       inflight: 2\n       timeouts: 5\n";
}

TEST(Lustre, ImportsThatAreNotFull) {
  for (const std::string folder :
       {"proc/fs/lustre/osc/lustre-OST0003-osc-ffff8800cf6f0000/",
        "sys/kernel/debug/lustre/osc/lustre-OST0003-osc-ffff8800cf6f0000/"}) {
    const TwoSecondTree tree;
    tree.Both(folder + "import", Import("FULL"));
    EXPECT_EQ(tree.One("mount.lustre_ceph").status, FindingStatus::kOk);
    tree.Write("1/" + folder + "import", Import("CONNECTING"));
    Finding finding = tree.One("mount.lustre_ceph");
    EXPECT_EQ(finding.status, FindingStatus::kWarning) << "it may be through in the next moment";
    EXPECT_EQ(finding.subject, "lustre-OST0003-osc-ffff8800cf6f0000");
    tree.Both(folder + "import", Import("DISCONN"));
    finding = tree.One("mount.lustre_ceph");
    EXPECT_EQ(finding.status, FindingStatus::kCritical);
    EXPECT_THAT(finding.summary, HasSubstr("lustre-OST0003_UUID is DISCONN"));
    EXPECT_THAT(finding.evidence, Contains("server 10.0.0.7@o2ib"));
    tree.Both(folder + "import", Import("IDLE"));
    EXPECT_EQ(tree.One("mount.lustre_ceph").status, FindingStatus::kOk);
    tree.Both(folder + "import", Import("DISCONN", "replayable, deactive"));
    EXPECT_EQ(tree.One("mount.lustre_ceph").status, FindingStatus::kOk);
    tree.Both(folder + "import", "import:\n    state:\n\xff\n");
    EXPECT_NE(tree.One("mount.lustre_ceph").status, FindingStatus::kCritical);
  }
}

TEST(Ceph, RequestsThatDoNotEndAndWatchesThatNeverDo) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100.00 1\n");
  tree.Write("1/proc/uptime", "140.00 1\n");
  const std::string osdc = "/sys/kernel/debug/ceph/5b1c.client4305/osdc";
  const std::string watch =
      "LINGER REQUESTS\n18446462598732840961\tosd0\t2.b6b2d7d5\t2.15\t[0,2,1]/0\t[0,2,1]/0\te19\t"
      "rbd_header.1011\t0x20\t0\tWC/0\nBACKOFFS\n";
  tree.Both(osdc, "REQUESTS 0 homeless 0\n" + watch);
  EXPECT_EQ(FindingOf(tree.Check("mount.lustre_ceph"), "mount.lustre_ceph").status,
            FindingStatus::kOk)
      << "the watch of a mapped device is no request that hangs";
  const std::string request =
      "12\tosd3\t1.a7b3c2d1\t1.11\t[3,1,5]/3\t[3,1,5]/3\te30\t10000000001.00000000\t0x400014\t1\t"
      "write\n";
  tree.Both(osdc, "REQUESTS 1 homeless 0\n" + request + watch);
  const Finding finding = FindingOf(tree.Check("mount.lustre_ceph"), "mount.lustre_ceph");
  EXPECT_EQ(finding.status, FindingStatus::kCritical);
  EXPECT_EQ(finding.subject, "5b1c.client4305/osdc");
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 1);
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("12 osd3 1.a7b3c2d1")));
  // Others in the second sample: work goes on.
  tree.Write("1/" + osdc, "REQUESTS 1 homeless 0\n13" + request.substr(2) + watch);
  EXPECT_EQ(FindingOf(tree.Check("mount.lustre_ceph"), "mount.lustre_ceph").status,
            FindingStatus::kOk);
}

TEST(LustreCeph, AMountWithoutDebugfsIsUnknown) {
  const TwoSecondTree tree;
  EXPECT_EQ(tree.One("mount.lustre_ceph").status, FindingStatus::kNotApplicable);
  tree.Both("proc/self/mountinfo", "1 0 0:50 / /scratch rw - lustre mgs@tcp:/fs rw\n");
  const Finding finding = tree.One("mount.lustre_ceph");
  EXPECT_EQ(finding.status, FindingStatus::kUnknown);
  EXPECT_THAT(finding.skipped_reason, HasSubstr("/scratch is a lustre mount"));
}

TEST(Raid, DegradedFaultyAndStoppedArrays) {
  const TwoSecondTree tree;
  tree.Both("proc/mdstat",
            "Personalities : [raid1] [raid6]\n"
            "md0 : active raid1 sdi1[0] sdj1[1]\n      248896 blocks [2/2] [UU]\n\n"
            "md6 : active raid1 sdb2[2](F) sdc[1](S) sda2[0]\n      195310144 blocks [2/1] [U_]\n"
            "      [=>...................]  recovery =  8.5% (16775552/195310144) "
            "finish=17.0min speed=259783K/sec\n\n"
            "md10 : active raid0 sda1[0] sdb1[1]\n      314159265 blocks 64k chunks\n\n"
            "md127 : inactive sdd[0](S)\n      976631512 blocks super 1.2\n\n"
            "md219 : inactive sdb[2](S) sdc[1](S)\n        7932 blocks super external:imsm\n\n"
            "unused devices: <none>\n");
  const Report report = tree.Check("disk.raid");
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].subject, "md6");
  EXPECT_EQ(report.findings[0].status, FindingStatus::kWarning);
  EXPECT_THAT(report.findings[0].evidence, Contains("sdb2 is marked faulty"));
  EXPECT_THAT(report.findings[0].evidence, Contains("now: recovery =  8.5%"));
  EXPECT_EQ(report.findings[1].subject, "md127");
  EXPECT_THAT(report.findings[1].summary, HasSubstr("not active"));
}

}  // namespace
}  // namespace culprit::health
