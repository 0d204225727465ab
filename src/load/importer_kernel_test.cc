// Slices and counters of kernel events, from small traces in Perfetto's format.
#include <gtest/gtest.h>

#include "load/syscall_names.h"
#include "load/testing_database.h"
#include "load/testing_trace.h"

namespace culprit::load {
namespace {

constexpr std::uint32_t kRssStat = 313;
constexpr std::uint32_t kSysEnter = 329;
constexpr std::uint32_t kSysExit = 330;
constexpr std::uint32_t kPrint = 3;
constexpr std::uint32_t kNewtask = 235;

M Rss(std::int64_t member, std::int64_t bytes, bool is_current, std::int64_t mm) {
  return M().Int(1, member).Int(2, bytes).Int(3, is_current ? 1 : 0).Int(4, mm);
}

std::string Counters(LoadedTrace& loaded) {
  return loaded.Rows(
      "SELECT p.pid, t.name, c.ts, c.value::BIGINT FROM counter c JOIN process_counter_track t ON "
      "c.track_id = t.id JOIN process p USING (upid) ORDER BY c.ts");
}

TEST(KernelEvents, MemoryIsThatOfWhoeverHadTheHash) {
  namespace Tree = tracefile::ProcessTree;
  const auto process = [](std::int64_t pid) {
    return M().Message(Tree::kProcesses,
                       M().Int(Tree::Process::kPid, pid).Text(Tree::Process::kCmdline, "p"));
  };
  TestTrace trace;
  trace.Packet(1, tracefile::TracePacket::kProcessTree, process(100));
  trace.Packet(1, tracefile::TracePacket::kProcessTree, process(200));
  trace.Bundle(0, {FtraceEventOf(10, 200, kRssStat, Rss(1, 4096, false, 7)),  // nobody's so far
                   FtraceEventOf(20, 100, kRssStat, Rss(1, 8192, true, 7)),
                   FtraceEventOf(30, 200, kRssStat, Rss(0, 16384, false, 7)),  // by another thread
                   FtraceEventOf(40, 200, kRssStat, Rss(2, 100, true, 8)),
                   FtraceEventOf(50, 200, kRssStat, Rss(3, -5, true, 8)),
                   FtraceEventOf(60, 200, kRssStat, Rss(9, 5, true, 8))});
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(Counters(loaded),
            "100|mem.rss.anon|20|8192\n100|mem.rss.file|30|16384\n200|mem.swap|40|100\n");
  EXPECT_EQ(loaded.Rows("SELECT name, value FROM stats WHERE name LIKE 'rss_stat%' ORDER BY name"),
            "rss_stat_negative_size|1\nrss_stat_unknown_keys|1\n"
            "rss_stat_unknown_thread_for_mm_id|1\n");
}

// Kernels before 5.6 do not say whose memory it is: the current thread's. A thread without a
// process has its own track.
TEST(KernelEvents, MemoryOfOldKernelsAndOfUnknownProcesses) {
  TestTrace trace;
  trace.Bundle(0, {FtraceEventOf(10, 300, kRssStat, M().Int(1, 1).Int(2, 4096)),
                   FtraceEventOf(20, 400, kRssStat, M().Int(1, 1).Int(2, 8192)),
                   // Thread 400 makes a thread, so both are of one process, named afterwards.
                   FtraceEventOf(30, 400, kNewtask,
                                 M().Int(1, 401).Text(2, "w").Int(3, 0x10000).Int(4, 0))});
  namespace Tree = tracefile::ProcessTree;
  trace.Packet(40, tracefile::TracePacket::kProcessTree,
               M().Message(Tree::kProcesses,
                           M().Int(Tree::Process::kPid, 400).Text(Tree::Process::kCmdline, "p")));
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(Counters(loaded), "400|mem.rss.anon|20|8192\n");
  EXPECT_EQ(loaded.Rows("SELECT h.tid, t.name, c.ts FROM counter c JOIN thread_counter_track t ON "
                        "c.track_id = t.id JOIN thread h USING (utid)"),
            "300|mem.rss.anon|10\n");
}

M Machine(std::string_view name) {
  return M().Message(tracefile::SystemInfo::kUtsname, M().Text(tracefile::Utsname::kMachine, name));
}

TEST(KernelEvents, SystemCallsAreSlices) {
  TestTrace trace;
  trace.Packet(-1, tracefile::TracePacket::kSystemInfo, Machine("x86_64"));
  trace.Bundle(
      0, {FtraceEventOf(5, 50, kSysExit, M().Int(1, 0).Int(2, 1)),  // began before the trace
          FtraceEventOf(10, 50, kSysEnter, M().Int(1, 257).Int(2, 3).Int(2, 0xFFFF).Int(2, 7)),
          FtraceEventOf(30, 50, kSysExit, M().Int(1, 257).Int(2, -2)),
          FtraceEventOf(40, 50, kSysEnter, M().Int(1, 15)),  // rt_sigreturn never returns
          FtraceEventOf(50, 50, kSysEnter, M().Int(1, 1)),
          FtraceEventOf(55, 50, kPrint, M().Int(1, 0).Text(2, "B|50|work\n")),
          FtraceEventOf(60, 50, kSysExit, M().Int(1, 1).Int(2, 9)),
          FtraceEventOf(70, 50, kPrint, M().Int(1, 0).Text(2, "E|50\n")),
          FtraceEventOf(80, 50, kSysEnter, M().Int(1, 4000)),
          FtraceEventOf(90, 50, kSysExit, M().Int(1, -1).Int(2, 0))});
  LoadedTrace loaded(trace.bytes(), kCore | kRaw);
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, name, depth FROM slice ORDER BY ts"),
            "10|20|sys_openat|0\n40|0|sys_rt_sigreturn|0\n50|5|sys_write|0\n55|15|work|0\n"
            "80|-1|sys_4000|0\n");
  EXPECT_EQ(loaded.Rows("SELECT a.key, a.flat_key, a.int_value, a.value_type FROM slice s JOIN "
                        "args a USING (arg_set_id) WHERE s.name = 'sys_openat' ORDER BY a.key"),
            "args[0]|args|3|uint\nargs[1]|args|65535|uint\nargs[2]|args|7|uint\n"
            "ret|ret|-2|int\n");
  EXPECT_EQ(loaded.Rows("SELECT a.key, a.flat_key, a.int_value FROM ftrace_event e JOIN args a "
                        "USING (arg_set_id) WHERE e.ts = 10 ORDER BY a.key"),
            "args[0]|args|3\nargs[1]|args|65535\nargs[2]|args|7\nid|id|257\n");
  EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'truncated_sys_write_duration'"),
            "1\n");
}

TEST(KernelEvents, NumbersOfSystemCallsDependOnTheMachine) {
  EXPECT_EQ(SyscallNames("x86_64").at(0), "read");
  EXPECT_EQ(SyscallNames("x86_64").at(435), "clone3");
  EXPECT_EQ(SyscallNames("aarch64").at(63), "read");
  EXPECT_EQ(SyscallNames("aarch64").at(435), "clone3");
  EXPECT_EQ(SyscallNames("i686").at(3), "read");
  EXPECT_EQ(SyscallNames("armv7l").at(3), "read");
  EXPECT_EQ(SyscallNames("x86_64").at(462), "mseal");
  EXPECT_TRUE(SyscallNames("x86_64").at(400).empty());
  EXPECT_TRUE(SyscallNames("riscv64").empty());
}

TEST(KernelEvents, SystemCallsInText) {
  LoadedTrace loaded(
      "# tracer: nop\n"
      "  cat-50  [000] ..... 1.000010: sys_enter: NR 257 (ffffff9c, 7f00, 0, 0, 0, 0)\n"
      "  cat-50  [000] ..... 1.000020: sys_exit: NR 257 = -2\n",
      kCore | kRaw);
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, name FROM slice"), "1000010000|10000|sys_257\n");
  EXPECT_EQ(loaded.Rows("SELECT a.key, a.int_value FROM slice s JOIN args a USING (arg_set_id) "
                        "WHERE a.key IN ('args[0]', 'args[1]', 'ret') ORDER BY a.key"),
            "args[0]|4294967196\nargs[1]|32512\nret|-2\n");
  EXPECT_EQ(loaded.Rows("SELECT a.key, a.int_value FROM ftrace_event e JOIN args a USING "
                        "(arg_set_id) WHERE e.name = 'sys_exit' ORDER BY a.key"),
            "id|257\nret|-2\n");
}

TEST(KernelEvents, StretchesOfReclaimHaveTheirArguments) {
  TestTrace trace;
  trace.Bundle(
      0, {FtraceEventOf(10, 50, 46, M().Int(1, 2).Int(3, 0xCC0)),
          FtraceEventOf(30, 50, 47, M().Int(1, 64)), FtraceEventOf(40, 50, 324, M().Int(3, 9)),
          FtraceEventOf(50, 50, 360, M().Int(1, 3000).Text(2, "eth0")),
          FtraceEventOf(60, 50, 360, M().Int(1, 3000).Text(2, "eth0"))});
  LoadedTrace loaded(trace.bytes(), kCore | kRaw);
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.name, a.key, a.int_value FROM slice s JOIN args a "
                        "USING (arg_set_id) ORDER BY s.ts, a.key"),
            "10|20|mm_vmscan_direct_reclaim|direct_reclaim_gfp_flags|3264\n"
            "10|20|mm_vmscan_direct_reclaim|direct_reclaim_may_writepage|0\n"
            "10|20|mm_vmscan_direct_reclaim|direct_reclaim_nr_reclaimed|64\n"
            "10|20|mm_vmscan_direct_reclaim|direct_reclaim_order|2\n"
            "40|0|signal_deliver|signal.sig|9\n");
  EXPECT_EQ(loaded.Rows("SELECT t.name, c.ts, c.value::BIGINT FROM counter c JOIN counter_track t "
                        "ON c.track_id = t.id ORDER BY c.ts"),
            "eth0 Received KB|50|2\neth0 Received KB|60|5\n");
}

}  // namespace
}  // namespace culprit::load
