// Instances and guardians on the real kernel: root and tracefs, skipped aloud elsewhere.
#include "capture/instance.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "capture/guardian.h"

namespace culprit::capture {
namespace {

TEST(InstanceName, RoundTripsAndRefusesForeignNames) {
  const kernel::ProcessIdentity recorder{123, 456};
  EXPECT_EQ(InstanceName(recorder), "culprit-123-456");
  EXPECT_EQ(ParseInstanceName("culprit-123-456"), recorder);
  for (const char* name : {"perf", "culprit-", "culprit-1", "culprit-1-2-3", "culprit-x-1",
                           "culprit--1-2", "culprit-0-1", "culprit-test-r"}) {
    EXPECT_FALSE(ParseInstanceName(name).has_value()) << name;
  }
}

class OnKernel : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    auto found = kernel::Tracefs::FindOrMount();
    if (!found) GTEST_SKIP() << "needs tracefs: " << found.error().ToString();
    tracefs_.emplace(std::move(found).value());
  }

  // Waits for up to ten seconds: a limit against hanging, not a measure.
  static bool Eventually(const std::function<bool()>& is_so) {
    for (int i = 0; i < 500; ++i) {
      if (is_so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  // A recorder in a process of its own, which enables an event and waits to be killed.
  struct Recorder {
    pid_t pid = 0;
    pid_t guardian = 0;
    std::string instance;
  };
  Recorder StartRecorder() const {
    int report[2];
    EXPECT_EQ(pipe2(report, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      auto instance = Instance::Create(*tracefs_);
      if (!instance) _exit(1);
      auto guardian = Guardian::Start(instance->directory());
      if (!guardian) _exit(1);
      if (!instance->directory().EnableEvent("sched/sched_process_exit", true)) _exit(1);
      if (!instance->directory().SetTracingOn(true)) _exit(1);
      const pid_t guard = guardian->pid();
      if (write(report[1], &guard, sizeof(guard)) != sizeof(guard)) _exit(1);
      for (;;) pause();
    }
    close(report[1]);
    Recorder recorder{pid, 0, ""};
    EXPECT_EQ(read(report[0], &recorder.guardian, sizeof(pid_t)), ssize_t{sizeof(pid_t)});
    close(report[0]);
    const auto identity = kernel::FindProcess(pid);
    EXPECT_TRUE(identity.has_value());
    if (identity) recorder.instance = InstanceName(*identity);
    return recorder;
  }
  static void Kill(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  bool Exists(const std::string& name) const { return PathExists(tracefs_->Instance(name).path()); }

  std::optional<kernel::Tracefs> tracefs_;
};

TEST_F(OnKernel, InstanceIsRemovedWithItsOwner) {
  std::string name;
  {
    auto instance = Instance::Create(*tracefs_);
    ASSERT_TRUE(instance.ok()) << instance.error().ToString();
    name = instance->name();
    EXPECT_TRUE(Exists(name));
    EXPECT_EQ(instance->directory().Read("tracing_on").value(), "0\n");
    const Instance moved = std::move(instance).value();
    EXPECT_TRUE(Exists(name));
    const auto dead = DeadInstances(*tracefs_);
    ASSERT_TRUE(dead.ok());
    EXPECT_EQ(std::count(dead->begin(), dead->end(), name), 0) << "a living recorder's instance";
  }
  EXPECT_FALSE(Exists(name));
}

TEST_F(OnKernel, GuardianRemovesTheInstanceOfAKilledRecorder) {
  const Recorder recorder = StartRecorder();
  ASSERT_TRUE(Exists(recorder.instance));
  Kill(recorder.pid);
  EXPECT_TRUE(Eventually([&] { return !Exists(recorder.instance); }));
}

TEST_F(OnKernel, GuardianIgnoresSignalsThatTheTerminalSends) {
  const Recorder recorder = StartRecorder();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) kill(recorder.guardian, signal);
  Kill(recorder.pid);
  EXPECT_TRUE(Eventually([&] { return !Exists(recorder.instance); }));
}

TEST_F(OnKernel, NextStartRemovesWhatBothLeftBehind) {
  const Recorder recorder = StartRecorder();
  kill(recorder.guardian, SIGKILL);
  Kill(recorder.pid);
  ASSERT_TRUE(Exists(recorder.instance));
  // The kernel itself has stopped the tracing, since free_buffer was closed.
  const kernel::TraceDirectory left = tracefs_->Instance(recorder.instance);
  EXPECT_TRUE(Eventually([&] {
    const auto on = left.Read("tracing_on");
    return on.ok() && *on == "0\n";
  }));
  const auto removed = RemoveDeadInstances(*tracefs_);
  ASSERT_TRUE(removed.ok()) << removed.error().ToString();
  EXPECT_FALSE(Exists(recorder.instance));
}

TEST_F(OnKernel, DeathOfTheGuardianIsSeenAndMadeGood) {
  auto instance = Instance::Create(*tracefs_);
  ASSERT_TRUE(instance.ok());
  auto guardian = Guardian::Start(instance->directory());
  ASSERT_TRUE(guardian.ok());
  kill(guardian->pid(), SIGKILL);
  char byte;
  EXPECT_EQ(read(guardian->death_fd(), &byte, 1), 0) << "end of file";
  const pid_t first = guardian->pid();
  auto next = Guardian::Start(instance->directory());
  ASSERT_TRUE(next.ok());
  *guardian = std::move(next).value();
  EXPECT_NE(guardian->pid(), first);
  EXPECT_TRUE(instance->Remove().ok());
}

}  // namespace
}  // namespace culprit::capture
