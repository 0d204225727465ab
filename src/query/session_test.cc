#include "query/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "load/testing_trace.h"
#include "query/test_database.h"
#include "tables/database.h"
#include "tables/schema.h"

namespace culprit::query {
namespace {

// A directory that is gone with the test.
class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit_session_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(directory_.c_str());
  }
  std::string File(const std::string& name, const std::string& bytes) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    files_.push_back(path);
    return path;
  }

  // CPU 0: thread 10 runs from 100 to 300, then 11 until the end is not seen.
  std::string Trace() {
    using namespace load;
    TestTrace trace;
    trace.Bundle(0, {FtraceEventOf(100, 0, tracefile::FtraceEvent::kSchedSwitch,
                                   SwitchPayload("swapper", 0, 0, "first", 10)),
                     FtraceEventOf(300, 10, tracefile::FtraceEvent::kSchedSwitch,
                                   SwitchPayload("first", 10, 1, "second", 11))});
    return File("a.trace", trace.bytes());
  }

  static std::string Rows(Session& session, std::string_view sql) {
    auto result = session.Run(sql);
    return result.ok() ? TestDatabase::Text(*result) : "error: " + result.error().ToString();
  }

  std::string directory_;
  std::vector<std::string> files_;
};

TEST_F(SessionTest, AsksATrace) {
  auto session = Session::Open(Trace());
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  ASSERT_TRUE(session->load_summary().has_value());
  EXPECT_EQ(
      Rows(
          *session,
          "SELECT ts, dur, name FROM sched JOIN thread USING (utid) WHERE NOT is_idle ORDER BY ts"),
      "ts|dur|name\n100|200|first\n300|-1|second");
}

// Raw events come with the first question about them, and once.
TEST_F(SessionTest, LoadsRawEventsWhenAsked) {
  int calls = 0;
  SessionOptions options;
  options.on_load_progress = [&](const load::LoadProgress&) { return ++calls > 0; };
  auto session = Session::Open(Trace(), std::move(options));
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  const auto raw_rows = [&] {
    auto count =
        session->connection().QueryInteger("SELECT count(*) FROM __intrinsic_ftrace_event");
    return count.ok() ? *count : -1;
  };
  EXPECT_EQ(raw_rows(), 0);
  EXPECT_EQ(Rows(*session, "SELECT COUNT(*) AS n FROM sched"), "n\n2");
  EXPECT_EQ(raw_rows(), 0);
  EXPECT_EQ(
      Rows(*session, "SELECT COUNT(*) AS n FROM (SELECT * FROM raw) WHERE name = 'sched_switch'"),
      "n\n2");
  EXPECT_EQ(raw_rows(), 2);
  EXPECT_EQ(Rows(*session,
                 "SELECT EXTRACT_ARG(arg_set_id, 'next_comm') AS comm, EXTRACT_ARG(arg_set_id, "
                 "'next_pid') + 1 "
                 "AS pid FROM ftrace_event ORDER BY ts"),
            "comm|pid\nfirst|11\nsecond|12");
  EXPECT_EQ(Rows(*session, "SELECT COUNT(*) AS n FROM sched"), "n\n2");
}

TEST_F(SessionTest, DatabaseFileIsReadAndNotChanged) {
  const std::string path = directory_ + "/a.duckdb";
  files_.push_back(path);
  {
    auto database = tables::Database::OpenFile(path, tables::FileMode::kCreate);
    ASSERT_TRUE(database.ok()) << database.error().ToString();
    auto connection = database->Connect();
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE(tables::CreateSchema(*connection).ok());
    ASSERT_TRUE(connection
                    ->Execute("INSERT INTO thread(id, utid, tid, name) VALUES (1, 1, 7, 'main');"
                              "INSERT INTO trace_bounds VALUES (5, 25)")
                    .ok());
  }
  auto session = Session::Open(path);
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  EXPECT_FALSE(session->load_summary().has_value());
  EXPECT_EQ(
      Rows(*session,
           "CREATE TABLE mine AS SELECT name FROM thread; CREATE VIEW v AS SELECT * FROM mine;"
           "CREATE PERFETTO FUNCTION twice(x LONG) RETURNS LONG AS SELECT 2 * $x;"
           "INCLUDE PERFETTO MODULE sched.with_context;"
           "SELECT v.name, twice(tid) AS t, trace_dur() AS d FROM v, thread"),
      "name|t|d\nmain|14|20");
  EXPECT_EQ(Rows(*session, "SELECT COUNT(*) AS n FROM sched_with_thread_process"), "n\n0");
  auto second = Session::Open(path);
  ASSERT_TRUE(second.ok()) << second.error().ToString();
  EXPECT_EQ(Rows(*second, "SELECT * FROM mine").substr(0, 6), "error:");
}

TEST_F(SessionTest, BadInput) {
  EXPECT_FALSE(Session::Open(directory_ + "/nothing").ok());
  EXPECT_FALSE(Session::Open(File("empty", "")).ok());
  EXPECT_FALSE(Session::Open(File("text", "hello, this is not a trace\n")).ok());
  const auto damaged =
      Session::Open(File("b.duckdb", std::string(8, 'x') + "DUCK" + std::string(5000, 'x')));
  ASSERT_FALSE(damaged.ok());
  EXPECT_FALSE(damaged.error().remedy.empty());
}

TEST_F(SessionTest, CompleteStatements) {
  EXPECT_TRUE(Session::IsComplete("SELECT 1;"));
  EXPECT_TRUE(Session::IsComplete("SELECT 1; -- done\n"));
  EXPECT_FALSE(Session::IsComplete("SELECT 1"));
  EXPECT_FALSE(Session::IsComplete("SELECT ';"));
  EXPECT_FALSE(Session::IsComplete("SELECT (1;"));
  EXPECT_FALSE(Session::IsComplete("/* SELECT 1;"));
  EXPECT_FALSE(Session::IsComplete(""));
}

}  // namespace
}  // namespace culprit::query
