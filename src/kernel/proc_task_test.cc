#include "kernel/proc_task.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace culprit::kernel {
namespace {

// What small/36-proc-pid-stat-comm/expected.txt says.
TEST(ProcTask, CommsThatLookLikeFields) {
  struct Row {
    int tid;
    const char* comm;
    char state;
    int parent;
    unsigned user, system;
  };
  const Row rows[] = {{1467, "(sd-pam)", 'S', 1465, 1, 2},
                      {25097, "sle ep", 'R', 6632, 11, 12},
                      {83875, "sleep (2) .sh", 'D', 75750, 21, 22},
                      {7014, ":-) 1 2 3 4 5 6", 'Z', 5963, 31, 32},
                      {7015, "a\nb) S 1", 'S', 5963, 41, 42}};
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  for (const Row& row : rows) {
    const auto text = ReadFile(std::string(source == nullptr ? "." : source) +
                               "/../shared/cases/small/36-proc-pid-stat-comm/proc/" +
                               std::to_string(row.tid) + "/stat");
    ASSERT_TRUE(text.ok());
    const auto stat = ParseTaskStat(*text);
    ASSERT_TRUE(stat.has_value()) << row.tid;
    EXPECT_EQ(stat->tid, row.tid);
    EXPECT_EQ(stat->comm, row.comm);
    EXPECT_EQ(stat->state, row.state);
    EXPECT_EQ(stat->parent_pid, row.parent);
    EXPECT_EQ(stat->user_ticks, row.user);
    EXPECT_EQ(stat->system_ticks, row.system);
    EXPECT_EQ(stat->start_ticks, 18366278U);
    EXPECT_EQ(stat->cpu, 6U);
    EXPECT_EQ(stat->blkio_ticks, 3U);
  }
}

TEST(ProcTask, ReadsItself) {
  const auto text = ReadFile("/proc/self/stat");
  ASSERT_TRUE(text.ok());
  const auto stat = ParseTaskStat(*text);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->tid, getpid());
  EXPECT_EQ(stat->parent_pid, getppid());
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->threads, 1U);
  TaskStatus status;
  const auto status_text = ReadFile("/proc/self/status");
  ASSERT_TRUE(status_text.ok());
  ASSERT_TRUE(ParseTaskStatus(*status_text, status));
  EXPECT_EQ(status.pid, getpid());
  EXPECT_EQ(status.uid, geteuid());
  EXPECT_GT(status.rss_bytes.value_or(0), 0U);
  EXPECT_EQ(status.name, stat->comm);
}

TEST(ProcTask, TornStatsAreRefused) {
  for (const char* bad : {"", "1", "1 (a", "1 a) S 1", "x (a) S 1 1 1 1 1 1 1 1 1 1 1 1", "1 (a) S",
                          "1 (a) SS 1 2 3", "1 )a( S 1", "1 (a) S 1 2 3 4 5 6 7 8"}) {
    EXPECT_FALSE(ParseTaskStat(bad).has_value()) << bad;
  }
}

TEST(ProcTask, StatusOfAContainerAndOfAKernelThread) {
  TaskStatus status;
  ASSERT_TRUE(
      ParseTaskStatus("Name:\ta\\nb\nTgid:\t12\nPid:\t13\nPPid:\t2\nUid:\t5\t6\t7\t8\n"
                      "NSpid:\t13\t4\nVmRSS:\t  20 kB\nThreads:\t3\nCapEff:\tff\n"
                      "Cpus_allowed_list:\t0-3,7\nvoluntary_ctxt_switches:\t9\n",
                      status));
  EXPECT_EQ(status.name, "a\\nb");
  EXPECT_EQ(status.uid, 6U);
  EXPECT_EQ(status.namespace_tids, (std::vector<std::int32_t>{13, 4}));
  EXPECT_EQ(status.rss_bytes, 20480U);
  EXPECT_EQ(status.effective_capabilities, 255U);
  EXPECT_EQ(status.allowed_cpus, "0-3,7");
  EXPECT_FALSE(status.swap_bytes.has_value());
  EXPECT_FALSE(ParseTaskStatus("", status));
  EXPECT_TRUE(status.namespace_tids.empty());
}

TEST(ProcTask, CgroupsOfBothVersions) {
  std::vector<CgroupLine> lines;
  ASSERT_TRUE(
      ParseTaskCgroups("4:memory:/a:b\n1:cpu,cpuacct:/\n0::/user.slice\nx:y:z\n5\n", lines));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].path, "/a:b");
  EXPECT_EQ(lines[1].controllers, "cpu,cpuacct");
  EXPECT_EQ(lines[2].hierarchy, 0U);
  EXPECT_EQ(lines[2].controllers, "");
}

TEST(ProcTask, StacksKeepTheFunctionsAlone) {
  std::vector<std::string_view> functions;
  ParseTaskStack(
      "[<0>] rpc_wait_bit_killable+0x1d/0x90 [sunrpc]\n[<0>] nfs_wait+0x1/0x2 [nfs]\n"
      "[<ffffffff81>] do_syscall_64+0x5/0x6\n[<0>] 0xffffffffffffffff\nnoise\n",
      functions);
  EXPECT_EQ(functions,
            (std::vector<std::string_view>{"rpc_wait_bit_killable", "nfs_wait", "do_syscall_64"}));
}

TEST(ProcTask, SchedStat) {
  const auto stat = ParseTaskSchedStat("100 200 3\n");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->wait_ns, 200U);
  EXPECT_FALSE(ParseTaskSchedStat("100 200\n").has_value());
}

}  // namespace
}  // namespace culprit::kernel
