#include "query/engine.h"

#include <gtest/gtest.h>

#include "query/modules.h"
#include "query/test_database.h"
#include "tables/schema.h"

namespace culprit::query {
namespace {

class EngineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto database = tables::Database::OpenInMemory({.threads = 2});
    ASSERT_TRUE(database.ok()) << database.error().what;
    database_.emplace(std::move(*database));
    auto connection = database_->Connect();
    ASSERT_TRUE(connection.ok());
    const Status made = tables::CreateSchema(*connection);
    ASSERT_TRUE(made.ok()) << made.error().what;
    auto engine = Engine::Open(*database_, "", nullptr);
    ASSERT_TRUE(engine.ok()) << engine.error().ToString();
    engine_ = std::move(*engine);
  }

  std::string Rows(std::string_view sql) {
    auto result = engine_->Run(sql);
    if (!result.ok()) return "error: " + result.error().ToString();
    return result->has_rows() ? TestDatabase::Text(*result) : "done";
  }
  // Where the last error lies.
  std::string Place(std::string_view sql) {
    const std::string rows = Rows(sql);
    EXPECT_EQ(rows.substr(0, 6), "error:") << sql << ": " << rows;
    const auto offset = engine_->error_offset();
    return offset ? std::string(sql.substr(*offset)) : "(nowhere)";
  }

  std::optional<tables::Database> database_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, RunsSeveralStatements) {
  EXPECT_EQ(Rows("CREATE TABLE t(a INT); INSERT INTO t VALUES (5), (7);; SELECT SUM(a) FROM t;"),
            "SUM(a)\n12");
  std::string seen;
  const Status run = engine_->Run(
      "SELECT 1 AS a; -- one; two\nSELECT ';' AS b; CREATE TABLE u AS SELECT 1",
      [&](tables::QueryResult& result) -> Status {
        seen += TestDatabase::Text(result) + ";";
        return {};
      },
      tables::Fetch::kStreaming);
  EXPECT_TRUE(run.ok());
  EXPECT_EQ(seen, "a\n1;b\n;;");
  EXPECT_EQ(Place("SELECT 1; SELECT 'open"), "'open");
  EXPECT_EQ(Place("SELECT 1; SELECT nope; SELECT 2"), "nope; SELECT 2");
}

// The examples of Perfetto's documentation of the syntax, with what they say they give.
TEST_F(EngineTest, FunctionsTablesAndViews) {
  EXPECT_EQ(Rows("CREATE PERFETTO FUNCTION constant_fn() RETURNS LONG AS SELECT 1;"
                 "CREATE PERFETTO FUNCTION add(x LONG, y LONG) RETURNS LONG AS SELECT $x + $y;"
                 "SELECT constant_fn() AS a, add(2000000000, 2000000000) AS b, add(1, NULL) AS c"),
            "a|b|c\n1|4000000000|");
  EXPECT_EQ(Rows("CREATE PERFETTO FUNCTION constant_tab_fn() RETURNS TABLE(ts LONG, dur LONG) AS "
                 "SELECT column1 as ts, column2 as dur FROM (VALUES (100, 10), (200, 20));"
                 "SELECT ts + dur AS ts_end FROM constant_tab_fn() ORDER BY 1"),
            "ts_end\n110\n220");
  EXPECT_EQ(Rows("CREATE PERFETTO TABLE foo(x LONG, y STRING) AS SELECT 1 as x, 'test' as y;"
                 "CREATE PERFETTO VIEW v(a LONG) AS SELECT x + 1 FROM foo;"
                 "CREATE PERFETTO INDEX i ON foo(x, y); DROP PERFETTO INDEX i;"
                 "SELECT * FROM foo JOIN v ON v.a = foo.x + 1"),
            "x|y|a\n1|test|2");
  EXPECT_EQ(Rows("CREATE OR REPLACE PERFETTO TABLE foo AS SELECT 3 AS z; SELECT * FROM foo"),
            "z\n3");
  EXPECT_EQ(
      Rows("DROP PERFETTO VIEW v; DROP PERFETTO TABLE foo; DROP PERFETTO TABLE IF EXISTS foo"),
      "done");
  EXPECT_EQ(Place("SELECT x FROM foo"), "foo");
}

// The name of an argument's column may be one of the function's own.
TEST_F(EngineTest, ArgumentsStayWhatTheyWere) {
  EXPECT_EQ(
      Rows(
          "CREATE TABLE t(id INT, n INT); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);"
          "CREATE PERFETTO FUNCTION smaller(n LONG) RETURNS LONG AS SELECT COUNT(*) FROM t WHERE "
          "t.n < $n;"
          "CREATE PERFETTO FUNCTION plus_count(n LONG) RETURNS LONG AS SELECT $n + COUNT(*) FROM t;"
          "CREATE PERFETTO FUNCTION others(id LONG) RETURNS TABLE(o LONG) AS SELECT id FROM t "
          "WHERE id != $id;"
          "SELECT id, n, smaller(n) AS s, plus_count(t.n) AS p FROM t ORDER BY id"),
      "id|n|s|p\n1|10|0|13\n2|20|1|23\n3|30|2|33");
  EXPECT_EQ(Rows("SELECT t.id, o FROM t, others(t.id) WHERE id > 1 ORDER BY 1, 2"),
            "id|o\n2|1\n2|3\n3|1\n3|2");
  EXPECT_EQ(Rows("SELECT SUM(smaller(n)) AS s FROM t"), "s\n3");
}

TEST_F(EngineTest, Macros) {
  EXPECT_EQ(Rows("CREATE PERFETTO MACRO constant_macro() RETURNS Expr AS (SELECT 1);"
                 "CREATE PERFETTO MACRO single_arg_macro(x Expr) RETURNS Expr AS (SELECT $x);"
                 "SELECT constant_macro!() + single_arg_macro!(100) AS v"),
            "v\n101");
  EXPECT_EQ(Rows("CREATE PERFETTO MACRO multi(x TableOrSubquery, y Expr) RETURNS TableOrSubquery AS"
                 "(SELECT input_tab.input_col + $y AS r FROM $x AS input_tab);"
                 "SELECT r FROM multi!((SELECT 5 AS input_col), single_arg_macro!(2))"),
            "r\n7");
  EXPECT_EQ(Rows("SELECT cast_int!('12') + 1 AS i, typeof(cast_string!(5)) AS t, cast_double!(3) / "
                 "2 AS d"),
            "i|t|d\n13|text|1.5");
  EXPECT_EQ(Place("SELECT singel_arg_macro!(1)"), "singel_arg_macro!(1)");
  EXPECT_EQ(Place("SELECT single_arg_macro!(1, 2)"), "single_arg_macro!(1, 2)");
  EXPECT_EQ(Place("SELECT 1 + single_arg_macro!(nope)"), "nope)");
  EXPECT_EQ(Rows("CREATE PERFETTO MACRO again(x Expr) RETURNS Expr AS again!($x)"), "done");
  EXPECT_EQ(Place("SELECT again!(1)"), "again!(1)");
  EXPECT_EQ(Place("CREATE PERFETTO MACRO again(x Expr) RETURNS Expr AS 1"),
            "again(x Expr) RETURNS Expr AS 1");
}

TEST_F(EngineTest, ErrorsOfPerfettoStatements) {
  EXPECT_EQ(Place("INCLUDE PERFETTO MODULE linux.cpu.freqency"), "linux.cpu.freqency");
  EXPECT_NE(Rows("INCLUDE PERFETTO MODULE linux.cpu.freqency").find("linux.cpu.frequency"),
            std::string::npos);
  EXPECT_EQ(Place("SELECT RUN_METRIC('x.sql')"), "RUN_METRIC('x.sql')");
  EXPECT_EQ(Place("CREATE PERFETTO TABLE AS SELECT 1"), "SELECT 1");
  EXPECT_EQ(Place("CREATE PERFETTO FUNCTION f(x LUNG) RETURNS LONG AS SELECT 1"),
            "LUNG) RETURNS LONG AS SELECT 1");
  EXPECT_EQ(Place("CREATE PERFETTO TABLE t(a LONG, b LONG) AS SELECT 1"),
            "t(a LONG, b LONG) AS SELECT 1");
  EXPECT_EQ(Place("CREATE PERFETTO VIEW v AS SELECT nope FROM thread"), "nope FROM thread");
  EXPECT_EQ(Place("CREATE VIRTUAL TABLE s USING SPAN_JOIN(thread, process)"),
            "s USING SPAN_JOIN(thread, process)");
  // A table of a module that is not included.
  EXPECT_NE(Rows("SELECT * FROM thread_slice").find("INCLUDE PERFETTO MODULE slices.with_context"),
            std::string::npos);
}

TEST_F(EngineTest, EveryModuleCanBeIncluded) {
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE *"), "done");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE linux.cpu.*; INCLUDE PERFETTO MODULE sched.states"),
            "done");
  for (const char* name :
       {"sched.runnable", "sched.latency", "sched.states", "sched.time_in_state",
        "sched.thread_level_parallelism", "sched.with_context", "slices.with_context",
        "linux.cpu.frequency", "linux.cpu.idle", "linux.cpu.utilization.general",
        "linux.cpu.utilization.process", "linux.cpu.utilization.system",
        "linux.cpu.utilization.thread", "linux.cpu.utilization.slice", "linux.memory.process",
        "intervals.overlap", "counters.intervals"}) {
    EXPECT_EQ(FindModules(name).size(), 1U) << name;
  }
}

// Rows drawn by hand from the picture in span_join.h.
TEST_F(EngineTest, SpanJoins) {
  Rows(
      "CREATE TABLE a(ts BIGINT, dur BIGINT, cpu BIGINT, x TEXT);"
      "INSERT INTO a VALUES (10, 10, 0, 'A'), (30, 10, 0, 'B'), (5, 100, 1, 'C');"
      "CREATE TABLE b(ts BIGINT, dur BIGINT, cpu BIGINT, y TEXT);"
      "INSERT INTO b VALUES (15, 20, 0, 'X'), (50, 5, 0, 'Y'), (0, 10, 2, 'Z');");
  EXPECT_EQ(Rows("CREATE VIRTUAL TABLE i USING SPAN_JOIN(a PARTITIONED cpu, b PARTITIONED cpu);"
                 "SELECT * FROM i ORDER BY cpu, ts"),
            "ts|dur|cpu|x|y\n15|5|0|A|X\n30|5|0|B|X");
  EXPECT_EQ(
      Rows("CREATE VIRTUAL TABLE l USING span_left_join(a PARTITIONED cpu, b PARTITIONED cpu);"
           "SELECT * FROM l ORDER BY cpu, ts"),
      "ts|dur|cpu|x|y\n10|5|0|A|\n15|5|0|A|X\n30|5|0|B|X\n35|5|0|B|\n5|100|1|C|");
  EXPECT_EQ(
      Rows("CREATE VIRTUAL TABLE o USING SPAN_OUTER_JOIN(a PARTITIONED cpu, b PARTITIONED cpu);"
           "SELECT * FROM o ORDER BY cpu, ts"),
      "ts|dur|cpu|x|y\n10|5|0|A|\n15|5|0|A|X\n20|10|0||X\n30|5|0|B|X\n35|5|0|B|\n50|5|0||Y\n"
      "5|100|1|C|\n0|10|2||Z");
  // One side without partitions holds for all of the other's.
  EXPECT_EQ(Rows("CREATE VIEW w AS SELECT 12 AS ts, 20 AS dur, 'W' AS z;"
                 "CREATE VIRTUAL TABLE m USING SPAN_JOIN(a PARTITIONED cpu, w); SELECT * FROM m "
                 "ORDER BY cpu, ts"),
            "ts|dur|cpu|x|z\n12|8|0|A|W\n30|2|0|B|W\n12|20|1|C|W");
  EXPECT_EQ(Rows("CREATE VIEW u AS SELECT ts, dur, y FROM b WHERE cpu = 0;"
                 "CREATE VIRTUAL TABLE n USING SPAN_JOIN(w, u); SELECT * FROM n"),
            "ts|dur|z|y\n15|17|W|X");
}

// As trace_processor's own test of spans without a length (its double row for the two that begin
// together at 5 aside).
TEST_F(EngineTest, SpanJoinsOfInstants) {
  EXPECT_EQ(
      Rows(
          "CREATE TABLE t1(ts BIGINT, dur BIGINT, part BIGINT);"
          "INSERT INTO t1 VALUES (1, 0, 0), (5, -1, 0), (2, 0, 1);"
          "CREATE TABLE t2(ts BIGINT, dur BIGINT, part BIGINT);"
          "INSERT INTO t2 VALUES (1, 2, 0), (5, 0, 0), (1, 1, 1);"
          "CREATE VIRTUAL TABLE sp USING span_outer_join(t1 PARTITIONED part, t2 PARTITIONED part);"
          "SELECT ts, dur, part FROM sp"),
      "ts|dur|part\n1|0|0\n1|2|0\n5|-1|0\n1|1|1\n2|0|1");
}

TEST_F(EngineTest, ReadsColumnsAnewAfterChanges) {
  EXPECT_EQ(Rows("CREATE TABLE t AS SELECT 1 AS a; SELECT \"a\" FROM t"), "a\n1");
  EXPECT_EQ(Rows("CREATE OR REPLACE TABLE t AS SELECT 2 AS b; SELECT \"a\", b FROM t"), "a|b\na|2");
  // What is known of a trace's thread table does not hold for the user's.
  EXPECT_EQ(Rows("CREATE OR REPLACE TABLE irq AS SELECT 1 AS id UNION ALL SELECT 1;"
                 "SELECT COUNT(DISTINCT id) AS n FROM irq"),
            "n\n1");
}

}  // namespace
}  // namespace culprit::query
