// Tests of sysctl names, values and sysctl.d files, and of reading below a root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/text.h"
#include "health/tune/sysctl_files.h"
#include "health/tune/sysctl_text.h"
#include "health/tune/test_tree.h"

namespace culprit::tune {
namespace {

TEST(SysctlText, DotsAndSlashesSwapAfterAFirstDot) {
  EXPECT_EQ(SysctlPath("vm.swappiness"), "vm/swappiness");
  EXPECT_EQ(SysctlPath("vm/swappiness"), "vm/swappiness");
  EXPECT_EQ(SysctlPath("net.ipv4.conf.eth0/100.rp_filter"), "net/ipv4/conf/eth0.100/rp_filter");
  EXPECT_EQ(SysctlPath("net/ipv4/conf/eth0.100/rp_filter"), "net/ipv4/conf/eth0.100/rp_filter");
  EXPECT_EQ(SysctlKey("net/ipv4/conf/eth0.100/rp_filter"), "net.ipv4.conf.eth0/100.rp_filter");
}

TEST(SysctlText, RefusesWhatCouldLeaveProcSys) {
  for (const char* key : {"", ".", "..", "../etc/passwd", "vm/../../etc", "/etc/passwd", "vm//x",
                          "vm.", "a b", "a\nb", "vm.//.x"}) {
    EXPECT_EQ(SysctlPath(key), std::nullopt) << key;
  }
}

TEST(SysctlText, ComparesWordListsAndNumbers) {
  EXPECT_TRUE(SameValue("4096\t131072\t6291456\n", "4096 131072 6291456"));
  EXPECT_FALSE(SameValue("4096 131072", "4096 131072 6291456"));
  EXPECT_FALSE(SameValue("cubic", "bbr"));
  EXPECT_TRUE(SameValue("|/usr/lib/x %P  %u\n", "|/usr/lib/x %P %u"));
  EXPECT_FALSE(SameValue("|/usr/lib/x %u %P", "|/usr/lib/x %P %u"));
  EXPECT_TRUE(Meets("67108864", Relation::kAtLeast, "67108864"));
  EXPECT_FALSE(Meets("212992", Relation::kAtLeast, "67108864"));
  EXPECT_TRUE(Meets("9223372036854775807", Relation::kAtLeast, "1"));
  EXPECT_TRUE(Meets("18446744073709551615", Relation::kAtLeast, "9223372036854775807"));
  EXPECT_TRUE(Meets("-1", Relation::kAtMost, "0"));
  EXPECT_FALSE(Meets("lots", Relation::kAtLeast, "1"));
  EXPECT_FALSE(Meets("", Relation::kAtLeast, "1"));
  EXPECT_FALSE(Meets("1 2", Relation::kAtLeast, "1"));
}

TEST(SysctlText, ChosenWordIsTheOneInBrackets) {
  EXPECT_EQ(ChosenWord("always [madvise] never\n"), "madvise");
  EXPECT_EQ(ChosenWord("performance\n"), "performance");
  EXPECT_EQ(ChosenWord("a ]b[ c\n"), "a ]b[ c");
}

TEST(SysctlFiles, SystemdsOrderOfFilesAndLines) {
  const TestTree tree;
  tree.Put("/usr/lib/sysctl.d/50-a.conf", "vm.swappiness=1\nvm.max_map_count=1\n");
  tree.Put("/etc/sysctl.d/50-a.conf", "vm.swappiness=2\n");  // replaces the file of that name
  tree.Put("/run/sysctl.d/50-a.conf", "vm.swappiness=3\n");
  tree.Put("/usr/lib/sysctl.d/60-b.conf", "vm/swappiness = 4\n");  // a later name wins
  tree.Put("/etc/sysctl.d/10-c.conf", "vm.swappiness=5\nvm.dirty_ratio=7\nvm.dirty_ratio=8\n");
  tree.Put("/etc/sysctl.d/99-no.txt", "vm.swappiness=6\n");  // not *.conf
  const auto config = SysctlConfig::Read(tree.Files());
  ASSERT_NE(config.Deciding("vm.swappiness"), nullptr);
  EXPECT_EQ(config.Deciding("vm.swappiness")->value, "4");
  EXPECT_EQ(config.Deciding("vm.swappiness")->Place(), "/usr/lib/sysctl.d/60-b.conf:1");
  EXPECT_TRUE(config.Deciding("vm.swappiness")->vendor);
  EXPECT_EQ(config.Deciding("vm.swappiness", false)->value, "2");
  EXPECT_EQ(config.Deciding("vm.dirty_ratio")->value, "8");
  EXPECT_EQ(config.Deciding("vm.dirty_ratio")->line, 3U);
  EXPECT_EQ(config.Deciding("vm.max_map_count"), nullptr) << "masked by /etc's file of that name";
}

TEST(SysctlFiles, ALinkToDevNullMasksAFile) {
  const TestTree tree;
  tree.Put("/usr/lib/sysctl.d/50-pid-max.conf", "kernel.pid_max = 4194304\n");
  tree.Link("/dev/null", "/etc/sysctl.d/50-pid-max.conf");
  const auto config = SysctlConfig::Read(tree.Files());
  EXPECT_EQ(config.Deciding("kernel.pid_max"), nullptr);
  EXPECT_THAT(config.problems(), testing::IsEmpty());
}

TEST(SysctlFiles, SysctlConfIsReadByALinkOnly) {
  const TestTree tree;
  tree.Put("/etc/sysctl.conf", "vm.swappiness=9\n");
  {
    const auto config = SysctlConfig::Read(tree.Files());
    EXPECT_EQ(config.Deciding("vm.swappiness"), nullptr);
    ASSERT_NE(config.OnlyInSysctlConf("vm.swappiness"), nullptr);
  }
  tree.Link("../sysctl.conf", "/etc/sysctl.d/99-sysctl.conf");
  const auto config = SysctlConfig::Read(tree.Files());
  ASSERT_NE(config.Deciding("vm.swappiness"), nullptr);
  EXPECT_EQ(config.Deciding("vm.swappiness")->Place(), "/etc/sysctl.d/99-sysctl.conf:1");
  EXPECT_EQ(config.OnlyInSysctlConf("vm.swappiness"), nullptr);
}

TEST(SysctlFiles, PatternsGiveWayToNamedKeys) {
  const TestTree tree;
  tree.Put("/etc/sysctl.d/10.conf",
           "net.ipv4.conf.eth1.rp_filter = 0\n-net.ipv4.conf.eth2.rp_filter\n");
  tree.Put("/etc/sysctl.d/20.conf", "net.ipv4.conf.*.rp_filter = 2\n-vm.nothing = 1\n");
  const auto config = SysctlConfig::Read(tree.Files());
  EXPECT_EQ(config.Deciding("net.ipv4.conf.eth0.rp_filter")->value, "2");
  EXPECT_EQ(config.Deciding("net.ipv4.conf.eth1.rp_filter")->value, "0");
  EXPECT_EQ(config.Deciding("net.ipv4.conf.eth2.rp_filter"), nullptr);
  EXPECT_EQ(config.Deciding("vm.nothing")->value, "1");
  EXPECT_EQ(config.Deciding("net.ipv4.conf.a/b.c.rp_filter"), nullptr) << "* stays in a component";
}

TEST(SysctlFiles, HostileText) {
  std::string text = "# c\n;c\n \t\n=\n= 5\nvm.swappiness\nvm..x = 1\n../../etc/x = 1\n";
  text += std::string("vm.a\0b = 1\n", 11);
  text += "vm.\x1b[31mred = 1\nvm.ok = \x1b]0;title\x07 x\n";
  text += std::string(100'000, 'k') + " = 1\nvm.last=2";
  const auto lines = ParseSysctlConfig(text, "/etc/sysctl.d/x.conf");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].path, "vm/ok");
  EXPECT_EQ(lines[1].path, "vm/last");
  EXPECT_EQ(lines[1].value, "2");
}

TEST(RootFiles, AFifoOrDirectoryInPlaceOfAFileDoesNotHang) {
  const TestTree tree;
  tree.Put("/etc/sysctl.d/a.conf", "vm.swappiness=1\n");
  ASSERT_EQ(mkfifo(tree.At("/etc/sysctl.d/b.conf").c_str(), 0600), 0);
  std::filesystem::create_directories(tree.At("/etc/sysctl.d/c.conf"));
  const auto config = SysctlConfig::Read(tree.Files());
  EXPECT_EQ(config.Deciding("vm.swappiness")->value, "1");
  EXPECT_EQ(config.problems().size(), 2U);
}

TEST(RootFiles, LinksOfATreeStayInTheTree) {
  const TestTree outside;
  outside.Put("/secret", "outside\n");
  const TestTree tree;
  tree.Link(outside.At("/secret"), "/etc/sysctl.d/a.conf");
  tree.Link("../../../../../../../../" + outside.At("/secret"), "/etc/sysctl.d/b.conf");
  EXPECT_TRUE(tree.Files().Read("/etc/sysctl.d/a.conf").absent());
  EXPECT_TRUE(tree.Files().Read("/etc/sysctl.d/b.conf").absent());
  EXPECT_EQ(tree.Files().WriteValue("/etc/sysctl.d/a.conf", "x"), ENOENT);
  EXPECT_EQ(outside.Get("/secret"), "outside\n");
}

TEST(RootFiles, ReplacesAFileInOneStep) {
  const TestTree tree;
  const auto files = tree.Files();
  ASSERT_TRUE(files.ReplaceFile("/var/lib/culprit/x.json", "one", 0600).ok());
  ASSERT_TRUE(files.ReplaceFile("/var/lib/culprit/x.json", "two", 0644).ok());
  EXPECT_EQ(tree.Get("/var/lib/culprit/x.json"), "two");
  EXPECT_THAT(files.List("/var/lib/culprit"), testing::ElementsAre("x.json"));
  ASSERT_TRUE(files.RemoveFile("/var/lib/culprit/x.json").ok());
  EXPECT_FALSE(files.Exists("/var/lib/culprit/x.json"));
}

TEST(RootFiles, MatchSortsNumbers) {
  const TestTree tree;
  for (const char* name : {"policy0", "policy10", "policy2", "other"}) {
    tree.Put("/sys/devices/system/cpu/cpufreq/" + std::string(name) + "/scaling_governor", "x\n");
  }
  EXPECT_THAT(tree.Files().Match("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"),
              testing::ElementsAre("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                                   "/sys/devices/system/cpu/cpufreq/policy2/scaling_governor",
                                   "/sys/devices/system/cpu/cpufreq/policy10/scaling_governor"));
}

}  // namespace
}  // namespace culprit::tune
