#include "lab/cgroup.h"

#include <gtest/gtest.h>

namespace culprit::lab {
namespace {

TEST(FindHierarchy, PrefersTheV1MountThatHasTheController) {
  constexpr std::string_view kHybrid =
      "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
      "cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0\n"
      "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
      "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n";
  const auto cpu = FindHierarchy(kHybrid, "cpu");
  ASSERT_TRUE(cpu.has_value());
  EXPECT_EQ(cpu->mount, "/sys/fs/cgroup/cpu");
  EXPECT_FALSE(cpu->v2);
  const auto memory = FindHierarchy(kHybrid, "memory");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->mount, "/sys/fs/cgroup/unified");
  EXPECT_TRUE(memory->v2);
}

TEST(FindHierarchy, TakesV2WhereItIsAlone) {
  const auto found = FindHierarchy("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", "cpu");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->mount, "/sys/fs/cgroup");
  EXPECT_TRUE(found->v2);
  EXPECT_FALSE(FindHierarchy("proc /proc proc rw 0 0\n", "cpu").has_value());
}

}  // namespace
}  // namespace culprit::lab
