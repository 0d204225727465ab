#include "capture/preflight.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "capture/test_folder.h"

namespace culprit::capture {
namespace {

// A machine on which everything is as it should be.
void PutGoodMachine(const TestFolder& machine) {
  machine.Put("proc/self/status",
              "Name:\tculprit\nTgid:\t9\nPid:\t9\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n");
  machine.Put("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
  machine.Put("proc/1/cgroup", "0::/init.scope\n");
  machine.Put("sys/kernel/tracing/trace_clock", "local [boot]\n");
  machine.Put("sys/kernel/tracing/available_events", "sched:sched_switch\n");
  machine.Put("sys/kernel/tracing/trace_options", "overwrite\nnocopy_trace_marker\n");
  machine.Put("sys/kernel/tracing/current_tracer", "nop\n");
  machine.Put("sys/kernel/tracing/set_event", "");
  std::filesystem::create_directories(machine.PathOf("sys/kernel/tracing/instances"));
  machine.Put("proc/sys/kernel/kptr_restrict", "1\n");
  machine.Put("proc/kallsyms", "ffffffff81000000 T _stext\nffffffff81000040 T start\n");
  machine.Put("proc/sys/kernel/perf_event_paranoid", "2\n");
  machine.Put("sys/bus/event_source/devices/cpu/type", "4\n");
  machine.Put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  machine.Put("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n");
}

class PreflightTest : public testing::Test {
 protected:
  PreflightTest() { PutGoodMachine(machine_); }

  // The worst finding of a check.
  PreflightFinding Worst(const std::string& check) {
    PreflightOptions options;
    options.root = machine_.path();
    options.directory = machine_.path();
    options.disk_bytes = disk_bytes_;
    PreflightFinding worst;
    for (const PreflightFinding& finding : Preflight(options)) {
      if (finding.check != check) continue;
      found_ = true;
      if (finding.readiness >= worst.readiness) worst = finding;
    }
    EXPECT_TRUE(found_) << check;
    return worst;
  }

  TestFolder machine_;
  std::uint64_t disk_bytes_ = 1;
  bool found_ = false;
};

TEST_F(PreflightTest, GoodMachineIsReady) {
  PreflightOptions options;
  options.root = machine_.path();
  options.directory = machine_.path();
  options.disk_bytes = 1;
  for (const PreflightFinding& finding : Preflight(options)) {
    EXPECT_EQ(finding.readiness, Readiness::kReady) << finding.check << ": " << finding.what;
    EXPECT_EQ(finding.remedy, "") << finding.check;
  }
}

// One fault each: the file that is different, and what it costs.
struct Fault {
  const char* file;
  const char* text;
  const char* check;
  Readiness expected;
  const char* remedy;  // part of it
};
constexpr Fault kFaults[] = {
    {"proc/self/status",
     "Tgid:\t9\nPid:\t9\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n", "privileges",
     Readiness::kMissing, "root"},
    {"proc/self/status", "Tgid:\t9\nPid:\t9\nUid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n",
     "privileges", Readiness::kMissing, "SYS_ADMIN"},
    {"sys/kernel/security/lockdown", "none integrity [confidentiality]\n", "lockdown",
     Readiness::kMissing, "lockdown"},
    {"sys/kernel/tracing/trace_clock", "[local] global\n", "tracefs", Readiness::kLess,
     "primary_trace_clock"},
    {"sys/kernel/tracing/trace_options", "overwrite\n", "markers", Readiness::kLess, "kernel"},
    {"sys/kernel/tracing/current_tracer", "function\n", "other tracers", Readiness::kLess, "cost"},
    {"sys/kernel/tracing/set_event", "sched:sched_switch\n", "other tracers", Readiness::kLess,
     "cost"},
    {"sys/kernel/tracing/instances/perf/trace", "", "other tracers", Readiness::kLess, "cost"},
    {"sys/kernel/tracing/instances/culprit-1-2/trace", "", "other tracers", Readiness::kLess,
     "--cleanup"},
    {"proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T start\n", "kernel symbols",
     Readiness::kLess, "kptr_restrict"},
    {"proc/sys/kernel/perf_event_paranoid", "4\n", "perf events", Readiness::kLess,
     "perf_event_paranoid=2"},
    {"proc/pressure/cpu", "", "pressure", Readiness::kLess, "psi=1"},
    {"proc/meminfo", "MemAvailable: 1000 kB\n", "memory", Readiness::kMissing, "--buffer"},
};

TEST_F(PreflightTest, EachFaultIsNamedWithItsRemedy) {
  for (const Fault& fault : kFaults) {
    PutGoodMachine(machine_);
    std::filesystem::remove_all(machine_.PathOf("sys/kernel/tracing/instances"));
    std::filesystem::create_directories(machine_.PathOf("sys/kernel/tracing/instances"));
    machine_.Put(fault.file, fault.text);
    const PreflightFinding worst = Worst(fault.check);
    EXPECT_EQ(worst.readiness, fault.expected) << fault.file << ": " << worst.what;
    EXPECT_NE(worst.remedy.find(fault.remedy), std::string::npos) << worst.remedy;
  }
}

TEST_F(PreflightTest, MissingTracefsPmuAndRoom) {
  std::filesystem::remove_all(machine_.PathOf("sys/kernel/tracing"));
  std::filesystem::remove_all(machine_.PathOf("sys/bus"));
  disk_bytes_ = ~std::uint64_t{0};
  EXPECT_EQ(Worst("tracefs").readiness, Readiness::kMissing);
  EXPECT_EQ(Worst("hardware counters").readiness, Readiness::kLess);
  EXPECT_EQ(Worst("disk").readiness, Readiness::kMissing);
}

TEST_F(PreflightTest, ContainersAreNamed) {
  machine_.Put("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
  EXPECT_NE(Worst("container").what.find("kubernetes"), std::string::npos);
}

}  // namespace
}  // namespace culprit::capture
