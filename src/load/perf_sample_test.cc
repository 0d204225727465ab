// Samples of perf in a trace: rows, what they stand for, stacks of switches as offcpu_sample.
#include <gtest/gtest.h>

#include <string>

#include "load/testing_database.h"
#include "load/testing_trace.h"

namespace culprit::load {
namespace {

namespace Packet = tracefile::TracePacket;
namespace Sample = tracefile::PerfSample;

M Text(std::int64_t iid, std::string_view text) { return M().Int(1, iid).Text(2, text); }

M FrameOf(std::int64_t iid, std::int64_t function, std::int64_t mapping, std::int64_t rel_pc) {
  return M()
      .Int(tracefile::Frame::kIid, iid)
      .Int(tracefile::Frame::kFunctionNameId, function)
      .Int(tracefile::Frame::kMappingId, mapping)
      .Int(tracefile::Frame::kRelPc, rel_pc);
}

M Stack(std::int64_t iid, const std::vector<std::int64_t>& frames) {
  M stack;
  stack.Int(tracefile::Callstack::kIid, iid);
  for (const std::int64_t frame : frames) stack.Int(tracefile::Callstack::kFrameIds, frame);
  return stack;
}

// main -> work in /bin/app, and main alone.
M AppStacks() {
  namespace Data = tracefile::InternedData;
  return M()
      .Message(Data::kFunctionNames, Text(1, "main"))
      .Message(Data::kFunctionNames, Text(2, "work"))
      .Message(Data::kBuildIds, Text(1, "\xAB\xCD"))
      .Message(Data::kMappingPaths, Text(1, "/bin/app"))
      .Message(Data::kMappings, M().Int(tracefile::Mapping::kIid, 1)
                                    .Int(tracefile::Mapping::kBuildId, 1)
                                    .Int(tracefile::Mapping::kStart, 0x1000)
                                    .Int(tracefile::Mapping::kEnd, 0x9000)
                                    .Int(tracefile::Mapping::kPathStringIds, 1))
      .Message(Data::kFrames, FrameOf(1, 1, 1, 0x10))
      .Message(Data::kFrames, FrameOf(2, 2, 1, 0x20))
      .Message(Data::kCallstacks, Stack(1, {1, 2}))
      .Message(Data::kCallstacks, Stack(2, {1}))
      .Message(Data::kCallstacks, Stack(3, {1, 77}));
}

M Defaults(const M& timebase) {
  return M().Message(tracefile::TracePacketDefaults::kPerfSampleDefaults,
                     M().Message(tracefile::PerfSampleDefaults::kTimebase, timebase));
}

// The packet that opens a sequence.
M Opening(std::int64_t sequence, const M& timebase) {
  return M()
      .Int(Packet::kTrustedPacketSequenceId, sequence)
      .Int(Packet::kSequenceFlags, tracefile::SequenceFlags::kIncrementalStateCleared)
      .Message(Packet::kTracePacketDefaults, Defaults(timebase))
      .Message(Packet::kInternedData, AppStacks());
}

M SampleOf(std::int64_t cpu, std::int64_t tid, std::int64_t stack) {
  M sample;
  sample.Int(Sample::kCpu, cpu).Int(Sample::kPid, 100).Int(Sample::kTid, tid);
  if (stack != 0) sample.Int(Sample::kCallstackIid, stack);
  return sample;
}

TEST(PerfSample, RowsHaveStacksModesAndWhatTheyStandFor) {
  TestTrace trace;
  trace.Raw(Opening(5, M().Int(tracefile::PerfTimebase::kFrequency, 99)
                           .Int(tracefile::PerfTimebase::kCounter, 10)
                           .Text(tracefile::PerfTimebase::kName, "cycles")));
  const auto counted = [](M sample, std::int64_t count) {
    return sample.Int(Sample::kCpuMode, 2).Int(Sample::kTimebaseCount, count);
  };
  trace.Packet(100, Packet::kPerfSample, counted(SampleOf(0, 101, 1), 1000), 5);
  trace.Packet(110, Packet::kPerfSample, counted(SampleOf(1, 102, 2), 50), 5);  // its own count
  trace.Packet(120, Packet::kPerfSample, counted(SampleOf(0, 101, 1), 1700), 5);
  trace.Packet(130, Packet::kPerfSample, SampleOf(0, 101, 3), 5);  // a frame that is nowhere
  trace.Packet(140, Packet::kPerfSample, SampleOf(0, 101, 2).Int(Sample::kUnwindError, 3), 5);
  trace.Packet(150, Packet::kPerfSample,
               M().Int(Sample::kCpu, 1).Int(Sample::kKernelRecordsLost, 7), 5);
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT p.ts, t.tid, p.cpu, p.cpu_mode, p.callsite_id, p.unwind_error, "
                        "p.perf_session_id, p.period FROM perf_sample p JOIN thread t USING (utid) "
                        "ORDER BY p.id"),
            "100|101|0|user|1|NULL|0|1000\n"
            "110|102|1|user|0|NULL|0|50\n"
            "120|101|0|user|1|NULL|0|700\n"
            "130|101|0|unknown|NULL|NULL|0|NULL\n"
            "140|101|0|unknown|0|unwind_info|0|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT event, unit, frequency_hz, period FROM perf_session"),
            "cycles|cycles|99|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT f.name, m.name, m.build_id, f.rel_pc FROM stack_profile_frame f "
                        "JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY f.id"),
            "main|/bin/app|abcd|16\nwork|/bin/app|abcd|32\n");
  EXPECT_EQ(loaded.Rows("SELECT name, idx, value, severity FROM stats WHERE name LIKE 'perf%' "
                        "ORDER BY name"),
            "perf_cpu_lost_records|1|7|data_loss\nperf_samples_of_unknown_stacks|NULL|1|error\n");
  EXPECT_EQ(loaded.Rows("SELECT c.ts, t.cpu, c.value FROM counter c JOIN cpu_counter_track t "
                        "ON t.id = c.track_id WHERE t.name = 'cycles' ORDER BY c.ts"),
            "100|0|1000.0\n110|1|50.0\n120|0|1700.0\n");
}

TEST(PerfSample, SequencesAreSessionsAndClearedStateIsForgotten) {
  TestTrace trace;
  trace.Raw(Opening(5, M().Int(tracefile::PerfTimebase::kPeriod, 4000)
                           .Message(tracefile::PerfTimebase::kTracepoint,
                                    M().Text(tracefile::PerfTracepoint::kName, "block:block_rq"))));
  trace.Packet(100, Packet::kPerfSample, SampleOf(0, 101, 1), 5);
  trace.Raw(Opening(
      6,
      M().Int(tracefile::PerfTimebase::kFrequency, 100).Int(tracefile::PerfTimebase::kCounter, 1)));
  trace.Packet(110, Packet::kPerfSample, SampleOf(0, 101, 1), 6);
  trace.Raw(M().Int(Packet::kTrustedPacketSequenceId, 5)
                .Int(Packet::kSequenceFlags, tracefile::SequenceFlags::kIncrementalStateCleared));
  trace.Packet(120, Packet::kPerfSample, SampleOf(0, 101, 1), 5);  // nothing interned any more
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT p.ts, s.event, s.unit, p.period, p.callsite_id FROM perf_sample p "
                        "JOIN perf_session s USING (perf_session_id) ORDER BY p.id"),
            "100|block:block_rq|count|4000|1\n"
            "110|cpu-clock|ns|10000000|1\n"
            "120|block:block_rq|count|4000|NULL\n");
}

TEST(PerfSample, ModuleSymbolsNameFramesWithTheInnermostFirst) {
  TestTrace trace;
  trace.Raw(Opening(5, M().Int(tracefile::PerfTimebase::kCounter, 1)));
  trace.Packet(100, Packet::kPerfSample, SampleOf(0, 101, 1), 5);
  const auto line = [](std::string_view function, std::int64_t number) {
    namespace Line = tracefile::SymbolLine;
    return M()
        .Text(Line::kFunctionName, function)
        .Text(Line::kSourceFileName, "app.cc")
        .Int(Line::kLineNumber, number);
  };
  const auto symbols = [&](std::string_view build_id, std::int64_t address) {
    namespace Address = tracefile::AddressSymbols;
    return M()
        .Text(tracefile::ModuleSymbols::kPath, "/bin/app")
        .Text(tracefile::ModuleSymbols::kBuildId, build_id)
        .Message(tracefile::ModuleSymbols::kAddressSymbols,
                 M().Int(Address::kAddress, address)
                     .Message(Address::kLines, line("inner", 7))
                     .Message(Address::kLines, line("work", 9)));
  };
  trace.Packet(-1, Packet::kModuleSymbols, symbols("\xAB\xCD", 0x20));
  trace.Packet(-1, Packet::kModuleSymbols, symbols("\x11\x22", 0x10));  // another build of it
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT f.name, s.name, s.source_file, s.line_number, s.inlined "
                        "FROM stack_profile_frame f LEFT JOIN stack_profile_symbol s "
                        "USING (symbol_set_id) ORDER BY f.id, s.id"),
            "main|NULL|NULL|NULL|NULL\nwork|inner|app.cc|7|1\nwork|work|app.cc|9|0\n");
  EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'stackprofile_invalid_mapping_id'"),
            "1\n");
}

// Thread 101 runs, waits from 2000 (of it 500 ready), runs, is preempted at 9000, and waits from
// 30,000 to the end.
TEST(OffCpuSample, TakesTheNearestSampleAndSplitsTheWait) {
  using tracefile::FtraceEvent::kSchedSwitch;
  using tracefile::FtraceEvent::kSchedWaking;
  TestTrace trace;
  trace.Kernel("6.1.0");
  trace.Bundle(0,
               {
                   FtraceEventOf(1000, 0, kSchedSwitch, SwitchPayload("idle", 0, 0, "app", 101)),
                   FtraceEventOf(2000, 101, kSchedSwitch, SwitchPayload("app", 101, 1, "b", 200)),
                   FtraceEventOf(5000, 200, kSchedWaking, WakingPayload("app", 101, 0)),
                   FtraceEventOf(5500, 200, kSchedSwitch, SwitchPayload("b", 200, 0, "app", 101)),
                   FtraceEventOf(9000, 101, kSchedSwitch, SwitchPayload("app", 101, 0, "b", 200)),
                   FtraceEventOf(9900, 200, kSchedSwitch, SwitchPayload("b", 200, 1, "app", 101)),
                   FtraceEventOf(30000, 101, kSchedSwitch, SwitchPayload("app", 101, 2, "b", 200)),
                   FtraceEventOf(40000, 200, kSchedSwitch, SwitchPayload("b", 200, 0, "idle", 0)),
               });
  const auto tracepoint = [](std::string_view name) {
    return M()
        .Int(tracefile::PerfTimebase::kPeriod, 1)
        .Message(tracefile::PerfTimebase::kTracepoint,
                 M().Text(tracefile::PerfTracepoint::kName, name));
  };
  trace.Raw(Opening(5, tracepoint("sched:sched_switch")));
  trace.Raw(Opening(6, tracepoint("sched:sched_waking")));
  trace.Packet(2001, Packet::kPerfSample, SampleOf(0, 101, 1), 5);
  trace.Packet(8999, Packet::kPerfSample, SampleOf(0, 101, 2), 5);
  trace.Packet(4999, Packet::kPerfSample, SampleOf(0, 200, 2), 6);
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT t.tid, o.ts, o.dur, o.blocked_ns, o.runnable_ns, o.callsite_id, "
                        "o.waker_callsite_id FROM offcpu_sample o JOIN thread t USING (utid) "
                        "ORDER BY o.ts"),
            "101|2000|3500|3000|500|1|0\n"
            "101|9000|900|0|900|0|NULL\n"
            "101|30000|-1|10000|0|NULL|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT * FROM stats WHERE name = 'offcpu_samples_unmatched'"), "");
}

// Thread 101 stands ready from 3000 on; that it ran is only seen when it leaves the CPU at 8000.
TEST(OffCpuSample, AWaitThatEndsInMissingEventsCountsNothing) {
  using tracefile::FtraceEvent::kSchedSwitch;
  TestTrace trace;
  trace.Kernel("6.1.0");
  trace.Bundle(0,
               {
                   FtraceEventOf(1000, 0, kSchedSwitch, SwitchPayload("idle", 0, 0, "app", 101)),
                   FtraceEventOf(3000, 101, kSchedSwitch, SwitchPayload("app", 101, 0, "b", 200)),
                   FtraceEventOf(8000, 101, kSchedSwitch, SwitchPayload("app", 101, 1, "b", 200)),
                   FtraceEventOf(9000, 200, kSchedSwitch, SwitchPayload("b", 200, 0, "idle", 0)),
               });
  trace.Raw(
      Opening(5, M().Int(tracefile::PerfTimebase::kPeriod, 1)
                     .Message(tracefile::PerfTimebase::kTracepoint,
                              M().Text(tracefile::PerfTracepoint::kName, "sched:sched_switch"))));
  trace.Packet(3000, Packet::kPerfSample, SampleOf(0, 101, 1), 5);
  trace.Packet(8000, Packet::kPerfSample, SampleOf(0, 101, 2), 5);
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT t.tid, o.ts, o.dur, o.blocked_ns, o.runnable_ns, o.callsite_id "
                        "FROM offcpu_sample o JOIN thread t USING (utid) ORDER BY o.ts"),
            "101|3000|-1|0|0|1\n101|8000|-1|1000|0|0\n");
}

}  // namespace
}  // namespace culprit::load
