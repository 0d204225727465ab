// Owners of DuckDB's handles: values, errors with their place, interruption, appenders.
#include "tables/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <thread>

#include "tables/appender.h"
#include "tables/sql_place.h"

namespace culprit::tables {
namespace {

Connection Connect() {
  auto database = Database::OpenInMemory();
  EXPECT_TRUE(database.ok());
  auto connection = database->Connect();
  EXPECT_TRUE(connection.ok());
  return std::move(connection).value();
}

// The only value of a query as text.
std::string One(Connection& connection, std::string_view sql) {
  auto text = connection.Query(sql);
  if (!text.ok()) return text.error().ToString();
  auto any = text->Next();
  return any.ok() && *any ? text->ToText(0, 0) : "no row";
}

TEST(Database, ValuesAsText) {
  auto connection = Connect();
  const std::pair<const char*, const char*> cases[] = {
      {"SELECT 9223372036854775807", "9223372036854775807"},
      {"SELECT sum(9223372036854775807) FROM range(2)", "18446744073709551614"},
      {"SELECT (-170141183460469231731687303715884105728)::HUGEINT",
       "-170141183460469231731687303715884105728"},
      {"SELECT 340282366920938463463374607431768211455::UHUGEINT",
       "340282366920938463463374607431768211455"},
      {"SELECT 18446744073709551615::UBIGINT", "18446744073709551615"},
      {"SELECT -0.05::DECIMAL(10,3)", "-0.050"},
      {"SELECT 12345.678::DECIMAL(30,3)", "12345.678"},
      {"SELECT 0.1::DOUBLE", "0.1"},
      {"SELECT -3.0::DOUBLE", "-3.0"},
      {"SELECT 1e300::DOUBLE", "1e+300"},
      {"SELECT 16777216::FLOAT", "16777216.0"},
      {"SELECT 0.1::FLOAT", "0.1"},
      {"SELECT 'inf'::DOUBLE", "inf"},
      {"SELECT NULL", "NULL"},
      {"SELECT NULL::BIGINT", "NULL"},
      {"SELECT true", "true"},
      {"SELECT 'D'::ENUM('S', 'D')", "D"},
      {"SELECT 'a\"b'", "a\"b"},
      {"SELECT '\\x00\\x41\\xFF'::BLOB", "\\x00A\\xFF"},
      {"SELECT DATE '2024-02-29'", "2024-02-29"},
      {"SELECT TIME '12:34:56.000789'", "12:34:56.000789"},
      {"SELECT TIMESTAMP '1969-12-31 23:59:59.5'", "1969-12-31 23:59:59.500000"},
      {"SELECT TIMESTAMP_NS '1970-01-01 00:00:01.000000002'", "1970-01-01 00:00:01.000000002"},
      {"SELECT uuid '00112233-4455-6677-8899-aabbccddeeff'",
       "00112233-4455-6677-8899-aabbccddeeff"},
      {"SELECT '10110'::BIT", "10110"},
      {"SELECT [1, NULL, 3]", "[1,null,3]"},
      {"SELECT {'a': 'x\"y', 'b': [true]}", "{\"a\":\"x\\\"y\",\"b\":[true]}"},
      {"SELECT MAP {'k': 1}", "{\"k\":1}"},
      {"SELECT [1.5, 2.5]::DOUBLE[2]", "[1.5,2.5]"},
      {"SELECT union_value(n := 7)", "7"},
  };
  for (const auto& [sql, expected] : cases) EXPECT_EQ(One(connection, sql), expected) << sql;
}

TEST(Database, TypedValues) {
  auto connection = Connect();
  auto result = connection.Query(
      "SELECT 5::UTINYINT, -5::SMALLINT, 1e300, 'DK'::ENUM('D', 'DK'), true, NULL::VARCHAR, "
      "(2^70)::HUGEINT, 2.5::DECIMAL(4,1)");
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->Next().value());
  EXPECT_EQ(result->chunk_rows(), 1U);
  EXPECT_EQ(result->Integer(0, 0), 5);
  EXPECT_EQ(result->Integer(1, 0), -5);
  EXPECT_EQ(result->Number(2, 0), 1e300);
  EXPECT_EQ(result->Text(3, 0), "DK");
  EXPECT_TRUE(result->Bool(4, 0));
  EXPECT_TRUE(result->IsNull(5, 0));
  EXPECT_EQ(result->Text(5, 0), "");
  EXPECT_EQ(result->Integer(6, 0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(result->Number(7, 0), 2.5);
  EXPECT_EQ(result->kind(3), ColumnKind::kText);
  EXPECT_EQ(result->kind(6), ColumnKind::kWide);
  EXPECT_EQ(result->TypeName(3), "ENUM('D', 'DK')");
  EXPECT_EQ(result->TypeName(7), "DECIMAL(4,1)");
  EXPECT_FALSE(result->Next().value());
}

TEST(Database, ParametersAreBound) {
  auto connection = Connect();
  const Value values[] = {std::int64_t{1} << 60, std::string_view("it's"), std::monostate{}, 0.5,
                          true};
  auto result = connection.Query("SELECT ?, ?, ?, ?, ?", values);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->Next().value());
  EXPECT_EQ(result->Integer(0, 0), std::int64_t{1} << 60);
  EXPECT_EQ(result->Text(1, 0), "it's");
  EXPECT_TRUE(result->IsNull(2, 0));
  EXPECT_EQ(result->Number(3, 0), 0.5);
  EXPECT_TRUE(result->Bool(4, 0));
  EXPECT_FALSE(connection.Query("SELECT ?").ok());

  auto statement = connection.Prepare("SELECT $1 + 1");
  ASSERT_TRUE(statement.ok());
  for (std::int64_t i = 0; i < 3; ++i) {
    const Value value = i;
    auto row = statement->Run({&value, 1});
    ASSERT_TRUE(row.ok());
    ASSERT_TRUE(row->Next().value());
    EXPECT_EQ(row->Integer(0, 0), i + 1);
  }
}

TEST(Database, ErrorsPointAtThePlace) {
  auto connection = Connect();
  const auto syntax = connection.Query("SELECT 1;\nSELECT * FORM t");
  ASSERT_FALSE(syntax.ok());
  // DuckDB takes FORM for a name of the column and stumbles over what follows.
  EXPECT_EQ(syntax.error().place, "LINE 2: SELECT * FORM t\n                      ^");
  EXPECT_EQ(connection.last_error().type, "Parser");
  EXPECT_EQ(connection.last_error().offset, 24U);
  ASSERT_FALSE(connection.Query("SELECT '\xC3\xA4' FORM t").ok());
  EXPECT_EQ(connection.last_error().offset, 17U);  // bytes, though the parser counts characters
  ASSERT_FALSE(connection.Query("SELECT '\xC3\xA4', nothing FROM range(3)").ok());
  EXPECT_EQ(connection.last_error().offset, 13U);

  const auto column = connection.Query("SELECT nothing FROM range(3)");
  ASSERT_FALSE(column.ok());
  EXPECT_EQ(column.error().place, "SELECT nothing FROM range(3)\n       ^");
  EXPECT_EQ(column.error().what.find('\n'), std::string::npos) << column.error().what;
  const auto second = connection.Query("SELECT 1; SELECT nothing FROM range(3)");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().place, "SELECT 1; SELECT nothing FROM range(3)\n                 ^");

  const auto table = connection.Execute("SELECT 1 FROM missing_table");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().place, "SELECT 1 FROM missing_table\n              ^");
  const auto run_time = connection.Query("SELECT 'x'::INTEGER");
  ASSERT_FALSE(run_time.ok());
  EXPECT_EQ(connection.last_error().type, "Conversion");
}

TEST(Database, PlaceInLongAndForeignText) {
  EXPECT_EQ(PointAt("a\tb\nc", 2), "LINE 1: a b\n          ^");
  EXPECT_EQ(PointAt("\xC3\xA4 x", 3),
            "\xC3\xA4 x\n  ^");  // one column for the two bytes of a-umlaut
  const std::string text = std::string(300, 'x') + "!" + std::string(300, 'y');
  const std::string place = PointAt(text, 300);
  const auto newline = place.find('\n');
  ASSERT_NE(newline, std::string::npos);
  EXPECT_LT(newline, 120U);
  EXPECT_EQ(place[place.size() - newline - 2], '!');
  EXPECT_EQ(PointAt("abc", 99), "abc\n   ^");
  EXPECT_EQ(PointAt("", 0), "\n^");
}

TEST(Database, StreamingGivesEveryRowAndItsErrors) {
  auto connection = Connect();
  auto result = connection.Query("SELECT range FROM range(100000)", {}, Fetch::kStreaming);
  ASSERT_TRUE(result.ok());
  std::int64_t rows = 0, sum = 0;
  for (;;) {
    auto more = result->Next();
    ASSERT_TRUE(more.ok());
    if (!*more) break;
    for (std::size_t row = 0; row < result->chunk_rows(); ++row) sum += result->Integer(0, row);
    rows += static_cast<std::int64_t>(result->chunk_rows());
  }
  EXPECT_EQ(rows, 100000);
  EXPECT_EQ(sum, 99999LL * 100000 / 2);

  // The error comes at a row that a streaming result reaches late.
  auto late = connection.Query(
      "SELECT CASE WHEN range < 90000 THEN '1' ELSE 'x' END::INTEGER FROM range(100000)", {},
      Fetch::kStreaming);
  bool failed = !late.ok();
  while (!failed) {
    auto more = late->Next();
    failed = !more.ok();
    if (more.ok() && !*more) break;
  }
  EXPECT_TRUE(failed);
}

TEST(Database, InterruptEndsTheQueryAndNotTheConnection) {
  auto connection = Connect();
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      connection.Interrupt();
      static_cast<void>(connection.ProgressPct());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const auto result = connection.Query(
      "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE "
      "(a.range * b.range) % 7 = 3");
  done = true;
  other.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(connection.last_error().type, "Interrupt");
  EXPECT_EQ(connection.QueryInteger("SELECT 42").value(), 42);
}

TEST(Database, ProgressOfALongQueryIsKnown) {
  auto connection = Connect();
  ASSERT_TRUE(connection.EnableProgress().ok());
  ASSERT_TRUE(connection.Execute("CREATE TABLE t AS SELECT range AS i FROM range(3000000)").ok());
  std::atomic<bool> done = false, seen = false;
  std::thread other([&] {
    while (!done) {
      if (connection.ProgressPct()) {
        seen = true;
        connection.Interrupt();
      }
      std::this_thread::yield();
    }
  });
  // Long enough to be seen on any machine; cut short once it was.
  static_cast<void>(connection.Query("SELECT count(*) FROM t a, t b WHERE (a.i * b.i) % 7 = 3"));
  done = true;
  other.join();
  EXPECT_TRUE(seen);
}

TEST(Database, NothingIsFetchedFromTheNetwork) {
  auto connection = Connect();
  EXPECT_FALSE(connection.Query("SELECT * FROM 'https://localhost:1/x.parquet'").ok());
  EXPECT_FALSE(connection.Execute("INSTALL httpfs").ok());
}

TEST(Database, Files) {
  const auto directory = std::filesystem::temp_directory_path() / "culprit_database_test";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  const std::string path = directory / "x:y.duckdb";
  {
    auto database = Database::OpenFile(path, FileMode::kCreate);
    ASSERT_TRUE(database.ok()) << database.error().ToString();
    auto connection = database->Connect();
    ASSERT_TRUE(connection->Execute("CREATE TABLE t AS SELECT 7 AS x").ok());
    EXPECT_FALSE(Database::OpenFile(path, FileMode::kCreate).ok());
  }
  {
    auto database = Database::OpenFile(path, FileMode::kReadOnly);
    ASSERT_TRUE(database.ok()) << database.error().ToString();
    auto connection = database->Connect();
    EXPECT_EQ(connection->QueryInteger("SELECT x FROM t").value(), 7);
    EXPECT_FALSE(connection->Execute("CREATE TABLE u (x INTEGER)").ok());
  }
  EXPECT_FALSE(Database::OpenFile(directory / "missing.duckdb", FileMode::kReadOnly).ok());
  std::filesystem::remove_all(directory);
}

TEST(Appender, WritesChunksWithNullsAndText) {
  auto database = Database::OpenInMemory();
  auto connection = database->Connect();
  ASSERT_TRUE(connection
                  ->Execute("CREATE TABLE t (id BIGINT, cpu UTINYINT, state ENUM('S', 'D'), name "
                            "VARCHAR, value DOUBLE)")
                  .ok());
  auto appender = Appender::Open(*database, "t");
  ASSERT_TRUE(appender.ok()) << appender.error().ToString();
  EXPECT_EQ(appender->column_count(), 5U);
  EXPECT_EQ(appender->ColumnIndex("name"), 3U);
  const std::size_t total = 3 * Appender::kChunkRows + 11;
  std::size_t row = 0;
  for (std::size_t i = 0; i < total; ++i) {
    appender->Column<std::int64_t>(0)[row] = static_cast<std::int64_t>(i);
    appender->Column<std::uint8_t>(1)[row] = static_cast<std::uint8_t>(i % 200);
    appender->Column<std::uint8_t>(2)[row] = i % 2;
    if (i % 3 == 0) {
      appender->SetNull(3, row);
    } else {
      appender->SetText(3, row, i % 3 == 1 ? "short" : "a text that is longer than twelve");
    }
    appender->Column<double>(4)[row] = 0.5;
    if (++row == Appender::kChunkRows) {
      ASSERT_TRUE(appender->Flush(row).ok());
      row = 0;
    }
  }
  appender->SetText(3, row - 1, "bad \xFF byte");
  ASSERT_TRUE(appender->Flush(row).ok());
  ASSERT_TRUE(appender->Close().ok());
  EXPECT_EQ(One(*connection, "SELECT count(*) FROM t"), std::to_string(total));
  EXPECT_EQ(One(*connection, "SELECT sum(id) FROM t"), std::to_string(total * (total - 1) / 2));
  EXPECT_EQ(One(*connection, "SELECT count(*) FROM t WHERE name IS NULL AND id % 3 <> 0"), "0");
  EXPECT_EQ(One(*connection, "SELECT count(*) FROM t WHERE state = 'D'"),
            std::to_string(total / 2));
  EXPECT_EQ(One(*connection, "SELECT name FROM t ORDER BY id DESC LIMIT 1"),
            "bad \xEF\xBF\xBD byte");
  EXPECT_FALSE(Appender::Open(*database, "missing").ok());
}

TEST(Appender, Utf8) {
  EXPECT_EQ(ToUtf8("plain \xE2\x82\xAC \xF0\x9F\x98\x80"), "plain \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(ToUtf8("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(ToUtf8("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(ToUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
  EXPECT_EQ(ToUtf8("a\xE2\x82"), "a" + bad + bad);               // cut
}

}  // namespace
}  // namespace culprit::tables
