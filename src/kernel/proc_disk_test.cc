#include "kernel/proc_disk.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace culprit::kernel {
namespace {

// What small/39-diskstats-fields/expected.txt says.
TEST(ProcDisk, EveryGenerationOfDiskstats) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  const auto text = ReadFile(std::string(source == nullptr ? "." : source) +
                             "/../shared/cases/small/39-diskstats-fields/diskstats");
  ASSERT_TRUE(text.ok());
  std::vector<DiskStat> disks;
  ASSERT_TRUE(ParseDiskStats(*text, disks));
  ASSERT_EQ(disks.size(), 5U);
  const DiskStat& sda = disks[0];
  EXPECT_EQ(sda.reads, 104019U);
  EXPECT_EQ(sda.weighted_ms, 12302U);
  EXPECT_FALSE(sda.discards.has_value());
  EXPECT_FALSE(sda.flushes.has_value());
  EXPECT_EQ(disks[1].discards, 7U);
  EXPECT_FALSE(disks[1].flushes.has_value());
  EXPECT_EQ(disks[2].flushes, 9U);
  EXPECT_EQ(disks[2].flush_ms, 6U);
  EXPECT_EQ(disks[2].in_flight, 3U);
  const DiskStat& partition = disks[3];
  EXPECT_EQ(partition.name, "sda1");
  EXPECT_EQ(partition.reads, 10U);
  EXPECT_EQ(partition.sectors_read, 80U);
  EXPECT_EQ(partition.writes, 20U);
  EXPECT_EQ(partition.sectors_written, 160U);
  EXPECT_FALSE(partition.read_ms.has_value());
  EXPECT_FALSE(partition.io_ms.has_value());
  EXPECT_EQ(disks[4].name, "dm-0");
  EXPECT_EQ(disks[4].reads, 1U);
}

TEST(ProcDisk, TornAndForeignLinesAreLeftOut) {
  std::vector<DiskStat> disks;
  EXPECT_FALSE(ParseDiskStats("", disks));
  EXPECT_FALSE(
      ParseDiskStats("8 0\n8 0 sda\n8 0 sda 1 2 3\nx 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
                     "8 0 sda 1 2 3 4 5 6 7 8 9 10 -11\n",
                     disks));
  ASSERT_TRUE(ParseDiskStats("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13\n", disks));
  EXPECT_EQ(disks[0].weighted_ms, 11U);
  EXPECT_FALSE(disks[0].discards.has_value()) << "half a group is no group";
}

TEST(ProcDisk, SysBlockStatHasTheSameColumns) {
  DiskStat disk;
  ASSERT_TRUE(ParseDiskStatColumns("   1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", disk));
  EXPECT_EQ(disk.reads, 1U);
  EXPECT_EQ(disk.flush_ms, 17U);
}

TEST(ProcDisk, MountInfo) {
  std::vector<Mount> mounts;
  ASSERT_TRUE(ParseMountInfo(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n"
      "37 35 0:42 / /mnt/my\\040nfs ro - nfs4 10.0.0.1:/a\\040b rw,hard\n"
      "38 35 0:43 / /empty rw -  tmpfs  rw\n"
      "torn 35 0:43 / /empty rw - tmpfs none rw\n"
      "39 35 0:44 / /nodash rw tmpfs none rw\n",
      mounts));
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[0].major, 98U);
  EXPECT_EQ(mounts[0].root, "/mnt1");
  EXPECT_EQ(mounts[0].source, "/dev/root");
  EXPECT_TRUE(mounts[0].HasOption("noatime"));
  EXPECT_FALSE(mounts[0].HasOption("no"));
  EXPECT_TRUE(mounts[0].HasSuperOption("errors=continue"));
  EXPECT_EQ(mounts[1].mount_point, "/mnt/my nfs");
  EXPECT_EQ(mounts[1].source, "10.0.0.1:/a b");
  EXPECT_TRUE(mounts[1].HasOption("ro"));
  EXPECT_EQ(mounts[2].source, "");
  EXPECT_EQ(mounts[2].super_options, "rw");
}

TEST(ProcDisk, EscapesOfMountText) {
  EXPECT_EQ(UnescapeMountText("a\\040b\\011c\\134d"), "a b\tc\\d");
  EXPECT_EQ(UnescapeMountText("\\04"), "\\04");
  EXPECT_EQ(UnescapeMountText("\\999"), "\\999");
  EXPECT_EQ(UnescapeMountText("\\777"), "\\777");
}

TEST(ProcDisk, MountStatsSumsTheOperationsOfEachNfsMount) {
  std::vector<NfsMountStat> mounts;
  ParseMountStats(
      "device /dev/sda1 mounted on / with fstype ext4\n"
      "device h:/srv mounted on /mnt/nfs with fstype nfs4 statvers=1.1\n"
      "\tage:\t13968\n\tper-op statistics\n\t        NULL: 0 0 0 0 0 0 0 0\n"
      "\t        READ: 1298 1300 1 207680 1210292152 6 79386 79407\n"
      "\t       WRITE: 2 2 0 1 1 1 10 11 0\n\t torn: 1 2\n\n"
      "device proc mounted on /proc with fstype proc\n\tage:\t1\n",
      mounts);
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].mount_point, "/mnt/nfs");
  EXPECT_EQ(mounts[0].age_s, 13968U);
  EXPECT_EQ(mounts[0].operations, 1300U);
  EXPECT_EQ(mounts[0].transmissions, 1302U);
  EXPECT_EQ(mounts[0].rtt_ms, 79396U);
}

}  // namespace
}  // namespace culprit::kernel
