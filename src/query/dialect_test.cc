#include "query/dialect.h"

#include <gtest/gtest.h>

#include "query/test_database.h"

namespace culprit::query {
namespace {

constexpr const char* kTables =
    "CREATE TABLE sched(id UINTEGER, ts BIGINT, dur BIGINT, cpu USMALLINT, utid UINTEGER,"
    " upid UINTEGER, end_state ENUM('S', 'R', 'D'), thread_state ENUM('S', 'R', 'D'));"
    "INSERT INTO sched VALUES (0, 100, 10, 0, 1, 1, 'S', 'S'), (1, 110, 30, 0, 2, 1, 'D', 'D'),"
    " (2, 140, 5, 1, 1, 1, 'R', 'R'), (3, 150, 50, 1, 3, 2, 'D', 'D');"
    "CREATE TABLE thread(id UINTEGER, utid UINTEGER, tid INT, name TEXT, upid UINTEGER);"
    "INSERT INTO thread VALUES (0, 0, 0, 'swapper', 0), (1, 1, 11, 'train', 1),"
    " (2, 2, 12, 'pt_DataLoader_0', 1), (3, 3, 21, 'nfsd', 2);"
    "CREATE TABLE process(id UINTEGER, upid UINTEGER, pid INT, name TEXT);"
    "INSERT INTO process VALUES (1, 1, 11, 'python3'), (2, 2, 21, 'nfs');";

TEST(Dialect, TheFourQueriesOfTheContract) {
  TestDatabase database(kTables);
  EXPECT_EQ(
      database.Rows("SELECT utid, SUM(dur) AS total_running FROM sched GROUP BY utid ORDER BY "
                    "total_running DESC LIMIT 10"),
      "utid|total_running\n3|50\n2|30\n1|15");
  EXPECT_EQ(database.Rows(
                "SELECT t.name AS thread_name, p.name AS process_name, SUM(s.dur) / 1000000 AS "
                "running_ms FROM sched s JOIN thread t ON s.utid = t.utid LEFT JOIN process p ON "
                "t.upid = p.upid WHERE t.name GLOB '*DataLoader*' GROUP BY t.utid ORDER BY "
                "running_ms DESC"),
            "thread_name|process_name|running_ms\npt_DataLoader_0|python3|0");
  EXPECT_EQ(
      database.Rows(
          "SELECT t.name AS thread_name, COUNT(DISTINCT s.id) AS io_wait_count, SUM(CASE WHEN "
          "s.thread_state = 'D' THEN 1 ELSE 0 END) AS uninterruptible_count FROM sched s JOIN "
          "thread t ON s.utid = t.utid GROUP BY t.utid ORDER BY io_wait_count DESC LIMIT 20"),
      "thread_name|io_wait_count|uninterruptible_count\ntrain|2|0\npt_DataLoader_0|1|1\n"
      "nfsd|1|1");
  EXPECT_EQ(
      database.Rows("SELECT p.name AS process_name, SUM(s.dur) / 1e9 AS total_running_sec FROM "
                    "sched s JOIN process p ON s.upid = p.upid GROUP BY s.upid ORDER BY "
                    "total_running_sec DESC"),
      "process_name|total_running_sec\nnfs|5e-08\npython3|4.5e-08");
}

// COUNT(DISTINCT) of a key is a plain count only while no join repeats the key's rows.
TEST(Dialect, DistinctIsDroppedOnlyWhereItChangesNothing) {
  TestDatabase database(kTables);
  const auto is_kept = [&](const std::string& from) {
    EXPECT_EQ(database.Rows("SELECT COUNT(DISTINCT s.id) AS n FROM " + from).rfind("error", 0),
              std::string::npos);
    return database.translation().sql.find("DISTINCT") != std::string::npos;
  };
  EXPECT_FALSE(is_kept("sched s"));
  EXPECT_FALSE(is_kept("sched s JOIN thread t ON s.utid = t.utid"));
  EXPECT_FALSE(is_kept("sched s JOIN thread t USING (utid) LEFT JOIN process p USING (upid)"));
  EXPECT_FALSE(is_kept("sched s, thread t WHERE t.utid = s.utid AND t.name = 'x'"));
  EXPECT_TRUE(is_kept("sched s JOIN thread t ON s.utid > t.utid"));
  EXPECT_TRUE(is_kept("sched s JOIN thread t ON s.utid = t.tid"));
  EXPECT_TRUE(is_kept("sched s JOIN thread t ON s.utid = t.utid OR t.utid = 1"));
  EXPECT_TRUE(is_kept("sched s, thread t"));
  EXPECT_TRUE(is_kept("(SELECT * FROM sched UNION ALL SELECT * FROM sched) s"));
  EXPECT_TRUE(is_kept("thread t JOIN sched s ON s.utid = t.utid JOIN sched o ON o.utid = t.utid"));
  EXPECT_EQ(database.Rows("SELECT COUNT(DISTINCT t.id) FROM sched s JOIN thread t USING (utid)"),
            "COUNT(DISTINCT t.id)\n3");
}

// Perfetto's sched has no upid; queries written for it must not find theirs ambiguous.
TEST(Dialect, OwnColumnsDoNotStandInTheWay) {
  TestDatabase database(kTables);
  EXPECT_EQ(
      database.Rows("SELECT upid, process.name, SUM(dur) FROM sched JOIN thread USING (utid) JOIN "
                    "process USING (upid) GROUP BY upid"),
      "upid|name|SUM(dur)\n1|python3|45\n2|nfs|50");
  EXPECT_EQ(database.Rows("SELECT upid, COUNT(*) FROM sched GROUP BY upid"),
            "upid|COUNT(*)\n1|3\n2|1");
  EXPECT_EQ(
      database.Rows("SELECT s.upid, t.name FROM sched s JOIN thread t USING (utid) WHERE s.id = 1"),
      "upid|name\n1|pt_DataLoader_0");
}

TEST(Dialect, EnumsAreTexts) {
  TestDatabase database(kTables);
  EXPECT_EQ(database.Rows("SELECT COUNT(*) AS n FROM sched WHERE end_state = 'no such state'"),
            "n\n0");
  EXPECT_EQ(database.Rows("SELECT id FROM sched WHERE end_state IN ('D', 'nothing') ORDER BY id"),
            "id\n1\n3");
  EXPECT_EQ(
      database.Rows("SELECT end_state || '!' AS x FROM sched WHERE end_state LIKE 'd' LIMIT 1"),
      "x\nD!");
  EXPECT_EQ(database.Rows("SELECT typeof(end_state) AS t FROM sched LIMIT 1"), "t\ntext");
}

// Columns keep their width in the tables; arithmetic has 64 bits.
TEST(Dialect, NarrowColumnsDoNotOverflow) {
  TestDatabase database(kTables);
  EXPECT_EQ(
      database.Rows("SELECT utid - 5 AS a, cpu * 1000000 AS b, -utid AS c FROM sched WHERE id = 0"),
      "a|b|c\n-4|0|-1");
  EXPECT_EQ(database.Rows("SELECT typeof(s) AS t, s FROM (SELECT SUM(cpu) AS s FROM sched)"),
            "t|s\ninteger|2");
}

TEST(Dialect, DistinctTextsAreJoinedInOrder) {
  TestDatabase database(kTables);
  EXPECT_EQ(database.Rows("SELECT GROUP_CONCAT(DISTINCT end_state) AS s, GROUP_CONCAT(DISTINCT "
                          "utid) AS u FROM sched"),
            "s|u\nD,R,S|1,2,3");
}

TEST(Dialect, SumsOverflowLoudly) {
  TestDatabase database(
      "CREATE TABLE big(v BIGINT); INSERT INTO big VALUES (9223372036854775807), (1);");
  EXPECT_EQ(database.Rows("SELECT SUM(v) FROM big").rfind("error: ", 0), 0U);
  EXPECT_EQ(database.Rows("SELECT SUM(v - 1) FROM big"), "SUM(v - 1)\n9223372036854775806");
}

TEST(Dialect, SelectsInsideOtherStatements) {
  TestDatabase database(kTables);
  EXPECT_EQ(
      database.Rows("CREATE TABLE totals AS SELECT utid, SUM(dur) AS total FROM sched GROUP BY "
                    "utid"),
      "Count\n3");
  EXPECT_EQ(database.Rows("SELECT utid, total / 2 AS half FROM totals ORDER BY utid"),
            "utid|half\n1|7\n2|15\n3|25");
  EXPECT_EQ(
      database.Rows("INSERT INTO totals SELECT 9, SUM(dur) FROM sched WHERE end_state GLOB 'D'"),
      "Count\n1");
  EXPECT_EQ(database.Rows("SELECT total FROM totals WHERE utid = 9"), "total\n80");
  EXPECT_EQ(database.Rows("CREATE TEMP VIEW v AS SELECT name, SUM(dur) AS s FROM sched JOIN thread "
                          "USING (utid) GROUP BY utid"),
            "Count");
  EXPECT_EQ(database.Rows("SELECT * FROM v WHERE name GLOB 'pt_*'"), "name|s\npt_DataLoader_0|30");
  EXPECT_EQ(database.Rows("CREATE TABLE typed(a INT, b REAL, c STRING)"), "Count");
  EXPECT_EQ(database.Rows("INSERT INTO typed VALUES (4000000000, 0.1, 'x')"), "Count\n1");
  EXPECT_EQ(database.Rows("SELECT a + 1 AS a, b, c FROM typed"), "a|b|c\n4000000001|0.1|x");
}

TEST(Dialect, ErrorsPointAtThePlaceInTheUsersSql) {
  TestDatabase database(kTables);
  const auto place = [&](const std::string& sql) {
    const std::string rows = database.Rows(sql);
    EXPECT_EQ(rows.rfind("error: ", 0), 0U) << sql << ": " << rows;
    const auto offset = database.ErrorOffset();
    return offset ? sql.substr(*offset) : "(nowhere)";
  };
  EXPECT_EQ(place("SELECT /* long */ SUM(dur) / 2.5,\n  nope FROM sched"), "nope FROM sched");
  EXPECT_EQ(place("SELECT * FROM sched WHERE t.name GLOB 'x*'"), "t.name GLOB 'x*'");
  EXPECT_EQ(place("SELECT dur FROM nosuch LIMIT 5, 10"), "nosuch LIMIT 5, 10");
  EXPECT_EQ(place("SELECT utid, nosuch(dur) FROM sched GROUP BY utid"),
            "nosuch(dur) FROM sched GROUP BY utid");
  EXPECT_EQ(place("SELECT dur FORM sched WHERE"), "sched WHERE");
  EXPECT_EQ(place("CREATE TABLE x AS SELECT wrong FROM sched"), "wrong FROM sched");
  EXPECT_EQ(place("SELECT \"d\" IS 1, 'é', wrong.x FROM sched"), "wrong.x FROM sched");
}

TEST(Dialect, MentionsAreCollected) {
  TestDatabase database(kTables);
  database.Rows(
      "WITH x AS (SELECT * FROM thread) SELECT (SELECT COUNT(*) FROM process), upper('a') FROM "
      "x JOIN SCHED USING (utid)");
  EXPECT_EQ(database.translation().tables, (std::set<std::string>{"process", "sched", "thread"}));
  EXPECT_TRUE(database.translation().functions.contains("upper"));
}

}  // namespace
}  // namespace culprit::query
