#include "health/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "health/cpu_time.h"
#include "health/load.h"
#include "health/report.h"
#include "health/stack_class.h"
#include "health/test_tree.h"

namespace culprit::health {
namespace {

using testing::HasSubstr;

TEST(Rules, AreWholeAndUnique) {
  std::set<std::string_view> ids;
  std::set<int> rows;
  const auto resources = Resources();
  for (const Rule& rule : Rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_TRUE(rows.insert(rule.number).second) << rule.id;
    EXPECT_NE(std::ranges::find(resources, rule.resource), resources.end()) << rule.id;
    EXPECT_TRUE(rule.use == 'U' || rule.use == 'S' || rule.use == 'E') << rule.id;
    EXPECT_FALSE(rule.advice.empty()) << rule.id;
    EXPECT_FALSE(rule.reads.empty()) << rule.id;
    EXPECT_NE(rule.measure, nullptr) << rule.id;
  }
}

// small/37-cpu-counter-regress: cpu0 10 % user, 83 % idle; cpu1 was reset and counts for nothing.
TEST(CpuTime, CountersThatFallAreNoIdleCpu) {
  kernel::MachineStat before, after;
  const auto first = ReadText(SharedCase("small/37-cpu-counter-regress/t0"), "/stat");
  const auto second = ReadText(SharedCase("small/37-cpu-counter-regress/t1"), "/stat");
  ASSERT_TRUE(kernel::ParseMachineStat(first.text, before));
  ASSERT_TRUE(kernel::ParseMachineStat(second.text, after));
  const auto cpus = SharesOfCpus(before, after);
  ASSERT_EQ(cpus.size(), 1U);
  EXPECT_EQ(cpus[0].first, 0U);
  EXPECT_DOUBLE_EQ(cpus[0].second.user_pct, 10);
  EXPECT_DOUBLE_EQ(cpus[0].second.system_pct, 5);
  EXPECT_DOUBLE_EQ(cpus[0].second.idle_pct, 83);
  EXPECT_DOUBLE_EQ(cpus[0].second.iowait_pct, 0) << "iowait fell by one: corrected by the kernel";
  EXPECT_DOUBLE_EQ(cpus[0].second.softirq_pct, 2);
  const auto node = SharesOfNode(before, after);
  ASSERT_TRUE(node.has_value());
  EXPECT_DOUBLE_EQ(node->user_pct, 10);
  EXPECT_DOUBLE_EQ(node->idle_pct, 83);
  EXPECT_EQ(node->invalid_cpus, 1U);
}

// The kernel's own arithmetic (calc_load in kernel/sched/loadavg.c), step by step in fixed point.
double KernelLoadAfter(double load, unsigned long active, unsigned long factor, int updates) {
  auto fixed = static_cast<unsigned long>(load * 2048);
  for (int i = 0; i < updates; ++i) {
    const unsigned long sum = fixed * factor + active * 2048 * (2048 - factor);
    fixed = active * 2048 >= fixed ? (sum + 2047) / 2048 : sum / 2048;
  }
  return static_cast<double>(fixed) / 2048;
}

TEST(Load, DecaysAsTheKernelDoes) {
  EXPECT_NEAR(LoadAfter(0, 10, 1, 61), KernelLoadAfter(0, 10, 1884, 12), 0.02);
  EXPECT_NEAR(LoadAfter(20, 2, 5, 301), KernelLoadAfter(20, 2, 2014, 60), 0.05);
  EXPECT_NEAR(LoadAfter(8, 0, 15, 901), KernelLoadAfter(8, 0, 2037, 180), 0.1);
  EXPECT_DOUBLE_EQ(LoadAfter(3, 3, 1, 600), 3);
}

TEST(Load, WithoutTheNumberOfCpusIsUnknown) {
  const TestTree tree;
  tree.Both("proc/loadavg", "12.50 12.40 12.30 1/78 910\n");
  const Finding finding = FindingOf(tree.Check("cpu.load"), "cpu.load");
  EXPECT_EQ(finding.status, FindingStatus::kUnknown);
  ASSERT_FALSE(finding.evidence.empty());
  EXPECT_NE(finding.evidence.front().find("12.50 12.40 12.30"), std::string::npos);
}

TEST(Load, OfTasksInDIsNotCpuDemand) {
  TestTree tree;
  tree.Both("proc/stat", "cpu  1 0 0 100\ncpu0 1 0 0 100\n");
  tree.Both("proc/loadavg", "12.49 12.35 12.29 1/78 2452\n");
  for (int pid = 901; pid < 910; ++pid) {
    tree.Both("proc/" + std::to_string(pid) + "/stat",
              std::to_string(pid) + " (dd) D 2 9 2 0 -1 0 0 0 0 0 5 0 0 0 20 0 1 0 5 0 0\n");
  }
  const Finding finding = FindingOf(tree.Check("cpu.load"), "cpu.load");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 12.29);
  EXPECT_THAT(finding.summary, HasSubstr("mostly tasks in D (9 of 9)"));
}

// small/45-dstate-snapshot: of four tasks only 901 made no progress in 20 s.
TEST(DState, OnlyTheTaskThatMadeNoProgress) {
  const auto report =
      CheckRoots(SharedCase("small/45-dstate-snapshot/t0"),
                 SharedCase("small/45-dstate-snapshot/t2"), "tasks.dstate", Seconds(20));
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_EQ(finding.subject, "nfsd-client (tid 901)");
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 20);
}

TEST(StackClass, DeepestMatchWins) {
  const auto classify = [](std::vector<std::string> stack, std::string wchan = "") {
    TaskRow row;
    row.stack = std::move(stack);
    row.wchan = std::move(wchan);
    return std::string(ClassifyStack(row).name);
  };
  EXPECT_EQ(classify({"rpc_wait_bit_killable", "__wait_on_bit", "nfs_file_read"}), "NFS");
  EXPECT_EQ(classify({"request_wait_answer", "fuse_simple_request", "fuse_lookup"}), "FUSE");
  EXPECT_EQ(classify({"rwsem_down_read_slowpath", "down_read", "nvidia_ioctl"}), "lock");
  EXPECT_EQ(classify({"os_acquire_rwlock_read", "_nv0001"}), "GPU driver");
  EXPECT_EQ(classify({"schedule_timeout", "shrink_node", "try_to_free_pages"}), "memory reclaim");
  EXPECT_EQ(classify({"folio_wait_bit_common", "ext4_read"}), "page cache");
  EXPECT_EQ(classify({"folio_wait_bit_common", "filemap_fault", "ext4_read"}),
            "page fault from file");
  EXPECT_EQ(classify({"jbd2_log_wait_commit"}), "journal");
  EXPECT_EQ(classify({"kernel_clone", "__do_sys_vfork"}), "vfork parent");
  EXPECT_EQ(classify({"do_something_else"}), "unknown");
  EXPECT_EQ(classify({}, "kernel_clone"), "vfork parent");
  EXPECT_EQ(classify({}), "unknown");
}

// As a 6.18 kernel showed it: the mapping of a file on FUSE that is unmapped, who waits for the
// lock meanwhile, and a cat of that process' cmdline.
TEST(StackClass, AWritebackForAFileSystemAndTheMmapLock) {
  TaskRow row;
  row.stack = {"folio_wait_bit",  "folio_wait_writeback", "writeback_single_inode",
               "write_inode_now", "fuse_vma_close",       "remove_vma",
               "__vm_munmap"};
  EXPECT_EQ(ClassifyStack(row).name, "writeback");
  ASSERT_NE(OnBehalfOf(row), nullptr);
  EXPECT_EQ(OnBehalfOf(row)->name, "FUSE");
  const std::vector<TaskRow> rows = {row};
  const auto groups = GroupByStack(rows);
  EXPECT_THAT(groups[0].Describe(), HasSubstr("(writeback for FUSE)"));
  row.stack = {"vm_mmap_pgoff", "do_syscall_64"};
  EXPECT_EQ(ClassifyStack(row).name, "mmap lock");
  EXPECT_EQ(OnBehalfOf(row), nullptr);
  row.stack = {"__access_remote_vm", "proc_pid_cmdline_read", "vfs_read"};
  EXPECT_EQ(ClassifyStack(row).name, "mmap lock");
  row.stack = {"some_driver_mmap", "vm_mmap_pgoff", "do_syscall_64"};
  EXPECT_EQ(ClassifyStack(row).name, "unknown") << "it waits for something deeper";
  row.stack = {"folio_wait_bit", "ext4_read"};
  EXPECT_EQ(OnBehalfOf(row), nullptr);
}

TEST(StackClass, FiveHundredTasksWithOneStackAreOneGroup) {
  std::vector<TaskRow> rows(500);
  for (TaskRow& row : rows) row.stack = {"rpc_wait_bit_killable"}, row.comm = "python";
  rows.emplace_back().stack = {"fuse_lookup"};
  const auto groups = GroupByStack(rows);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].rows.size(), 500U);
  EXPECT_EQ(groups[0].Describe(), "python x 500 in rpc_wait_bit_killable (NFS)");
}

// small/43-psi-unavailable: cpu is there without "full"; memory reads empty (PSI off); io is
// absent.
TEST(Psi, OffIsUnknownAndNeitherOkNorAFault) {
  TestTree tree;
  for (const std::string name : {"cpu", "memory"}) {
    const auto text = ReadText(SharedCase("small/43-psi-unavailable"), "/proc/pressure/" + name);
    tree.Both("proc/pressure/" + name, text.text);
  }
  tree.Write("0/proc/uptime", "100.0 1\n");
  tree.Write("1/proc/uptime", "101.0 1\n");
  const Report report = tree.Check("cpu.psi,memory.psi");
  EXPECT_EQ(FindingOf(report, "cpu.psi").status, FindingStatus::kOk);
  const Finding memory = FindingOf(report, "memory.psi");
  EXPECT_EQ(memory.status, FindingStatus::kUnknown);
  EXPECT_THAT(memory.skipped_reason, HasSubstr("off"));
  EXPECT_EQ(report.verdict, FindingStatus::kUnknown);
  EXPECT_EQ(ExitStatus(report.verdict, false), 3);
  EXPECT_EQ(ExitStatus(report.verdict, true), 2);
}

TEST(Psi, HighNowAndForAWhile) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100.0 1\n");
  tree.Write("1/proc/uptime", "102.0 1\n");
  tree.Write("0/proc/pressure/cpu", "some avg10=60.00 avg60=55.00 avg300=1.00 total=1000000\n");
  tree.Write("1/proc/pressure/cpu", "some avg10=60.00 avg60=55.00 avg300=1.00 total=2400000\n");
  Finding finding = FindingOf(tree.Check("cpu.psi"), "cpu.psi");
  EXPECT_EQ(finding.status, FindingStatus::kCritical);
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 60) << "70 % now, 60 % on average";
  tree.Write("1/proc/pressure/cpu", "some avg10=60.00 avg60=55.00 avg300=1.00 total=1000000\n");
  finding = FindingOf(tree.Check("cpu.psi"), "cpu.psi");
  EXPECT_EQ(finding.status, FindingStatus::kOk) << "over: nothing waits now";
}

TEST(Zombies, NameTheParent) {
  TestTree tree;
  tree.Both("proc/50/stat", "50 (a bad) init) S 1 50 50 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0\n");
  tree.Both("proc/51/stat", "51 (sh) Z 50 50 50 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 6 0 0\n");
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "500 1\n");
  const Finding finding = FindingOf(tree.Check("tasks.zombies"), "tasks.zombies");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_EQ(finding.subject, "parent a bad) init (pid 50)");
  EXPECT_THAT(finding.advice, HasSubstr("pid 50"));
}

TEST(Orphans, RanksOfADeadLauncher) {
  TestTree tree;
  for (int pid = 70; pid < 74; ++pid) {
    tree.Both("proc/" + std::to_string(pid) + "/stat",
              std::to_string(pid) + " (python3) S 1 60 60 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 6 0 0\n");
  }
  const Finding finding = FindingOf(tree.Check("tasks.orphans", false), "tasks.orphans");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_EQ(finding.subject, "session 60");
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 4);
}

TEST(Orphans, RanksWithSessionsOfTheirOwnHaveACgroupInCommon) {
  TestTree tree;
  const auto add = [&](int pid, const std::string& comm, int start_ticks,
                       const std::string& cgroup) {
    const std::string number = std::to_string(pid), folder = "proc/" + number + "/";
    tree.Both(folder + "stat", number + " (" + comm + ") S 1 " + number + " " + number +
                                   " 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 " +
                                   std::to_string(start_ticks) + " 0 0\n");
    tree.Both(folder + "cgroup", "0::" + cgroup + "\n");
  };
  add(70, "python3", 5000, "/system.slice/slurmstepd.scope/job_7");
  add(71, "python3", 5010, "/system.slice/slurmstepd.scope/job_7");
  add(80, "sshd", 100, "/system.slice/ssh.service");
  add(81, "sshd", 110, "/system.slice/ssh.service");
  add(90, "containerd-shim", 100, "/x");
  add(91, "containerd-shim", 100, "/x");
  add(92, "job", 100, "/");
  add(93, "job", 100, "/");
  add(94, "tool", 100, "/user.slice/session-3.scope");
  add(95, "tool", 900'000, "/user.slice/session-3.scope");
  const Report report = tree.Check("tasks.orphans", false);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].subject, "cgroup /system.slice/slurmstepd.scope/job_7");
  EXPECT_THAT(report.findings[0].advice, HasSubstr("kill 70 71"));
}

TEST(Ecc, NamesTheDimm) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "102 1\n");
  const std::string mc = "sys/devices/system/edac/mc/mc0/";
  tree.Write("0/" + mc + "ce_count", "3\n");
  tree.Write("1/" + mc + "ce_count", "8\n");
  tree.Both(mc + "ue_count", "0\n");
  tree.Both(mc + "dimm2/dimm_label", "CPU_SrcID#0_DIMM#2\n");
  tree.Write("0/" + mc + "dimm2/dimm_ce_count", "3\n");
  tree.Write("1/" + mc + "dimm2/dimm_ce_count", "8\n");
  tree.Both(mc + "dimm2/dimm_ue_count", "0\n");
  const Finding finding = FindingOf(tree.Check("memory.ecc"), "memory.ecc");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_EQ(finding.subject, "mc0");
  EXPECT_THAT(finding.evidence, testing::Contains("dimm2 CPU_SrcID#0_DIMM#2: 5 corrected in the "
                                                  "sample, 8 since boot"));
}

TEST(Frequency, OnlyBusyCpusAreTooSlow) {
  TestTree tree;
  tree.Write("0/proc/stat", "cpu 0 0 0 0\ncpu0 0 0 0 0 0\ncpu1 0 0 0 0 0\n");
  tree.Write("1/proc/stat", "cpu 0 0 0 0\ncpu0 100 0 0 0 0\ncpu1 0 0 0 100 0\n");
  for (const std::string cpu : {"0", "1"}) {
    const std::string folder = "sys/devices/system/cpu/cpu" + cpu + "/cpufreq/";
    tree.Both(folder + "scaling_governor", "performance\n");
    tree.Both(folder + "scaling_cur_freq", cpu == "0" ? "3100000\n" : "800000\n");
  }
  EXPECT_EQ(FindingOf(tree.Check("cpu.frequency"), "cpu.frequency").status, FindingStatus::kOk);
  tree.Both("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "900000\n");
  const Finding finding = FindingOf(tree.Check("cpu.frequency"), "cpu.frequency");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_THAT(finding.summary, HasSubstr("CPU 0 at 900 MHz"));
}

TEST(Scale, AThousandAndTwentyFourCpus) {
  TestTree tree;
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "101 1\n");
  for (const int sample : {0, 1}) {
    std::string stat = "cpu 0 0 0 0\n";
    for (int cpu = 0; cpu < 1024; ++cpu)
      stat += "cpu" + std::to_string(cpu) + " " + std::to_string(sample * (cpu < 256 ? 100 : 0)) +
              " 0 0 " + std::to_string(sample * (cpu < 256 ? 0 : 100)) + " 0 0 0 0\n";
    tree.Write(std::to_string(sample) + "/proc/stat", stat);
  }
  const Report report = tree.Check("cpu.busy,cpu.hot");
  EXPECT_EQ(report.cpus, 1024U);
  EXPECT_NEAR(FindingOf(report, "cpu.busy").value.value_or(0), 25, 1e-9);
}

TEST(Judge, ThresholdsCapsAndPersistence) {
  const Rule* rule = FindRule("cpu.steal");
  ASSERT_NE(rule, nullptr);
  const Thresholds limits{5, 10, "nd"};
  Reading reading;
  reading.value = 4.9;
  EXPECT_EQ(JudgeReading(*rule, limits, reading, 0).status, FindingStatus::kOk);
  reading.value = 5;
  EXPECT_EQ(JudgeReading(*rule, limits, reading, 0).status, FindingStatus::kWarning);
  reading.value = 50;
  EXPECT_EQ(JudgeReading(*rule, limits, reading, 1).status, FindingStatus::kWarning)
      << "not yet for 20 min";
  EXPECT_EQ(JudgeReading(*rule, limits, reading, 1200).status, FindingStatus::kCritical);
  reading.worst = FindingStatus::kOk;
  EXPECT_EQ(JudgeReading(*rule, limits, reading, 1200).status, FindingStatus::kOk);
  reading.value = std::nan("");
  reading.worst = FindingStatus::kCritical;
  EXPECT_EQ(JudgeReading(*rule, limits, reading, 1200).status, FindingStatus::kOk);
  const Rule* floor = FindRule("memory.available");
  reading.value = 2;
  EXPECT_EQ(JudgeReading(*floor, {10, 3, ""}, reading, 0).status, FindingStatus::kCritical);
}

TEST(Config, ChangesThresholdsAndTurnsChecksOff) {
  auto config =
      CheckConfig::Parse("# site\ncpu.steal warning=1 critical=none\ncpu.psi off\n", "site.conf");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->IsOff(*FindRule("cpu.psi")));
  EXPECT_FALSE(config->IsOff(*FindRule("cpu.steal")));
  EXPECT_EQ(config->Of(*FindRule("cpu.steal")).warning_at, 1);
  EXPECT_FALSE(config->Of(*FindRule("cpu.steal")).critical_at.has_value());
  EXPECT_EQ(config->Of(*FindRule("cpu.steal")).source, "site.conf");
  const auto wrong = CheckConfig::Parse("\ncpu.pzi off\n", "site.conf");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().what, HasSubstr("site.conf:2"));
  EXPECT_THAT(wrong.error().remedy, HasSubstr("cpu.psi"));
  for (const char* bad : {"cpu.psi", "cpu.psi warning", "cpu.psi warning=x", "cpu.psi loud"}) {
    EXPECT_FALSE(CheckConfig::Parse(bad, "f").ok()) << bad;
  }
  EXPECT_FALSE(SelectRules("cpu,dizk").ok());
  const auto group = SelectRules("tasks");
  ASSERT_TRUE(group.ok());
  EXPECT_GE(group.value().size(), 5U);
  for (const Rule* rule : group.value()) EXPECT_TRUE(rule->id.starts_with("tasks.")) << rule->id;
  EXPECT_FALSE(SelectRules("").value().empty());
  EXPECT_FALSE(SelectRules(",").ok());
  EXPECT_EQ(NearRules("mem.oom"), "did you mean memory.oom?");
  EXPECT_EQ(SelectRules("cpu.psi,cpu.psi").value().size(), 1U);
}

TEST(Hostile, AbsurdFilesGiveNoFindingAndNoCrash) {
  TestTree tree;
  for (const char* sample : {"0/", "1/"}) {
    const std::string at = sample;
    tree.Write(at + "proc/stat", "cpu\ncpu0 99999999999999999999 1 2 3\nintr\n\0\xff\n");
    tree.Write(at + "proc/meminfo", "MemTotal: 0 kB\nMemAvailable: 18446744073709551615 kB\n");
    tree.Write(at + "proc/vmstat",
               "pswpout -5\nnr_dirty 1\nnr_writeback 1\nnr_dirty_threshold 0\n");
    tree.Write(at + "proc/loadavg", "nan nan nan 1/1 1\n");
    tree.Write(at + "proc/7/stat",
               "7 (\x1b[2J\n<b>) D 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 6 0 0\n");
    tree.Write(at + "proc/8/stat", "");
    tree.Write(at + "proc/sys/kernel/pid_max", "0\n");
    tree.Write(at + "proc/sys/fs/file-nr", "1 2 0\n");
    tree.Write(at + "proc/pressure/cpu", std::string(100000, 'x'));
  }
  tree.Write("0/proc/uptime", "200 1\n");
  tree.Write("1/proc/uptime", "100 1\n");
  const Report report = tree.Check("");
  for (const Finding& finding : report.findings) {
    if (finding.id == "tasks.dstate") continue;
    EXPECT_TRUE(finding.status == FindingStatus::kOk || finding.status == FindingStatus::kUnknown ||
                finding.status == FindingStatus::kNotApplicable)
        << finding.id << ": " << finding.summary;
  }
  const std::string text = ReportText(report, {.all = true});
  EXPECT_EQ(text.find('\x1b'), text.npos) << "a comm must not reach the terminal as it is";
}

TEST(Cgroups, ThrottledAndFullOnes) {
  TestTree tree;
  const std::string base = "sys/fs/cgroup/";
  tree.Both(base + "cgroup.controllers", "cpu memory pids\n");
  tree.Both(base + "cpu.stat", "usage_usec 100\n");
  tree.Both(base + "train/cpu.max", "50000 100000\n");
  tree.Write("0/" + base + "train/cpu.stat",
             "usage_usec 1000000\nnr_periods 100\nnr_throttled 10\nthrottled_usec 5\n");
  tree.Write("1/" + base + "train/cpu.stat",
             "usage_usec 2000000\nnr_periods 120\nnr_throttled 20\nthrottled_usec 400005\n");
  tree.Both(base + "train/pids.current", "99\n");
  tree.Both(base + "train/pids.max", "100\n");
  tree.Write("0/" + base + "train/memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n");
  tree.Write("1/" + base + "train/memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\n");
  tree.Both(base + "idle/cpu.stat",
            "usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  tree.Both(base + "idle/pids.max", "max\n");
  tree.Both("proc/1/stat", "1 (init) S 0 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 6 0 0\n");
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "102 1\n");
  tree.Both("proc/vmstat", "oom_kill 4\n");
  const Report report = tree.Check("cgroup.throttle,tasks.pids,memory.oom");
  const Finding throttle = FindingOf(report, "cgroup.throttle");
  EXPECT_EQ(throttle.status, FindingStatus::kCritical);
  EXPECT_EQ(throttle.subject, "cgroup /train");
  EXPECT_DOUBLE_EQ(throttle.value.value_or(0), 50);
  EXPECT_THAT(throttle.evidence, testing::Contains(HasSubstr("limit 0.50 CPUs")));
  const Finding pids = FindingOf(report, "tasks.pids");
  EXPECT_EQ(pids.status, FindingStatus::kCritical);
  EXPECT_EQ(pids.subject, "cgroup /train");
  const Finding oom = FindingOf(report, "memory.oom");
  EXPECT_EQ(oom.subject, "cgroup /train");
  EXPECT_DOUBLE_EQ(oom.value.value_or(0), 2);
}

TEST(Cgroups, PressureNamesTheDeepestThatExplainsIt) {
  TestTree tree;
  const auto psi = [](const char* avg10) {
    return std::string("some avg10=") + avg10 +
           " avg60=30.00 avg300=9.00 total=100000\nfull avg10=" + avg10 +
           " avg60=30.00 avg300=9.00 total=90000\n";
  };
  const std::string base = "sys/fs/cgroup/";
  tree.Both(base + "cgroup.controllers", "memory\n");
  tree.Both(base + "kubepods/memory.pressure", psi("41.00"));
  tree.Both(base + "kubepods/pod1/memory.pressure", psi("40.00"));
  tree.Both(base + "kubepods/pod1/memory.max", "33554432\n");
  tree.Write("0/" + base + "kubepods/pod1/memory.events", "high 0\nmax 10\noom 0\noom_kill 0\n");
  tree.Write("1/" + base + "kubepods/pod1/memory.events", "high 0\nmax 50\noom 0\noom_kill 0\n");
  tree.Both(base + "kubepods/pod2/memory.pressure", psi("3.00"));
  tree.Write("0/proc/uptime", "100 1\n");
  tree.Write("1/proc/uptime", "102 1\n");
  tree.Write("0/proc/pressure/memory", psi("40.00"));
  tree.Write("1/proc/pressure/memory",
             "some avg10=40.00 avg60=30.00 avg300=9.00 total=1100000\n"
             "full avg10=40.00 avg60=30.00 avg300=9.00 total=1090000\n");
  const Finding finding = FindingOf(tree.Check("memory.psi"), "memory.psi");
  EXPECT_EQ(finding.status, FindingStatus::kCritical);
  EXPECT_THAT(finding.evidence, testing::Contains("of cgroup /kubepods/pod1: some 40.0 % of the "
                                                  "last 10 s"));
  EXPECT_THAT(finding.evidence, testing::Not(testing::Contains(HasSubstr("pod2"))));
  EXPECT_THAT(
      finding.evidence,
      testing::Contains(HasSubstr("/kubepods/pod1 met its memory limit of 32.0 MiB 20 times/s")));
  EXPECT_THAT(finding.advice, HasSubstr("/kubepods/pod1"));
}

}  // namespace
}  // namespace culprit::health
