#include "load/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "load/testing_database.h"
#include "load/testing_trace.h"
#include "tables/column_store.h"

namespace culprit::load {
namespace {

constexpr std::uint32_t kSwitch = 4;
constexpr std::uint32_t kWaking = 20;

TEST(Load, ThreadsRunSleepAndWake) {
  // On CPU 0: a runs 1000-1500, sleeps, is woken at 1800 by b on CPU 1, runs from 2000 on.
  TestTrace trace;
  trace.Kernel("6.1.0").Bundle(
      0, {FtraceEventOf(1000, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", 11)),
          FtraceEventOf(1500, 11, kSwitch, SwitchPayload("a", 11, 2, "swapper/0", 0)),
          FtraceEventOf(2000, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", 11))});
  trace.Bundle(1, {FtraceEventOf(1100, 0, kSwitch, SwitchPayload("swapper/1", 0, 0, "b", 12)),
                   FtraceEventOf(1800, 12, kWaking, WakingPayload("a", 11, 0))});
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.cpu, t.tid, t.name, s.end_state FROM sched s JOIN "
                        "thread t USING (utid) ORDER BY s.id"),
            "1000|500|0|11|a|D\n"
            "1100|-1|1|12|b|NULL\n"
            "1500|500|0|0|swapper|R\n"
            "2000|-1|0|11|a|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.state, s.cpu, w.tid, s.waker_id FROM thread_state s "
                        "JOIN thread t USING (utid) LEFT JOIN thread w ON w.utid = s.waker_utid "
                        "WHERE t.tid = 11 ORDER BY s.id"),
            "1000|500|Running|0|NULL|NULL\n"
            "1500|300|D|NULL|NULL|NULL\n"
            "1800|200|R|NULL|12|1\n"
            "2000|-1|Running|0|NULL|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT count(*) FROM thread_state s JOIN thread t USING (utid) WHERE "
                        "t.tid = 0"),
            "0\n");
  EXPECT_EQ(loaded.Rows("SELECT start_ts, end_ts FROM trace_bounds"), "1000|2000\n");
}

TEST(Load, CompactColumnsOfOneCpu) {
  namespace Compact = tracefile::FtraceEventBundle::CompactSched;
  M compact;
  compact.Text(Compact::kInternTable, "a").Text(Compact::kInternTable, "b");
  compact.Packed(Compact::kSwitchTimestamp, {1000, 100, 100, 100});
  compact.Packed(Compact::kSwitchPrevState, {0, 1, 2, 0});
  compact.Packed(Compact::kSwitchNextPid, {11, 12, 11, 12});
  compact.Packed(Compact::kSwitchNextPrio, {120, 120, 120, 120});
  compact.Packed(Compact::kSwitchNextCommIndex, {0, 1, 0, 1});
  compact.Packed(Compact::kWakingTimestamp, {900, 250});
  compact.Packed(Compact::kWakingPid, {11, 11});
  compact.Packed(Compact::kWakingTargetCpu, {0, 0});
  compact.Packed(Compact::kWakingPrio, {120, 120});
  compact.Packed(Compact::kWakingCommIndex, {0, 0});
  compact.Packed(Compact::kWakingCommonFlags, {1, 9});
  TestTrace trace;
  trace.Kernel("6.1.0").Packet(-1, tracefile::TracePacket::kFtraceEvents,
                               M().Int(tracefile::FtraceEventBundle::kCpu, 3)
                                   .Message(tracefile::FtraceEventBundle::kCompactSched, compact));
  LoadedTrace loaded(trace.bytes());
  // The first switch says who comes and not who goes: no row. The waking before it has no waker.
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, cpu, tid, name, end_state FROM sched s JOIN thread t "
                        "USING (utid) ORDER BY s.id"),
            "1100|100|3|12|b|D\n"
            "1200|100|3|11|a|R\n"
            "1300|-1|3|12|b|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT w.ts, k.tid, e.tid, target_cpu, irq_context, spurious FROM wakeup "
                        "w JOIN thread k ON k.utid = waker_utid JOIN thread e ON e.utid = "
                        "wakee_utid"),
            "1150|12|11|0|1|0\n");
  EXPECT_EQ(loaded.summary().sched_events, 6U);
}

TEST(Load, RawEventsOfASecondPassHaveTheSameThreads) {
  TestTrace trace;
  trace.Kernel("6.1.0").Bundle(
      0, {FtraceEventOf(1000, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", 11)),
          FtraceEventOf(1200, 11, 11, M().Int(1, 2400000).Int(2, 0)),  // cpu_frequency
          FtraceEventOf(1300, 12, 327,
                        M().Text(1, "my_event")
                            .Message(2, M().Text(1, "what").Text(3, "x"))
                            .Message(2, M().Text(1, "size").Int(4, -5))),
          FtraceEventOf(1500, 11, kSwitch, SwitchPayload("a", 11, 2, "swapper/0", 0))});
  LoadedTrace core(trace.bytes());
  EXPECT_EQ(core.Rows("SELECT count(*) FROM ftrace_event"), "0\n");
  LoadedTrace both(trace.bytes(), kCore | kRaw);
  LoadedTrace second = LoadedTrace(trace.bytes());
  {
    const TemporaryFile file(trace.bytes());
    LoadOptions options;
    options.groups = kRaw;
    EXPECT_TRUE(LoadTrace(file.path(), second.database(), options).ok());
  }
  const std::string events =
      "SELECT e.ts, e.name, e.cpu, t.tid FROM ftrace_event e JOIN thread t USING (utid) ORDER BY "
      "e.id";
  EXPECT_EQ(both.Rows(events),
            "1000|sched_switch|0|0\n1200|cpu_frequency|0|11\n1300|my_event|0|12\n"
            "1500|sched_switch|0|11\n");
  EXPECT_EQ(second.Rows(events), both.Rows(events));
  EXPECT_EQ(second.Rows("SELECT count(*) FROM sched"), "2\n");
  const std::string args =
      "SELECT e.ts, a.key, a.int_value, a.string_value FROM args a JOIN ftrace_event e USING "
      "(arg_set_id) WHERE e.ts BETWEEN 1100 AND 1400 ORDER BY a.id";
  EXPECT_EQ(second.Rows(args),
            "1200|state|2400000|NULL\n1200|cpu_id|0|NULL\n1300|what|NULL|x\n"
            "1300|size|-5|NULL\n");
  EXPECT_EQ(both.Rows(args), second.Rows(args));
}

// The tables are arrays of ours in memory and DuckDB's own in a file.
TEST(Load, SameRowsInMemoryAndInAFile) {
  TestTrace trace;
  trace.Kernel("6.1.0");
  for (int i = 0; i < 9; ++i) {
    trace.Bundle(
        0, {FtraceEventOf(1000 + 100 * i, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", 11)),
            FtraceEventOf(1020 + 100 * i, 11, kWaking, WakingPayload("b", 12, 1)),
            FtraceEventOf(1050 + 100 * i, 11, kSwitch, SwitchPayload("a", 11, 1, "swapper/0", 0))});
  }
  const TemporaryFile file(trace.bytes());
  LoadedTrace memory = LoadedTrace::OfFile(file.path(), kCore | kRaw);
  const TemporaryFile place("");
  ASSERT_EQ(unlink(place.path().c_str()), 0);
  auto database = tables::Database::OpenFile(place.path(), tables::FileMode::kCreate).value();
  auto connection = database.Connect().value();
  ASSERT_TRUE(tables::CreateSchema(connection).ok());
  ASSERT_TRUE(LoadTrace(file.path(), database, {.groups = kCore | kRaw, .progress = {}}).ok());
  for (const char* table : {"sched", "thread_state", "ftrace_event", "args"}) {
    const std::string sql =
        std::string("SELECT string_agg(t::VARCHAR, ';') FROM ") + table + " AS t";
    EXPECT_EQ(connection.QueryText(sql).value() + "\n", memory.Rows(sql)) << table;
  }
  EXPECT_EQ(memory.Rows("SELECT count(*) FROM sched"), "18\n");
}

TEST(Load, RawEventsThatWereInterruptedLeaveNothing) {
  TestTrace trace;
  trace.Kernel("6.1.0").Bundle(
      0, {FtraceEventOf(1000, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", 11))});
  const TemporaryFile file(trace.bytes());
  LoadedTrace loaded = LoadedTrace::OfFile(file.path());
  const auto bytes = loaded.database().store()->used_bytes();
  LoadOptions options{.groups = kRaw, .progress = [](const LoadProgress&) { return false; }};
  EXPECT_FALSE(LoadTrace(file.path(), loaded.database(), options).ok());
  EXPECT_EQ(loaded.Rows("SELECT count(*) FROM ftrace_event"), "0\n");
  EXPECT_EQ(loaded.database().store()->used_bytes(), bytes);
  options.progress = nullptr;
  EXPECT_TRUE(LoadTrace(file.path(), loaded.database(), options).ok());
  EXPECT_EQ(loaded.Rows("SELECT ts, name FROM ftrace_event"), "1000|sched_switch\n");
}

// Bundles are decoded ahead by other threads: more of them than fit ahead, in turns on two CPUs.
TEST(Load, SameRowsOnAnyNumberOfThreads) {
  TestTrace trace;
  trace.Kernel("6.1.0");
  for (int i = 0; i < 300; ++i) {
    const int tid = 100 + i % 7;
    trace.Bundle(
        i % 2,
        {FtraceEventOf(1000 + 100 * i, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", tid)),
         FtraceEventOf(1050 + 100 * i, tid, kSwitch, SwitchPayload("a", tid, 1, "swapper/0", 0))});
  }
  const TemporaryFile file(trace.bytes());
  const std::string sql = "SELECT string_agg(t::VARCHAR, ';') FROM thread_state AS t";
  std::string first;
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    auto database = tables::Database::OpenInMemory().value();
    auto connection = database.Connect().value();
    ASSERT_TRUE(tables::CreateSchema(connection).ok());
    const auto summary = LoadTrace(file.path(), database, {.threads = threads, .progress = {}});
    ASSERT_TRUE(summary.ok()) << summary.error().ToString();
    EXPECT_EQ(summary->events, 600U);
    const std::string rows = connection.QueryText(sql).value();
    if (first.empty()) first = rows;
    EXPECT_EQ(rows, first) << threads << " threads";
  }
  EXPECT_EQ(std::count(first.begin(), first.end(), ';') + 1, 600);
}

TEST(Load, WhatIsNoTraceIsNamed) {
  tables::Database database = tables::Database::OpenInMemory().value();
  const auto missing = LoadTrace("/nonexistent/trace", database);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().what.find("/nonexistent/trace"), std::string::npos);
  const auto empty = LoadTrace("/dev/null", database);
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().what.find("empty"), std::string::npos);
}

TEST(Load, CutAnywhereLoadsWhatIsWhole) {
  TestTrace trace;
  trace.Kernel("6.1.0");
  for (int i = 0; i < 5; ++i) {
    trace.Bundle(
        0, {FtraceEventOf(1000 + 100 * i, 0, kSwitch, SwitchPayload("swapper/0", 0, 0, "a", 11)),
            FtraceEventOf(1050 + 100 * i, 11, kSwitch, SwitchPayload("a", 11, 1, "swapper/0", 0))});
  }
  const std::string whole = trace.bytes();
  std::uint64_t last = 0;
  for (std::size_t size = 3; size <= whole.size(); size += 97) {
    LoadedTrace loaded(whole.substr(0, size));
    EXPECT_GE(loaded.summary().events, last);
    EXPECT_LE(loaded.summary().events, 10U);
    last = loaded.summary().events;
    if (loaded.summary().truncated) {
      EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'trace_file_truncated'"), "1\n");
    }
  }
  EXPECT_FALSE(LoadedTrace(whole).summary().truncated);
  EXPECT_TRUE(LoadedTrace(whole.substr(0, whole.size() - 1)).summary().truncated);
}

}  // namespace
}  // namespace culprit::load
