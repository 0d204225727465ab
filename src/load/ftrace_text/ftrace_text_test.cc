#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "load/ftrace_text/arguments.h"
#include "load/ftrace_text/line.h"
#include "load/testing_database.h"

namespace culprit::load {
namespace {

using ftrace_text::ParseLine;
using ftrace_text::ParseLostLine;
using ftrace_text::ParseTimestamp;
using ftrace_text::ReadArguments;
using ftrace_text::ReadSwitch;

// A case of ../shared, read in place; its expected.txt says the answer and why.
std::string CasePath(const std::string& name) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/../shared/cases/small/" + name +
         "/trace.txt";
}

#define CULPRIT_LOAD_CASE(name)                                  \
  const std::string path = CasePath(name);                       \
  if (!PathExists(path)) GTEST_SKIP() << path << " is not here"; \
  LoadedTrace loaded = LoadedTrace::OfFile(path)

TEST(FtraceTextCases, IdleTimeOfEachCpu) {
  CULPRIT_LOAD_CASE("17-swapper-per-cpu");
  EXPECT_EQ(loaded.Rows("SELECT cpu, sum(dur) FROM sched s JOIN thread t USING (utid) WHERE t.tid "
                        "= 0 AND dur >= 0 GROUP BY cpu ORDER BY cpu"),
            "0|1000000\n1|2000000\n");
  EXPECT_EQ(loaded.Rows("SELECT DISTINCT utid FROM sched s JOIN thread t USING (utid) WHERE tid = "
                        "0"),
            "0\n");
  EXPECT_EQ(loaded.Rows("SELECT count(*) FROM thread_state WHERE utid = 0"), "0\n");
  EXPECT_EQ(loaded.Rows("SELECT cpu, idle_name FROM cpu ORDER BY cpu"),
            "0|swapper/0\n1|swapper/1\n");
  EXPECT_EQ(
      loaded.Rows("SELECT count(*) FROM sched a JOIN sched b ON a.cpu = b.cpu AND a.id < b.id "
                  "AND a.dur >= 0 AND b.ts < a.ts + a.dur"),
      "0\n");
}

TEST(FtraceTextCases, UnknownCommNamesNobody) {
  CULPRIT_LOAD_CASE("19-unknown-comm");
  EXPECT_EQ(loaded.Rows("SELECT tid, name, upid FROM thread WHERE tid > 0 ORDER BY tid"),
            "19999|real_name|NULL\n20000|NULL|NULL\n");
}

TEST(FtraceTextCases, WhereFourMillisecondsWent) {
  CULPRIT_LOAD_CASE("20-offcpu-states");
  EXPECT_EQ(
      loaded.Rows("SELECT state, sum(dur), count(*) FROM thread_state s JOIN thread t USING "
                  "(utid) WHERE tid = 100 AND dur >= 0 GROUP BY state ORDER BY state::VARCHAR"),
      "D|2000000|1\nR|400000|2\nR+|400000|1\nRunning|700000|3\nS|500000|1\n");
  EXPECT_EQ(loaded.Rows("SELECT state, dur FROM thread_state s JOIN thread t USING (utid) WHERE "
                        "tid = 100 AND dur < 0"),
            "X|-1\n");
  EXPECT_EQ(loaded.Rows("SELECT sum(dur) FROM sched s JOIN thread t USING (utid) WHERE tid = 0 AND "
                        "cpu = 0 AND dur >= 0"),
            "2100000\n");
  EXPECT_EQ(loaded.Rows("SELECT max(dur) FROM thread_state s JOIN thread t USING (utid) WHERE tid "
                        "= 100 AND state IN ('R', 'R+')"),
            "400000\n");
}

TEST(FtraceTextCases, WakingOfARunningThreadChangesNothing) {
  CULPRIT_LOAD_CASE("21-waking-while-running");
  // The first waking came while t ran, as the first event of its CPU shows: t ran, and nobody woke
  // it. The third is spurious.
  EXPECT_EQ(
      loaded.Rows("SELECT s.ts, s.dur, s.state, w.tid FROM thread_state s JOIN thread t USING "
                  "(utid) LEFT JOIN thread w ON w.utid = s.waker_utid WHERE t.tid = 50 ORDER "
                  "BY s.ts"),
      "2000000000|100000|Running|NULL\n2000100000|300000|S|NULL\n"
      "2000400000|300000|R|9\n2000700000|-1|Running|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT ts FROM spurious_sched_wakeup"), "2000450000\n");
}

TEST(FtraceTextCases, NothingCountsAcrossAGap) {
  CULPRIT_LOAD_CASE("23-lost-events");
  EXPECT_EQ(loaded.summary().lost_events, 235U);
  EXPECT_EQ(loaded.Rows("SELECT idx, value FROM stats WHERE name = 'lost_events'"), "1|235\n");
  EXPECT_EQ(loaded.Rows("SELECT count(*) FROM sched WHERE dur > 1000000000"), "0\n");
  // z is known to have run up to the last event before the gap, and no longer.
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.end_state FROM sched s JOIN thread t USING (utid) "
                        "WHERE t.tid = 101"),
            "5000100000|0|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT count(*) FROM thread_state WHERE state = 'Running' AND (dur < 0 OR "
                        "dur > 1000000000)"),
            "0\n");
  EXPECT_EQ(loaded.Rows("SELECT name, dur FROM slice"), "load|-1\n");
  EXPECT_EQ(loaded.Rows("SELECT * FROM lost_gap"), "1|5000100000|9000000000|235\n");
}

TEST(FtraceTextCases, ATidUsedAgainIsAnotherThread) {
  CULPRIT_LOAD_CASE("24-tid-reuse-exec-rename");
  EXPECT_EQ(loaded.Rows("SELECT t.name, t.start_ts, t.end_ts, pp.pid FROM thread t LEFT JOIN "
                        "process p USING (upid) LEFT JOIN process pp ON pp.upid = p.parent_upid "
                        "WHERE t.tid = 500 ORDER BY t.utid"),
            "python3|NULL|2000100000|NULL\nnccl-watchdog|3000000000|NULL|400\n");
}

TEST(FtraceTextLine, Shapes) {
  const auto plain =
      ParseLine("          <idle>-0     [001] d..2  1234.000001: sched_waking: comm=x");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->comm, "<idle>");
  EXPECT_EQ(plain->tid, 0);
  EXPECT_EQ(plain->cpu, 1U);
  EXPECT_EQ(plain->flags, "d..2");
  EXPECT_EQ(plain->ts, 1234000001000);
  EXPECT_EQ(plain->name, "sched_waking");
  EXPECT_EQ(plain->arguments, "comm=x");

  const auto odd = ParseLine("[ET_NET 0]-a-b-1240  (  88) [015] 7.123456789: x: y [3] 1.0: z");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->comm, "[ET_NET 0]-a-b");
  EXPECT_EQ(odd->tid, 1240);
  EXPECT_EQ(odd->tgid, 88);
  EXPECT_EQ(odd->cpu, 15U);
  EXPECT_EQ(odd->ts, 7123456789);
  EXPECT_EQ(odd->arguments, "y [3] 1.0: z");

  const auto no_tgid = ParseLine("a-5     (-----) [000] .....  1.000000: print: x");
  ASSERT_TRUE(no_tgid.has_value());
  EXPECT_EQ(no_tgid->tgid, -1);

  const auto perf =
      ParseLine("DOM Worker 21528/21530 [003] 609678.457663: sched:sched_waking: comm=q");
  ASSERT_TRUE(perf.has_value());
  EXPECT_EQ(perf->comm, "DOM Worker");
  EXPECT_EQ(perf->tgid, 21528);
  EXPECT_EQ(perf->tid, 21530);
  EXPECT_EQ(perf->name, "sched_waking");

  const auto tight = ParseLine("a-5 [000] d..316196.720000: print: x");
  ASSERT_TRUE(tight.has_value());
  EXPECT_EQ(tight->flags, "d..3");
  EXPECT_EQ(tight->ts, 16196720000000);
  const auto tighter = ParseLine("a-5 [000] d..3.16196.720000: print: x");
  ASSERT_TRUE(tighter.has_value());
  EXPECT_EQ(tighter->flags, "d..3.");
  EXPECT_EQ(tighter->ts, 16196720000000);

  EXPECT_FALSE(ParseLine("").has_value());
  EXPECT_FALSE(ParseLine("cpus=2").has_value());
  EXPECT_FALSE(ParseLine("\t10 a (/bin/sh)").has_value());
  EXPECT_FALSE(ParseLine("a-5 [000] d... 1.x: e: y").has_value());
}

TEST(FtraceTextLine, TimesAreExact) {
  EXPECT_EQ(ParseTimestamp("9007199254.740993"), 9007199254740993000);
  EXPECT_EQ(ParseTimestamp("9007199254.740993001"), 9007199254740993001);
  EXPECT_EQ(ParseTimestamp("0.000000001"), 1);
  EXPECT_EQ(ParseTimestamp("123456789"), 123456789);
  EXPECT_FALSE(ParseTimestamp("1.2.3").has_value());
  EXPECT_FALSE(ParseTimestamp("99999999999.0").has_value());
  EXPECT_FALSE(ParseTimestamp(".5").has_value());
}

TEST(FtraceTextLine, Losses) {
  EXPECT_EQ(ParseLostLine("CPU:1 [LOST 235 EVENTS]")->events, 235);
  EXPECT_EQ(ParseLostLine("CPU:12 [9 EVENTS DROPPED]")->cpu, 12U);
  EXPECT_FALSE(ParseLostLine("CPU:3 [EVENTS DROPPED]")->events.has_value());
  EXPECT_FALSE(ParseLostLine("CPU:x [LOST 1 EVENTS]").has_value());
  EXPECT_FALSE(ParseLostLine("CPU:1 nothing").has_value());
}

TEST(FtraceTextArguments, CommsThatImitateArguments) {
  ftrace_text::SwitchText text;
  ASSERT_TRUE(
      ReadSwitch("prev_comm=a prev_pid=9 ==> b prev_pid=7 prev_prio=120 prev_state=D|K ==> "
                 "next_comm=x next_pid=1 y next_pid=8 next_prio=-3",
                 text));
  EXPECT_EQ(text.prev_comm, "a prev_pid=9 ==> b");
  EXPECT_EQ(text.prev_tid, 7);
  EXPECT_EQ(text.prev_state, "D|K");
  EXPECT_EQ(text.next_comm, "x next_pid=1 y");
  EXPECT_EQ(text.next_tid, 8);
  EXPECT_EQ(text.next_prio, -3);

  ASSERT_TRUE(ReadSwitch("swapper/1:0 [120] R ==> my job:5:77 [98]", text));
  EXPECT_EQ(text.prev_comm, "swapper/1");
  EXPECT_EQ(text.next_comm, "my job:5");
  EXPECT_EQ(text.next_tid, 77);
  EXPECT_EQ(text.next_prio, 98);

  EventFields fields;
  const tracefile::EventType* waking = ftrace_text::FindByName("sched_waking");
  ASSERT_NE(waking, nullptr);
  ReadArguments(*waking, "comm=a pid=1 pid=50 prio=120 target_cpu=007", fields);
  EXPECT_EQ(fields.text(1), "a pid=1");
  EXPECT_EQ(fields.i32(2), 50);
  EXPECT_EQ(fields.i32(5), 7);
  ReadArguments(*waking, "kworker/0:1:12 [120] CPU:003", fields);
  EXPECT_EQ(fields.text(1), "kworker/0:1");
  EXPECT_EQ(fields.i32(2), 12);
  EXPECT_EQ(fields.i32(5), 3);
}

TEST(FtraceTextArguments, BlockRequests) {
  EventFields fields;
  const tracefile::EventType* issue = ftrace_text::FindByName("block_rq_issue");
  ReadArguments(*issue, "259,1 WS 4096 () 2048 + 8 none,0,0 [fio]", fields);
  EXPECT_EQ(fields.u64(1), 259U << 8 | 1);
  EXPECT_EQ(fields.u64(2), 2048U);
  EXPECT_EQ(fields.u32(3), 8U);
  EXPECT_EQ(fields.u32(4), 4096U);
  EXPECT_EQ(fields.text(5), "WS");
  const tracefile::EventType* complete = ftrace_text::FindByName("block_rq_complete");
  ReadArguments(*complete, "8,0 R () 64 + 8 [-5]", fields);
  EXPECT_EQ(fields.u64(2), 64U);
  EXPECT_EQ(fields.i32(7), -5);
  EXPECT_EQ(fields.text(5), "R");
}

}  // namespace
}  // namespace culprit::load
