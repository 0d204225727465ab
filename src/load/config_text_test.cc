// The configuration of a recording as text, and the arguments of tracks.
#include "load/config_text.h"

#include <gtest/gtest.h>

#include "load/testing_database.h"
#include "load/testing_trace.h"

namespace culprit::load {
namespace {

TEST(ConfigText, AsProtobufPrintsIt) {
  // buffers {size_kb 1, fill_policy 4}, data_sources {config {name 1, ftrace_config 100
  // {ftrace_events 1}}}, duration_ms 3, and a field that nobody knows.
  const M config =
      M().Message(1, M().Int(1, 65536).Int(4, 1))
          .Message(
              2,
              M().Message(
                  1, M().Text(1, "linux.ftrace").Message(100, M().Text(1, "sched/\"quoted\"\n"))))
          .Int(3, 2000)
          .Int(5000, 7);
  EXPECT_EQ(ConfigText(config.bytes()),
            "buffers {\n  size_kb: 65536\n  fill_policy: RING_BUFFER\n}\n"
            "data_sources {\n  config {\n    name: \"linux.ftrace\"\n    ftrace_config {\n"
            "      ftrace_events: \"sched/\\\"quoted\\\"\\n\"\n    }\n  }\n}\n"
            "duration_ms: 2000\n5000: 7");
  EXPECT_EQ(ConfigText(""), "");
}

TEST(Metadata, HasTheConfigurationAndTheClock) {
  TestTrace trace;
  trace.Kernel("6.1.0");
  trace.Packet(-1, tracefile::TracePacket::kTraceConfig, M().Int(3, 2000));
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT name, int_value, str_value, machine_id, trace_id FROM metadata "
                        "WHERE name IN ('trace_config_pbtxt', 'system_release', "
                        "'trace_time_clock_id') ORDER BY name"),
            "system_release|NULL|6.1.0|0|NULL\n"
            "trace_config_pbtxt|NULL|duration_ms: 2000|NULL|0\n"
            "trace_time_clock_id|6|NULL|NULL|0\n");
}

TEST(Tracks, HaveArgumentsThatTellThemApart) {
  TestTrace trace;
  constexpr std::uint32_t kRssStat = 313;
  namespace Tree = tracefile::ProcessTree;
  trace.Packet(1, tracefile::TracePacket::kProcessTree,
               M().Message(Tree::kProcesses,
                           M().Int(Tree::Process::kPid, 100).Text(Tree::Process::kCmdline, "p")));
  trace.Bundle(2, {FtraceEventOf(10, 100, kRssStat, M().Int(1, 2).Int(2, 4096)),
                   FtraceEventOf(20, 100, 13, M().Int(1, 3).Int(2, 2)),
                   FtraceEventOf(30, 100, 16, M().Text(1, "pll").Int(2, 5))});
  LoadedTrace loaded(trace.bytes(), kCore | kRaw);
  EXPECT_EQ(loaded.Rows("SELECT t.type, a.key, a.display_value FROM track t LEFT JOIN args a ON "
                        "a.arg_set_id = t.dimension_arg_set_id ORDER BY t.id, a.id"),
            "process_memory|upid|1\nprocess_memory|process_memory_key|swap\ncpu_idle|cpu|2\n"
            "clock_frequency|NULL|NULL\n");
}

}  // namespace
}  // namespace culprit::load
