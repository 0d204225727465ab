// Tests of apply and rollback on made-up trees: exact restoration, foreign changes, journals of
// runs that were killed, drop-ins that others edited. The live kernel's part is
// tests/tune_live_test.
#include "health/tune/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "base/text.h"
#include "health/tune/drop_in.h"
#include "health/tune/fake_node.h"

namespace culprit::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Every regular file of a tree with its text.
std::map<std::string, std::string> Snapshot(const TestTree& tree) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tree.root())) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string().substr(tree.root().size());
    files[path] = tree.Get(path);
  }
  return files;
}

Audit AuditOf(const RootFiles& files) {
  return AuditBaseline(files, ReadNodeFacts(files), Profile::kTraining);
}

// Applies the keys of the baseline, or all that is advised.
Result<ChangeReport> ApplyKeys(const TestTree& tree, const std::vector<std::string>& keys = {},
                               bool dry_run = false) {
  const RootFiles files = tree.Files();
  const Audit audit = AuditOf(files);
  std::vector<const AuditItem*> items;
  for (const AuditItem& item : audit.items) {
    const bool meant = keys.empty() || std::ranges::find(keys, item.key) != keys.end();
    if (meant && item.status == ItemStatus::kChange && item.place != Place::kLimit) {
      items.push_back(&item);
    }
  }
  return Apply(files, items, {.dry_run = dry_run});
}

Result<ChangeReport> ApplyPolicy(const TestTree& tree, const std::string& text) {
  const RootFiles files = tree.Files();
  const auto policy = ParsePolicy(text, "policy");
  EXPECT_TRUE(policy.ok());
  const Audit audit = AuditPolicy(files, ReadNodeFacts(files), *policy);
  std::vector<const AuditItem*> items;
  for (const AuditItem& item : audit.items) {
    if (item.status == ItemStatus::kChange) items.push_back(&item);
  }
  return Apply(files, items, {});
}

StepOutcome OutcomeOf(const Result<ChangeReport>& report, std::string_view key) {
  CULPRIT_CHECK(report.ok());
  const auto step = std::ranges::find(report->steps, key, &Step::key);
  CULPRIT_CHECK(step != report->steps.end());
  return step->outcome;
}

TEST(DropIn, EditsItsOwnLinesOnly) {
  DropIn drop_in(Place::kSysctl,
                 "# mine\nvm.swappiness = 5\nvm/max_map_count=1\nvm.swappiness=6\n");
  EXPECT_EQ(drop_in.Get("vm/swappiness"), "6");
  drop_in.Set("vm/swappiness", "10");
  drop_in.Set("net/ipv4/conf/eth0.100/rp_filter", "2");
  drop_in.Set("vm/max_map_count", std::nullopt);
  EXPECT_THAT(drop_in.Text(), testing::EndsWith("# mine\nvm.swappiness = 10\n"
                                                "net.ipv4.conf.eth0/100.rp_filter = 2\n"));
  // Reading what was written gives the same.
  EXPECT_EQ(DropIn(Place::kSysctl, drop_in.Text()).Text(), drop_in.Text());
  EXPECT_FALSE(drop_in.empty());
  EXPECT_TRUE(DropIn(Place::kSysctl, DropIn(Place::kSysctl, "").Text()).empty());
}

TEST(Apply, WritesValuesDropInsAndJournalAndTakesAllBack) {
  const TestTree tree;
  PutFakeNode(tree);
  const auto before = Snapshot(tree);
  const auto applied = ApplyKeys(tree);
  ASSERT_TRUE(applied.ok());
  EXPECT_TRUE(applied->ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "10\n");
  EXPECT_EQ(tree.Get("/sys/devices/system/cpu/cpufreq/policy10/scaling_governor"), "performance\n");
  EXPECT_THAT(tree.Get(kSysctlDropIn), HasSubstr("vm.swappiness = 10\n"));
  EXPECT_THAT(tree.Get(kTmpfilesDropIn),
              HasSubstr("w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n"));
  EXPECT_THAT(tree.Get(kJournalPath), HasSubstr("\"old\": \"60\""));
  // Nothing is advised any more but what tune does not write.
  const RootFiles files = tree.Files();
  for (const AuditItem& item : AuditOf(files).items) {
    EXPECT_TRUE(item.status != ItemStatus::kChange || item.place == Place::kLimit) << item.key;
  }
  EXPECT_EQ(AuditOf(files).Find("vm.swappiness")->origin.set_by.kind, OriginKind::kSysctlFile);

  const auto back = Rollback(files, {});
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->ok());
  auto after = Snapshot(tree);
  // A choice in brackets is written as its word; the kernel shows it in brackets again.
  EXPECT_EQ(after["/sys/kernel/mm/transparent_hugepage/enabled"], "always\n");
  after["/sys/kernel/mm/transparent_hugepage/enabled"] =
      before.at("/sys/kernel/mm/transparent_hugepage/enabled");
  after["/proc/sys/net/ipv4/tcp_rmem"] = before.at("/proc/sys/net/ipv4/tcp_rmem");  // blanks, tabs
  EXPECT_EQ(after, before);
}

TEST(Apply, OneKeyOwnsOneKey) {
  const TestTree tree;
  PutFakeNode(tree);
  ASSERT_TRUE(ApplyKeys(tree, {"vm.max_map_count"}).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "60\n");
  EXPECT_THAT(tree.Get(kSysctlDropIn), testing::EndsWith("\nvm.max_map_count = 1048576\n"));
  EXPECT_FALSE(tree.Has(kTmpfilesDropIn));
  // A second one joins it; rolling one back leaves the other.
  ASSERT_TRUE(ApplyKeys(tree, {"vm.swappiness"}).ok());
  ASSERT_TRUE(Rollback(tree.Files(), {.keys = {"vm.max_map_count"}}).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/max_map_count"), "65530\n");
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "10\n");
  EXPECT_THAT(tree.Get(kSysctlDropIn), testing::EndsWith("\nvm.swappiness = 10\n"));
  EXPECT_FALSE(Rollback(tree.Files(), {.keys = {"vm.max_map_count"}}).ok()) << "not in the journal";
}

TEST(Apply, ADryRunWritesNothing) {
  const TestTree tree;
  PutFakeNode(tree);
  const auto before = Snapshot(tree);
  const auto plan = ApplyKeys(tree, {}, true);
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->steps.size(), 5U);
  EXPECT_EQ(Snapshot(tree), before);
  EXPECT_FALSE(tree.Has(kStateDirectory));
  ASSERT_TRUE(ApplyKeys(tree).ok());
  const auto applied = Snapshot(tree);
  ASSERT_TRUE(Rollback(tree.Files(), {.dry_run = true}).ok());
  EXPECT_EQ(Snapshot(tree), applied);
}

TEST(Apply, KeepsABetterValueAndOnlyMakesItLast) {
  const TestTree tree;
  PutFakeNode(tree);
  PutSysctl(tree, "vm/max_map_count", "2000000");  // by hand; more than advised
  ASSERT_TRUE(ApplyKeys(tree, {"vm.max_map_count"}).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/max_map_count"), "2000000\n");
  EXPECT_THAT(tree.Get(kSysctlDropIn), HasSubstr("vm.max_map_count = 2000000\n"));
  ASSERT_TRUE(Rollback(tree.Files(), {}).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/max_map_count"), "2000000\n");
  EXPECT_FALSE(tree.Has(kSysctlDropIn));
}

TEST(Apply, SkipsAKeyThatTheKernelLacks) {
  const TestTree tree;
  PutFakeNode(tree);
  std::filesystem::remove(tree.At("/proc/sys/vm/max_map_count"));
  const auto report = ApplyPolicy(tree, "vm.max_map_count = 3\nvm.zone_reclaim_mode = 7\n");
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->steps.size(), 1U);
  EXPECT_EQ(tree.Get("/proc/sys/vm/zone_reclaim_mode"), "7\n");
  EXPECT_FALSE(tree.Has("/proc/sys/vm/max_map_count"));
}

TEST(Apply, ADirectoryInPlaceOfTheDropInIsAnErrorBeforeAnyWrite) {
  const TestTree tree;
  PutFakeNode(tree);
  std::filesystem::create_directories(tree.At(kSysctlDropIn));
  EXPECT_FALSE(ApplyKeys(tree).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "60\n");
}

TEST(Apply, WarnsOfAFileThatDecidesAtBootAllTheSame) {
  const TestTree tree;
  PutFakeNode(tree);
  tree.Put("/etc/sysctl.d/zz-local.conf", "vm.swappiness = 60\n");
  tree.Put("/etc/sysctl.d/zzz.conf", "vm.dirty_ratio = 15\n");
  const auto report = ApplyKeys(tree, {"vm.swappiness", "vm.dirty_bytes"});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->steps.size(), 2U);
  EXPECT_THAT(report->steps[0].reason, HasSubstr("/etc/sysctl.d/zz-local.conf:1"));
  EXPECT_THAT(report->steps[1].reason, HasSubstr("sets vm.dirty_ratio"));
}

TEST(Apply, OneAtATime) {
  const TestTree tree;
  PutFakeNode(tree);
  const auto lock = LockState(tree.Files());
  ASSERT_TRUE(lock.ok());
  const auto report = ApplyKeys(tree);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().what, HasSubstr("another culprit tune"));
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "60\n");
}

TEST(Rollback, RefusesWhatSomebodyChangedSince) {
  const TestTree tree;
  PutFakeNode(tree);
  ASSERT_TRUE(ApplyKeys(tree, {"vm.swappiness", "vm.max_map_count"}).ok());
  PutSysctl(tree, "vm/swappiness", "1");
  const auto report = Rollback(tree.Files(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->ok());
  EXPECT_EQ(OutcomeOf(report, "vm.swappiness"), StepOutcome::kRefused);
  EXPECT_EQ(OutcomeOf(report, "vm.max_map_count"), StepOutcome::kDone);
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "1\n");
  EXPECT_EQ(tree.Get("/proc/sys/vm/max_map_count"), "65530\n");
  // Its line and its old value stay, for --force.
  EXPECT_THAT(tree.Get(kSysctlDropIn), HasSubstr("vm.swappiness = 10\n"));
  const auto forced = Rollback(tree.Files(), {.force = true});
  ASSERT_TRUE(forced.ok());
  EXPECT_TRUE(forced->ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "60\n");
  EXPECT_FALSE(tree.Has(kSysctlDropIn));
  EXPECT_FALSE(tree.Has(kJournalPath));
}

TEST(Rollback, RefusesALineThatSomebodyChangedSinceAndKeepsForeignLines) {
  const TestTree tree;
  PutFakeNode(tree);
  ASSERT_TRUE(ApplyKeys(tree, {"vm.swappiness", "vm.max_map_count"}).ok());
  tree.Put(kSysctlDropIn, "# site\nvm.swappiness = 3\nvm.max_map_count = 1048576\nvm.extra = 1\n");
  const auto report = Rollback(tree.Files(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(OutcomeOf(report, "vm.swappiness"), StepOutcome::kRefused);
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "10\n");
  EXPECT_THAT(tree.Get(kSysctlDropIn),
              testing::EndsWith("# site\nvm.swappiness = 3\nvm.extra = 1\n"));
}

TEST(Rollback, GoesBackToTheFirstValueAfterTwoApplies) {
  const TestTree tree;
  PutFakeNode(tree);
  ASSERT_TRUE(ApplyPolicy(tree, "vm.swappiness = 20\n").ok());
  ASSERT_TRUE(ApplyPolicy(tree, "vm.swappiness = 5\n").ok());
  ASSERT_TRUE(Rollback(tree.Files(), {}).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "60\n");
  // But to somebody's own value when they set one in between.
  ASSERT_TRUE(ApplyPolicy(tree, "vm.swappiness = 20\n").ok());
  PutSysctl(tree, "vm/swappiness", "33");
  ASSERT_TRUE(ApplyPolicy(tree, "vm.swappiness = 5\n").ok());
  ASSERT_TRUE(Rollback(tree.Files(), {}).ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "33\n");
}

TEST(Rollback, AfterARebootThatForgotAValue) {
  const TestTree tree;
  PutFakeNode(tree);
  ASSERT_TRUE(ApplyKeys(tree, {"thp.enabled", "cpu.governor"}).ok());
  tree.Put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  std::filesystem::remove_all(tree.At("/sys/devices/system/cpu/cpufreq"));  // another kernel
  const auto report = Rollback(tree.Files(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(tree.Get("/sys/kernel/mm/transparent_hugepage/enabled"), "[always] madvise never\n");
  EXPECT_FALSE(tree.Has(kTmpfilesDropIn));
  EXPECT_FALSE(tree.Has(kJournalPath));
}

TEST(Rollback, TheDirtyPairInATree) {
  const TestTree tree;
  PutFakeNode(tree);
  ASSERT_TRUE(ApplyKeys(tree, {"vm.dirty_bytes", "vm.dirty_background_bytes"}).ok());
  PutSysctl(tree, "vm/dirty_ratio", "0");  // as the kernel does
  PutSysctl(tree, "vm/dirty_background_ratio", "0");
  const auto report = Rollback(tree.Files(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(tree.Get("/proc/sys/vm/dirty_ratio"), "20\n");
  EXPECT_EQ(tree.Get("/proc/sys/vm/dirty_bytes"), "0\n");
  EXPECT_EQ(tree.Get("/proc/sys/vm/dirty_background_ratio"), "10\n");
}

TEST(Rollback, NothingToRollBack) {
  const TestTree tree;
  PutFakeNode(tree);
  const auto report = Rollback(tree.Files(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok());
  EXPECT_TRUE(report->steps.empty());
  EXPECT_FALSE(tree.Has(kStateDirectory));
}

TEST(Journal, ADamagedOrHostileJournalWritesNothing) {
  const TestTree tree;
  PutFakeNode(tree);
  const auto entry = [](const std::string& path) {
    return R"({"format":1,"entries":[{"key":"k","place":"sysctl","path":")" + path +
           R"(","old":"1","wrote":"60","wrote_before":[]}]})";
  };
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[]"), std::string("{\"format\":2}"),
        std::string(R"({"format":1,"entries":{}})"),
        std::string(R"({"format":1,"entries":[{"key":5}]})"), entry("/etc/passwd"),
        entry("/proc/sys/../../etc/passwd"), entry("/proc/sys/vm/../../../etc/x"),
        std::string(1000, '[')}) {
    tree.Put(kJournalPath, text);
    const auto report = Rollback(tree.Files(), {.force = true});
    ASSERT_FALSE(report.ok()) << text;
    EXPECT_THAT(report.error().what, HasSubstr("journal")) << text;
    EXPECT_FALSE(ApplyKeys(tree).ok());
    EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "60\n");
  }
  tree.Put(kJournalPath, entry("/proc/sys/vm/swappiness"));
  EXPECT_TRUE(Rollback(tree.Files(), {}).ok()) << "the same entry with a sane path is believed";
  EXPECT_EQ(tree.Get("/proc/sys/vm/swappiness"), "1\n");
}

// Runs `work` in a child and kills it with SIGKILL when it enters its n-th system call from there
// on. True when it was killed, false when it had ended before; nothing where ptrace is not allowed.
template <class Work>
std::optional<bool> KilledAtSyscall(int n, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(99);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return std::nullopt;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
  for (int stops = 0;;) {
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return std::nullopt;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return false;
    if (++stops < 2 * n) continue;  // a stop at the entry and one at the end of each call
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return true;
  }
}

TEST(Journal, KilledAnywhereARollbackRestoresEverything) {
  const TestTree tree;
  PutFakeNode(tree);
  std::string policy;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "x/key" + std::to_string(i);
    PutSysctl(tree, name, std::to_string(i));
    policy += name + " = " + std::to_string(i + 1000) + "\n";
  }
  const auto before = Snapshot(tree);
  const auto apply = [&] { static_cast<void>(ApplyPolicy(tree, policy)); };
  const auto roll_back = [&] { static_cast<void>(Rollback(tree.Files(), {})); };
  int with_values_but_no_drop_in = 0;
  bool killed = true;
  for (int n = 1; killed; n += 14) {
    const auto result = KilledAtSyscall(n, apply);
    if (!result)
      GTEST_SKIP() << "ptrace is not allowed here: runs cannot be killed at a chosen call";
    killed = *result;
    const bool wrote = tree.Get("/proc/sys/x/key0") == "1000\n";
    if (wrote && !tree.Has(kSysctlDropIn)) ++with_values_but_no_drop_in;
    // An apply over a half-done one keeps the first old values; a rollback can be killed, too.
    if (n % 2 == 0) static_cast<void>(KilledAtSyscall(n / 2, apply));
    static_cast<void>(KilledAtSyscall(n % 150, roll_back));
    const auto report = Rollback(tree.Files(), {});
    ASSERT_TRUE(report.ok()) << report.error().ToString();
    ASSERT_TRUE(report->ok()) << "killed at call " << n;
    auto after = Snapshot(tree);
    // The beginning of a file that was never whole; the next writing of that file takes it over.
    std::erase_if(after, [](const auto& file) { return file.first.ends_with(".culprit-new"); });
    ASSERT_EQ(after, before) << "killed at call " << n;
  }
  EXPECT_GT(with_values_but_no_drop_in, 0) << "no run was stopped in the middle of its writes";
}

}  // namespace
}  // namespace culprit::tune
