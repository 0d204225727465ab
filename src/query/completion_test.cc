#include "query/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/database.h"

namespace culprit::query {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() : connection_(tables::Database::OpenInMemory().value().Connect().value()) {
    EXPECT_TRUE(connection_
                    .Execute("CREATE TABLE thread (utid BIGINT, tid BIGINT, name VARCHAR);"
                             "CREATE TABLE thread_state (ts BIGINT, dur BIGINT, utid BIGINT);"
                             "CREATE TABLE __hidden (secret BIGINT);"
                             "CREATE VIEW sched AS SELECT ts, dur, 1 AS cpu FROM thread_state")
                    .ok());
  }
  std::vector<std::string> At(std::string_view before, std::string_view after = "") {
    return Completion::Read(connection_).value().Candidates(before, after);
  }
  tables::Connection connection_;
};

TEST_F(CompletionTest, TablesBehindFromAndJoin) {
  EXPECT_THAT(At("SELECT * FROM th"), ElementsAre("thread", "thread_state"));
  EXPECT_THAT(At("select * from sched join "), ElementsAre("sched", "thread", "thread_state"));
  EXPECT_THAT(At("SELECT * FROM __"), IsEmpty());
}

TEST_F(CompletionTest, ColumnsOfTheAliasAlsoWhenItComesLater) {
  EXPECT_THAT(At("SELECT t.", " FROM thread t"), ElementsAre("t.name", "t.tid", "t.utid"));
  EXPECT_THAT(At("SELECT 1 FROM sched AS s JOIN thread AS t ON s.c"), ElementsAre("s.cpu"));
  EXPECT_THAT(At("SELECT thread.ti", " FROM thread WHERE x = 'from sched'"),
              ElementsAre("thread.tid"));
  EXPECT_THAT(At("SELECT x.", " FROM thread t"), IsEmpty());
}

TEST_F(CompletionTest, ColumnsAndKeywords) {
  EXPECT_THAT(At("SELECT na", " FROM thread"), ElementsAre("name"));
  EXPECT_THAT(At("SELECT d", " FROM sched"), Contains("dur"));
  EXPECT_THAT(At("SEL"), ElementsAre("SELECT"));
  EXPECT_THAT(At("sel"), ElementsAre("select"));
  EXPECT_THAT(At("SELECT dur FROM sched WH"), ElementsAre("WHEN", "WHERE"));
  EXPECT_THAT(At("SELECT s", " FROM thread"), Not(Contains("secret")));
}

TEST_F(CompletionTest, Commands) {
  EXPECT_THAT(At(".t"), ElementsAre(".tables"));
  EXPECT_THAT(At(".schema thread_"), ElementsAre("thread_state"));
  EXPECT_THAT(At(".schema "), ElementsAre("sched", "thread", "thread_state"));
}

}  // namespace
}  // namespace culprit::query
