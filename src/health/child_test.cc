#include "health/child.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "health/tasks.h"

namespace culprit::health {
namespace {

std::size_t OpenDescriptors() { return ListFolder("/proc/self/fd").size(); }

TEST(ChildProbe, HandsOverWhatItFound) {
  auto probe = ChildProbe::Start("test", [](ProbeOutput& output) {
    output.Put("a", "text");
    output.Put("b", "", EACCES);
  });
  ASSERT_TRUE(probe.ok());
  EXPECT_TRUE(probe->Wait(NowBoottime() + Seconds(30)));
  Texts texts;
  probe->Collect(texts);
  EXPECT_EQ(texts.Get("a"), "text");
  EXPECT_TRUE(texts.Denied("b"));
}

TEST(ChildProbe, OneThatHangsKeepsWhatItHadAndSaysWhere) {
  auto probe = ChildProbe::Start("test", [](ProbeOutput& output) {
    output.Put("first", "1");
    output.Begin("/mnt/dead");
    for (;;) pause();
  });
  ASSERT_TRUE(probe.ok());
  EXPECT_FALSE(probe->Wait(NowBoottime() + Milliseconds(200)));
  EXPECT_EQ(probe->stuck_at(), "/mnt/dead");
  Texts texts;
  probe->Collect(texts);
  EXPECT_EQ(texts.Get("first"), "1");
  EXPECT_TRUE(probe->Kill());
}

TEST(ChildProbe, OneThatDiesIsNoOneThatFinished) {
  auto probe = ChildProbe::Start("test", [](ProbeOutput& output) {
    output.Begin("the bad call");
    raise(SIGKILL);
  });
  ASSERT_TRUE(probe.ok());
  EXPECT_FALSE(probe->Wait(NowBoottime() + Seconds(30)));
  EXPECT_TRUE(probe->died());
  EXPECT_EQ(probe->stuck_at(), "the bad call");
}

TEST(ChildProbe, LeavesNoChildAndNoDescriptor) {
  const std::size_t before = OpenDescriptors();
  for (int i = 0; i < 20; ++i) {
    auto probe = ChildProbe::Start("test", [i](ProbeOutput&) {
      if (i % 2 == 0) pause();
    });
    ASSERT_TRUE(probe.ok());
    probe->Wait(NowBoottime() + Milliseconds(i % 2 == 0 ? 5 : 5000));
  }
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(ChildProbe, HoldsNoDescriptorOfItsParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto probe = ChildProbe::Start("test", [](ProbeOutput&) {
    for (;;) pause();
  });
  ASSERT_TRUE(probe.ok());
  close(ends[1]);
  // With the child holding the other end this read would wait for the child.
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(Texts, PatternsAndErrors) {
  Texts texts;
  texts.Put("/a", {"1", 0});
  texts.Put("/b", {"", EACCES});
  EXPECT_TRUE(texts.Has("/a"));
  EXPECT_FALSE(texts.Has("/b"));
  EXPECT_TRUE(texts.Denied("/b"));
  EXPECT_NE(texts.Reason("/c"), "");
  EXPECT_EQ(texts.Reason("/a"), "");
  EXPECT_EQ(ReadText("", "/proc/self/no-such-file").error_number, ENOENT);
  const auto paths = ExpandPattern("", "/proc/self/task/*/stat");
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(paths[0], "/proc/self/task/" + std::to_string(getpid()) + "/stat");
}

TEST(Tasks, SeeThemselvesAndAVforkParent) {
  const TaskScan scan = ScanTasks("");
  ASSERT_TRUE(scan.whole);
  EXPECT_TRUE(scan.names.contains(getpid()));
  // The reader is in R while it reads, and is no load of the node.
  std::array<char, 16> name{};
  prctl(PR_GET_NAME, name.data());
  prctl(PR_SET_NAME, "only-the-reader");
  const TaskScan again = ScanTasks("");
  prctl(PR_SET_NAME, name.data());
  EXPECT_EQ(again.names.at(getpid()), "only-the-reader");
  EXPECT_FALSE(again.running.contains("only-the-reader"));
  EXPECT_GE(scan.threads, scan.processes - scan.zombies.size());
}

}  // namespace
}  // namespace culprit::health
