// Stored tables: what was appended is what DuckDB and our own reader see, NULLs, texts and order
// included; memory is bounded and given back.
#include "tables/column_store.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tables/appender.h"
#include "tables/stored_scan.h"

namespace culprit::tables {
namespace {

constexpr std::array<std::string_view, 1> kTable = {"t"};

class ColumnStoreTest : public testing::Test {
 protected:
  explicit ColumnStoreTest(std::uint64_t memory_limit_bytes = 0)
      : database_(Database::OpenInMemory({.threads = 4, .memory_limit_bytes = memory_limit_bytes})
                      .value()),
        connection_(database_.Connect().value()) {}

  void Make() {
    ASSERT_TRUE(connection_
                    .Execute("CREATE TABLE t (id INTEGER NOT NULL, ts BIGINT, cpu SMALLINT, flag "
                             "TINYINT, state ENUM('R', 'S', 'D'), name VARCHAR, value DOUBLE)")
                    .ok());
    const Status moved = MoveToStore(connection_, kTable);
    ASSERT_TRUE(moved.ok()) << moved.error().ToString();
  }

  // Rows as a formula of their id, in flushes of uneven size. NULL: ts where id % 3 == 0, name
  // where id % 5 == 0, flag everywhere.
  Status Append(std::int64_t first, std::int64_t count, std::int64_t flush_rows) {
    CULPRIT_ASSIGN(auto out, Appender::Open(database_, "t", static_cast<std::size_t>(count)));
    for (std::int64_t begin = 0; begin < count; begin += flush_rows) {
      const std::int64_t rows = std::min(flush_rows, count - begin);
      std::uint64_t nulls = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t id = first + begin + i;
        const auto row = static_cast<std::size_t>(i);
        out.Column<std::int32_t>(0)[row] = static_cast<std::int32_t>(id);
        out.Column<std::int64_t>(1)[row] = id * 1000;
        nulls |= static_cast<std::uint64_t>(id % 3 == 0) << (i % 64);
        if (i % 64 == 63 || i == rows - 1) {
          out.SetNulls(1, row / 64 * 64, std::exchange(nulls, 0));
        }
        out.Column<std::int16_t>(2)[row] = static_cast<std::int16_t>(id % 8);
        out.SetNull(3, row);
        out.SetEnum(4, row, static_cast<std::size_t>(id % 3));
        if (id % 5 == 0) {
          out.SetNull(5, row);
        } else {
          out.SetText(5, row, Name(id));
        }
        out.Column<double>(6)[row] = 0.5 * static_cast<double>(id);
      }
      CULPRIT_TRY(out.Flush(static_cast<std::size_t>(rows)));
    }
    return out.Close();
  }

  static std::string Name(std::int64_t id) {
    return (id % 2 == 0 ? "short" : "longer than twelve bytes ") + std::to_string(id % 7);
  }

  std::string One(const std::string& sql) {
    const auto text = connection_.QueryText(sql);
    return text.ok() ? *text : text.error().ToString();
  }

  Database database_;
  Connection connection_;
};

TEST_F(ColumnStoreTest, DuckDbReadsWhatWasAppended) {
  Make();
  constexpr std::int64_t kRows = 3 * 122'880 + 777;
  ASSERT_TRUE(Append(0, kRows, 2048).ok());
  EXPECT_EQ(One("SELECT count(*) FROM t"), std::to_string(kRows));
  EXPECT_EQ(One("SELECT count(*) FROM t WHERE ts IS NULL"), std::to_string((kRows + 2) / 3));
  EXPECT_EQ(
      One("SELECT count(*) FROM t WHERE (ts IS NULL) <> (id % 3 = 0) OR ts <> id * 1000 OR "
          "cpu <> id % 8 OR flag IS NOT NULL OR (name IS NULL) <> (id % 5 = 0) OR name <> CASE "
          "WHEN id % 2 = 0 THEN 'short' ELSE 'longer than twelve bytes ' END || id % 7 OR value "
          "<> id * 0.5 OR state::VARCHAR <> substr('RSD', id % 3 + 1, 1)"),
      "0");
  EXPECT_EQ(One("SELECT sum(id) FROM t"), std::to_string(kRows * (kRows - 1) / 2));
  EXPECT_EQ(One("SELECT count(DISTINCT name) FROM t"), "14");
  // Rows keep their order where nobody orders them.
  EXPECT_EQ(
      One("SELECT count(*) FROM (SELECT id, row_number() OVER () - 1 AS n FROM t) WHERE id <> "
          "n"),
      "0");
  EXPECT_EQ(One("SELECT string_agg(id, ' ' ORDER BY id) FROM t WHERE id % 100000 = 7"),
            "7 100007 200007 300007");
  EXPECT_EQ(One("SELECT id FROM t LIMIT 1 OFFSET 300000"), "300000");
  ASSERT_TRUE(connection_.Execute("CREATE TABLE copy AS FROM t").ok());
  EXPECT_EQ(One("SELECT count(*) FROM copy WHERE id <> rowid"), "0");
}

// Blocks of a stream are not full when a row left late: bits of NULLs then begin anywhere.
TEST_F(ColumnStoreTest, FlushesOfAnySize) {
  Make();
  std::int64_t rows = 0;
  for (const std::int64_t flush_rows : {1, 7, 63, 64, 65, 1000, 2047}) {
    ASSERT_TRUE(Append(rows, 5 * flush_rows + 3, flush_rows).ok());
    rows += 5 * flush_rows + 3;
  }
  EXPECT_EQ(One("SELECT count(*) FROM t"), std::to_string(rows));
  EXPECT_EQ(
      One("SELECT count(*) FROM t WHERE (ts IS NULL) <> (id % 3 = 0) OR (name IS NULL) <> (id "
          "% 5 = 0) OR ts <> id * 1000 OR flag IS NOT NULL"),
      "0");
}

TEST_F(ColumnStoreTest, OwnReader) {
  Make();
  ASSERT_TRUE(Append(0, 200'000, 2048).ok());
  const auto table = database_.store()->Find("t");
  ASSERT_NE(table, nullptr);
  const std::size_t id = table->ColumnIndex("id");
  const std::size_t name = table->ColumnIndex("name");
  std::int64_t next = 0;
  for (const auto& chunk : table->chunks()) {
    const auto ids = chunk->Values<std::int32_t>(id);
    ASSERT_EQ(ids.size(), chunk->rows());
    for (std::size_t row = 0; row < ids.size(); ++row, ++next) {
      ASSERT_EQ(ids[row], next);
      ASSERT_EQ(chunk->IsNull(name, row), next % 5 == 0);
      ASSERT_TRUE(next % 5 == 0 || chunk->Text(name, row) == Name(next)) << next;
    }
  }
  EXPECT_EQ(next, 200'000);
}

TEST_F(ColumnStoreTest, WhatIsNotClosedIsNotThere) {
  Make();
  {
    auto out = Appender::Open(database_, "t");
    ASSERT_TRUE(out.ok());
    out->Column<std::int32_t>(0)[0] = 1;
    ASSERT_TRUE(out->Flush(1).ok());
  }
  EXPECT_EQ(One("SELECT count(*) FROM t"), "0");
  EXPECT_EQ(database_.store()->used_bytes(), 0U);
  ASSERT_TRUE(Append(0, 10, 10).ok());
  EXPECT_EQ(One("SELECT count(*) FROM t"), "10");
  EXPECT_GT(database_.store()->used_bytes(), 0U);
}

TEST_F(ColumnStoreTest, DroppedTablesAreGoneAndGiveMemoryBack) {
  Make();
  ASSERT_TRUE(Append(0, 1000, 1000).ok());
  ASSERT_TRUE(DropStored(connection_, kTable).ok());
  EXPECT_EQ(database_.store()->used_bytes(), 0U);
  EXPECT_FALSE(connection_.Query("FROM t").ok());
  EXPECT_FALSE(connection_.Query("FROM stored_rows('t')").ok());
  EXPECT_TRUE(DropStored(connection_, kTable).ok());  // nothing to do
  Make();
  EXPECT_EQ(One("SELECT count(*) FROM t"), "0");
}

// A result that is read while it is computed keeps what it reads.
TEST_F(ColumnStoreTest, ReadersKeepTheirChunks) {
  Make();
  ASSERT_TRUE(Append(0, 300'000, 2048).ok());
  auto other = database_.Connect().value();
  auto result = other.Query("SELECT name FROM t WHERE id % 7 = 1", {}, Fetch::kStreaming);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(DropStored(connection_, kTable).ok());
  std::int64_t id = 1;
  for (;;) {
    const auto more = result->Next();
    ASSERT_TRUE(more.ok());
    if (!*more) break;
    for (std::size_t row = 0; row < result->chunk_rows(); ++row, id += 7) {
      ASSERT_EQ(result->IsNull(0, row), id % 5 == 0);
      ASSERT_TRUE(id % 5 == 0 || result->Text(0, row) == Name(id)) << id;
    }
  }
  EXPECT_EQ(id, 300'000 / 7 * 7 + 1);
}

TEST_F(ColumnStoreTest, PlansThatReadATableOften) {
  Make();
  ASSERT_TRUE(Append(0, 50'000, 2048).ok());
  EXPECT_EQ(
      One("WITH x AS (SELECT id, cpu FROM t WHERE id < 100) SELECT count(*) FROM x a JOIN x b "
          "USING (cpu)"),
      "1252");  // 4 CPUs with 13 ids, 4 with 12
  EXPECT_EQ(One("WITH x AS NOT MATERIALIZED (SELECT id FROM t) SELECT (SELECT max(id) FROM x) - "
                "(SELECT count(*) FROM x)"),
            "-1");
  EXPECT_EQ(One("SELECT sum((SELECT count(*) FROM t b WHERE b.id < a.id)) FROM t a WHERE a.id < 4"),
            "6");
  auto statement = connection_.Prepare("SELECT count(*) FROM t WHERE cpu = ?");
  ASSERT_TRUE(statement.ok());
  for (const std::int64_t cpu : {0, 7}) {
    const Value value = cpu;
    auto result = statement->Run({&value, 1});
    ASSERT_TRUE(result.ok());
    ASSERT_TRUE(result->Next().value());
    EXPECT_EQ(result->Integer(0, 0), 50'000 / 8);
  }
  const auto missing = connection_.Query("FROM stored_rows('nothing')");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().what.find("nothing"), std::string::npos);
}

class SmallColumnStoreTest : public ColumnStoreTest {
 protected:
  SmallColumnStoreTest() : ColumnStoreTest(std::uint64_t{64} << 20) {}
};

TEST_F(SmallColumnStoreTest, MemoryIsBounded) {
  Make();
  Status status;
  std::int64_t rows = 0;
  while (status.ok() && rows < 100'000'000) {
    status = Append(rows, 122'880, 2048);
    rows += 122'880;
  }
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("64 MiB"), std::string::npos) << status.error().what;
  EXPECT_FALSE(status.error().remedy.empty());
  EXPECT_LE(database_.store()->used_bytes(), std::size_t{64} << 20);
}

}  // namespace
}  // namespace culprit::tables
