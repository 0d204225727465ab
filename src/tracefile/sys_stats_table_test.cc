#include "tracefile/sys_stats_table.h"

#include <gtest/gtest.h>

namespace culprit::tracefile {
namespace {

// Numbers as in the public protos (sys_stats_counters.proto).
TEST(SysStatsTable, NumbersOfKnownNames) {
  EXPECT_EQ(MeminfoKey("MemTotal"), 1U);
  EXPECT_EQ(MeminfoKey("Committed_AS"), 28U);
  EXPECT_EQ(MeminfoKey("CmaFree"), 33U);
  EXPECT_EQ(MeminfoKey("HugePages_Total"), std::nullopt);
  EXPECT_EQ(VmstatKey("nr_free_pages"), 1U);
  EXPECT_EQ(VmstatKey("pgmajfault"), 50U);
  EXPECT_EQ(VmstatKey("oom_kill"), 115U);
  EXPECT_EQ(VmstatKey("workingset_restore_file"), 188U);
  EXPECT_EQ(VmstatKey(""), std::nullopt);
}

TEST(SysStatsTable, EveryNameLeadsBackToItsNumber) {
  for (std::uint32_t key = 1; key < std::size(kMeminfoNames); ++key) {
    EXPECT_EQ(MeminfoKey(kMeminfoNames[key]), key);
  }
  for (std::uint32_t key = 1; key < std::size(kVmstatNames); ++key) {
    EXPECT_EQ(VmstatKey(kVmstatNames[key]), key);
  }
}

}  // namespace
}  // namespace culprit::tracefile
