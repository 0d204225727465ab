#include "kernel/tracefs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernel/process_identity.h"

namespace culprit::kernel {
namespace {

// A folder of files that stands for a machine.
class FakeMachine {
 public:
  FakeMachine() {
    std::string path = testing::TempDir() + "/tracefs-XXXXXX";
    root_ = mkdtemp(path.data());
  }
  ~FakeMachine() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  void Put(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = JoinPath(root_, name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string Get(const std::string& name) const { return ReadFile(JoinPath(root_, name)).value(); }

 private:
  std::string root_;
};

TEST(Tracefs, IsFoundWhereKernelsMountIt) {
  const FakeMachine machine;
  const auto none = Tracefs::Find(machine.root());
  ASSERT_FALSE(none.ok());
  if (geteuid() == 0) {
    EXPECT_NE(none.error().remedy.find("mount -t tracefs"), std::string::npos);
  }

  machine.Put("sys/kernel/debug/tracing/trace_clock", "[local] global boot");
  const auto old_place = Tracefs::Find(machine.root());
  ASSERT_TRUE(old_place.ok());
  EXPECT_TRUE(old_place->top().path().ends_with("/sys/kernel/debug/tracing"));

  machine.Put("sys/kernel/tracing/trace_clock", "local [boot]");
  const auto new_place = Tracefs::Find(machine.root());
  ASSERT_TRUE(new_place.ok());
  EXPECT_TRUE(new_place->top().path().ends_with("/sys/kernel/tracing"));
  EXPECT_EQ(new_place->Clocks().value(), (std::vector<std::string>{"local", "boot"}));
}

TEST(Tracefs, ListsEventsInstancesAndCpus) {
  const FakeMachine machine;
  machine.Put("sys/kernel/tracing/trace_clock", "[boot]");
  machine.Put("sys/kernel/tracing/available_events", "sched:sched_switch\nblock:block_rq_issue\n");
  machine.Put("sys/kernel/tracing/instances/a/per_cpu/cpu10/stats", "");
  machine.Put("sys/kernel/tracing/instances/a/per_cpu/cpu2/stats", "");
  const auto tracefs = Tracefs::Find(machine.root());
  ASSERT_TRUE(tracefs.ok());
  EXPECT_EQ(tracefs->AvailableEvents().value(),
            (std::vector<std::string>{"block/block_rq_issue", "sched/sched_switch"}));
  EXPECT_EQ(tracefs->Instances().value(), std::vector<std::string>{"a"});
  EXPECT_EQ(tracefs->Instance("a").Cpus().value(), (std::vector<int>{2, 10}));
}

TEST(Tracefs, ControlsAreWrittenAsTheKernelReadsThem) {
  const FakeMachine machine;
  for (const char* name : {"trace_clock", "tracing_on", "buffer_size_kb", "options/overwrite",
                           "events/sched/sched_switch/enable"}) {
    machine.Put(std::string("sys/kernel/tracing/") + name, "");
  }
  const auto tracefs = Tracefs::Find(machine.root());
  ASSERT_TRUE(tracefs.ok());
  const TraceDirectory& top = tracefs->top();
  EXPECT_TRUE(top.SetTracingOn(true).ok());
  EXPECT_TRUE(top.SetBufferBytesPerCpu((2U << 20) + 1).ok());
  EXPECT_TRUE(top.SetOption("overwrite", false).ok());
  EXPECT_TRUE(top.EnableEvent("sched/sched_switch", true).ok());
  EXPECT_EQ(machine.Get("sys/kernel/tracing/tracing_on"), "1");
  EXPECT_EQ(machine.Get("sys/kernel/tracing/buffer_size_kb"), "2049");  // rounded up
  EXPECT_EQ(machine.Get("sys/kernel/tracing/options/overwrite"), "0");
  EXPECT_EQ(machine.Get("sys/kernel/tracing/events/sched/sched_switch/enable"), "1");
  EXPECT_FALSE(top.SetOption("copy_trace_marker", true).ok());
  EXPECT_EQ(top.SubBufferBytes(), static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)));
  machine.Put("sys/kernel/tracing/buffer_subbuf_size_kb", "16\n");
  EXPECT_EQ(top.SubBufferBytes(), 16384U);
}

TEST(ProcessIdentity, TellsAProcessFromItsSuccessor) {
  const auto self = OwnIdentity();
  ASSERT_TRUE(self.ok());
  EXPECT_EQ(self->pid, getpid());
  EXPECT_TRUE(IsAlive(*self));
  EXPECT_FALSE(IsAlive({self->pid, self->start_ticks + 1}));

  const FakeMachine machine;
  const std::string rest =
      " 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 "
      "0 0 0 0 0 0 0";
  machine.Put("proc/7/stat", "7 (a) b) S" + rest);
  machine.Put("proc/8/stat", "8 (z) Z" + rest);
  EXPECT_EQ(FindProcess(7, machine.root()), (ProcessIdentity{7, 4242}));
  EXPECT_FALSE(FindProcess(8, machine.root()).has_value()) << "a zombie holds nothing open";
  EXPECT_FALSE(FindProcess(9, machine.root()).has_value());
}

}  // namespace
}  // namespace culprit::kernel
