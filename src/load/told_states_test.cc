// Rows that a recording without root tells, also damaged ones.
#include <gtest/gtest.h>

#include "load/testing_database.h"
#include "load/testing_trace.h"
#include "tracefile/own_threads_fields.h"

namespace culprit::load {
namespace {

namespace Data = tracefile::CulpritData;
namespace Told = tracefile::CulpritData::ToldState;

M State(std::int64_t ts, std::int64_t dur, std::int64_t tid, std::string_view state) {
  return M().Int(Told::kTs, ts).Int(Told::kDur, dur).Int(Told::kTid, tid).Text(Told::kState, state);
}
M Running(std::int64_t ts, std::int64_t dur, std::int64_t tid, std::int64_t cpu,
          std::string_view end_state) {
  return State(ts, dur, tid, "Running").Int(Told::kCpu, cpu).Text(Told::kEndState, end_state);
}
M Thread(std::int64_t tid, std::int64_t pid, std::string_view name) {
  namespace Field = Data::ToldThread;
  return M().Int(Field::kTid, tid).Int(Field::kPid, pid).Text(Field::kName, name);
}
TestTrace Trace(const M& data) {
  TestTrace trace;
  trace.Packet(500, tracefile::TracePacket::kCulpritData, data);
  return trace;
}

TEST(ToldStates, BecomeRowsOfTheseThreadsOnly) {
  M data;
  data.Message(Data::kToldThreads, Thread(12, 11, "worker"));
  data.Message(Data::kToldStates, Running(1000, 500, 12, 1, "S"));
  data.Message(Data::kToldStates,
               State(1500, 300, 12, "S").Text(Told::kBlockedFunction, "hrtimer_nanosleep"));
  data.Message(Data::kToldStates, State(1800, 200, 12, "R"));
  data.Message(Data::kToldStates, Running(2000, -1, 12, 0, ""));
  data.Message(Data::kOwnThreads,
               M().Int(Data::OwnThreads::kHasSwitches, 1).Int(Data::OwnThreads::kThreads, 1));
  LoadedTrace loaded(Trace(data).bytes());
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, state, cpu, blocked_function, t.name FROM thread_state "
                        "JOIN thread t USING (utid) ORDER BY ts"),
            "1000|500|Running|1|NULL|worker\n"
            "1500|300|S|NULL|hrtimer_nanosleep|worker\n"
            "1800|200|R|NULL|NULL|worker\n"
            "2000|-1|Running|0|NULL|worker\n");
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, cpu, utid = 0, end_state FROM sched ORDER BY ts"),
            "1000|500|1|false|S\n"
            "2000|-1|0|false|NULL\n");
  EXPECT_EQ(loaded.Rows("SELECT str_value FROM metadata WHERE name = 'sched_source'"),
            "switches\n");
  EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'own_threads'"), "1\n");
}

TEST(ToldStates, SampledOnesMakeNoRowsOfSched) {
  M data;
  data.Message(Data::kToldStates, Running(1000, 500, 12, 1, "").Int(Told::kIsSampled, 1));
  data.Message(Data::kOwnThreads, M().Int(Data::OwnThreads::kThreads, 1));
  LoadedTrace loaded(Trace(data).bytes());
  EXPECT_EQ(loaded.Rows("SELECT count(*) FROM sched"), "0\n");
  EXPECT_EQ(loaded.Rows("SELECT state, dur FROM thread_state"), "Running|500\n");
  EXPECT_EQ(loaded.Rows("SELECT str_value FROM metadata WHERE name = 'sched_source'"), "samples\n");
}

TEST(ToldStates, DamagedOnesAreCountedAndLeftOut) {
  M data;
  data.Message(Data::kToldStates, State(1000, 0, 12, "S"));
  data.Message(Data::kToldStates, State(1000, -5, 12, "S"));
  data.Message(Data::kToldStates, State(-1, 5, 12, "S"));
  data.Message(Data::kToldStates, State(INT64_MAX, 5, 12, "S"));
  data.Message(Data::kToldStates, State(1000, 5, 0, "S"));
  data.Message(Data::kToldStates, Running(1000, 5, 12, 1 << 20, "S"));
  data.Message(Data::kToldStates, State(1000, 5, 12, "no such state"));
  LoadedTrace loaded(Trace(data).bytes());
  EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'packet_parse_errors'"), "6\n");
  EXPECT_EQ(loaded.Rows("SELECT state FROM thread_state"), "NULL\n");
}

}  // namespace
}  // namespace culprit::load
