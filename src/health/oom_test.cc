// OOM kills: lines of every kernel's log, and whose kill it is told to be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "health/oom_log.h"
#include "health/test_tree.h"

namespace culprit::health {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string Record(double time_s, std::string_view message) {
  return "3,1," + std::to_string(static_cast<long long>(time_s * 1e6)) + ",-;" +
         std::string(message) + "\n";
}

std::vector<OomKill> Kills(const std::string& log) { return FindOomKills(ParseKmsg(log)); }

TEST(OomLog, LinesOfKernelsOldAndNew) {
  // 6.18, as this kernel writes them.
  auto kills =
      Kills(Record(10,
                   "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
                   "oom_memcg=/pod,task_memcg=/pod/a,b,task=python3,pid=18028,uid=0") +
            Record(10,
                   "Memory cgroup out of memory: Killed process 18028 (python3) total-vm:221372kB, "
                   "anon-rss:39552kB, file-rss:6572kB, shmem-rss:0kB, UID:0 pgtables:140kB "
                   "oom_score_adj:0"));
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_TRUE(kills[0].in_cgroup);
  EXPECT_EQ(kills[0].cgroup, "/pod");
  EXPECT_EQ(kills[0].comm, "python3");
  // 4.14: two lines a kill, the second says nothing of the cgroup.
  kills = Kills(
      Record(5, "Memory cgroup out of memory: Kill process 30 (a) score 5 or sacrifice child") +
      Record(5, "Killed process 30 (a) total-vm:9kB, anon-rss:8kB, file-rss:0kB"));
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_TRUE(kills[0].in_cgroup);
  EXPECT_EQ(kills[0].cgroup, "");
  // 5.1: with the uid between.
  kills = Kills(Record(5, "Killed process 31 (b), UID 1000, total-vm:9kB"));
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_EQ(kills[0].comm, "b");
  EXPECT_FALSE(kills[0].in_cgroup);
}

TEST(OomLog, HostileCommsAndTornLines) {
  const auto kills =
      Kills(Record(5, "Out of memory: Killed process 7 (a) total-vm: (b) total-vm:1kB"));
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_EQ(kills[0].comm, "a) total-vm: (b");
  for (const char* line :
       {"Out of memory: Killed process", "Out of memory: Killed process x (a) total-vm:1kB",
        "Out of memory: Killed process 7", "Out of memory: Killed process 7 (a",
        "oom-kill:constraint=", "somebody wrote: Killed process 7 (a) total-vm:1kB",
        "Killed process -7 (a) total-vm:1kB"})
    EXPECT_TRUE(Kills(Record(5, line)).empty()) << line;
  // The constraint of another victim is not this one's.
  EXPECT_FALSE(Kills(Record(5,
                            "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/x,task_memcg=/"
                            "x,task=a,pid=6,uid=0") +
                     Record(5, "Out of memory: Killed process 7 (a) total-vm:1kB"))[0]
                   .in_cgroup);
}

struct OomTree {
  TestTree tree;
  OomTree() {
    tree.Write("0/proc/uptime", "5000.00 1\n");
    tree.Write("1/proc/uptime", "5002.00 1\n");
    tree.Write("0/proc/vmstat", "oom_kill 4\n");
    tree.Write("1/proc/vmstat", "oom_kill 4\n");
  }
};

TEST(Oom, AWindowOfHalfAnHour) {
  OomTree oom;
  oom.tree.Both("dev/kmsg", Record(3100, "Out of memory: Killed process 7 (old) total-vm:1kB"));
  Finding finding = FindingOf(oom.tree.Check("memory.oom"), "memory.oom");
  EXPECT_EQ(finding.status, FindingStatus::kOk);
  EXPECT_THAT(finding.summary, HasSubstr("4 since boot"));
  oom.tree.Both("dev/kmsg", Record(3300, "Out of memory: Killed process 7 (new) total-vm:1kB"));
  finding = FindingOf(oom.tree.Check("memory.oom"), "memory.oom");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_EQ(finding.subject, "node");
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("killed new (pid 7) 1702 s ago")));
}

TEST(Oom, OneKillIsToldOnceWhoeverSawIt) {
  OomTree oom;
  const std::string base = "sys/fs/cgroup/";
  oom.tree.Both(base + "cgroup.controllers", "memory\n");
  // memory.events of the pod counts its child's kill too.
  for (const char* group : {"pod/", "pod/a/"}) {
    oom.tree.Write("0/" + base + group + "memory.events", "oom 0\noom_kill 1\n");
    oom.tree.Write("1/" + base + group + "memory.events", "oom 1\noom_kill 2\n");
    oom.tree.Both(base + group + "memory.max", "33554432\n");
  }
  oom.tree.Write("1/proc/vmstat", "oom_kill 5\n");
  Report report = oom.tree.Check("memory.oom");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].subject, "cgroup /pod/a");
  EXPECT_DOUBLE_EQ(report.findings[0].value.value_or(0), 1);
  EXPECT_THAT(report.findings[0].evidence, Contains(HasSubstr("memory limit 32.0 MiB")));
  // With the log: the limit that was hit is the pod's.
  oom.tree.Both("dev/kmsg",
                Record(5001,
                       "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/pod,task_memcg=/pod/a,"
                       "task=x,pid=9,uid=0") +
                    Record(5001, "Memory cgroup out of memory: Killed process 9 (x) total-vm:1kB"));
  report = oom.tree.Check("memory.oom");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].subject, "cgroup /pod");
  EXPECT_DOUBLE_EQ(report.findings[0].value.value_or(0), 1);
  EXPECT_THAT(report.findings[0].summary, HasSubstr("no fault of the node"));
}

TEST(Oom, WithoutTheLogTheNodesCounterIsEnough) {
  OomTree oom;
  oom.tree.Write("1/proc/vmstat", "oom_kill 6\n");
  const Finding finding = FindingOf(oom.tree.Check("memory.oom"), "memory.oom");
  EXPECT_EQ(finding.subject, "node");
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 2);
}

}  // namespace
}  // namespace culprit::health
