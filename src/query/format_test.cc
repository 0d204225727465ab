// Output formats: exact for values that are hard for them.
#include "query/format.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "query/parquet.h"
#include "tables/database.h"

namespace culprit::query {
namespace {

class FormatTest : public testing::Test {
 protected:
  FormatTest()
      : database_(tables::Database::OpenInMemory().value()),
        connection_(database_.Connect().value()),
        path_(std::filesystem::temp_directory_path() /
              ("culprit_format_" + std::to_string(getpid()))) {}
  ~FormatTest() override { std::filesystem::remove(path_); }

  std::string Write(std::string_view sql, Format format) {
    auto result = connection_.Query(sql);
    EXPECT_TRUE(result.ok()) << result.error().ToString();
    if (!result.ok()) return "";
    {
      auto fd = OpenFile(path_, O_CREAT | O_TRUNC | O_WRONLY, 0600);
      Output output(fd->get(), path_);
      const auto rows = WriteRows(*result, format, output);
      EXPECT_TRUE(rows.ok());
      EXPECT_TRUE(output.Finish().ok());
    }
    return ReadFile(path_).value();
  }

  tables::Database database_;
  tables::Connection connection_;
  std::string path_;
};

constexpr const char* kHard =
    "SELECT * FROM (VALUES (9223372036854775807, 'a,b', 0.1), (NULL, NULL, NULL), "
    "(-1, '', 'nan'::DOUBLE), (0, 'say \"x\"' || chr(10) || 'y|z', 2)) AS t(i, s, \"d d\")";

TEST_F(FormatTest, Csv) {
  EXPECT_EQ(Write(kHard, Format::kCsv),
            "i,s,d d\n"
            "9223372036854775807,\"a,b\",0.1\n"
            ",,\n"
            "-1,\"\",nan\n"
            "0,\"say \"\"x\"\"\ny|z\",2.0\n");
}

TEST_F(FormatTest, Json) {
  EXPECT_EQ(Write(kHard, Format::kJson),
            "[\n"
            "{\"i\":9223372036854775807,\"s\":\"a,b\",\"d d\":0.1},\n"
            "{\"i\":null,\"s\":null,\"d d\":null},\n"
            "{\"i\":-1,\"s\":\"\",\"d d\":null},\n"
            "{\"i\":0,\"s\":\"say \\\"x\\\"\\ny|z\",\"d d\":2.0}\n"
            "]\n");
  EXPECT_EQ(Write("SELECT 1 AS a WHERE false", Format::kJson), "[]\n");
  EXPECT_EQ(Write("SELECT 1 AS a, 2 AS b, chr(1) || chr(127) AS c", Format::kNdjson),
            "{\"a\":1,\"b\":2,\"c\":\"\\u0001\\u007f\"}\n");
  EXPECT_EQ(Write("SELECT [1, 2] AS l, {'k': 'v'} AS s, DATE '2024-01-02' AS d, true AS t",
                  Format::kNdjson),
            "{\"l\":[1,2],\"s\":{\"k\":\"v\"},\"d\":\"2024-01-02\",\"t\":true}\n");
  EXPECT_EQ(Write("SELECT sum(9223372036854775807) AS s FROM range(3)", Format::kNdjson),
            "{\"s\":27670116110564327421}\n");
}

TEST_F(FormatTest, Markdown) {
  EXPECT_EQ(Write(kHard, Format::kMarkdown),
            "| i | s | d d |\n"
            "|---:|---|---:|\n"
            "| 9223372036854775807 | a,b | 0.1 |\n"
            "| NULL | NULL | NULL |\n"
            "| -1 |  | nan |\n"
            "| 0 | say \"x\"\\ny\\|z | 2.0 |\n");
}

TEST_F(FormatTest, TableIsAlignedAndSafe) {
  EXPECT_EQ(Write("SELECT * FROM (VALUES (10, 'x'), (NULL, chr(27) || '[2J'), (7, NULL)) t(num, s)",
                  Format::kTable),
            "   num  s\n"
            "------  -------\n"
            "    10  x\n"
            "[NULL]  \\x1b[2J\n"
            "     7  [NULL]\n");
  EXPECT_EQ(Write("SELECT 1 AS a WHERE false", Format::kTable), "a\n-\n");
  EXPECT_EQ(Write("CREATE TABLE t (a INTEGER)", Format::kTable), "");
}

TEST_F(FormatTest, LongTableHasEveryRow) {
  const auto text = Write("SELECT range AS r FROM range(20000)", Format::kTable);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20002);
  EXPECT_NE(text.find("\n19999\n"), std::string::npos);
}

TEST_F(FormatTest, ParquetReadsBackTheSame) {
  auto result = connection_.Query(
      "SELECT range AS i, CASE WHEN range % 2 = 0 THEN 'text ' || range END AS s, range / 4.0 AS "
      "i, "
      "'b'::ENUM('a', 'b') AS e, [range] AS l, {'k v': range} AS t FROM range(5000)",
      {}, tables::Fetch::kStreaming);
  ASSERT_TRUE(result.ok());
  const auto rows = WriteParquet(*result, database_, path_);
  ASSERT_TRUE(rows.ok()) << rows.error().ToString();
  EXPECT_EQ(*rows, 5000U);
  const auto check = connection_.QueryText(
      "SELECT [count(*), sum(i), count(s), sum(i_2), sum(l[1]), sum(t.\"k v\")]::VARCHAR FROM "
      "read_parquet(" +
      tables::QuoteText(path_) + ")");
  ASSERT_TRUE(check.ok()) << check.error().ToString();
  EXPECT_EQ(*check, "[5000.0, 12497500.0, 2500.0, 3124375.0, 12497500.0, 12497500.0]");
  auto nothing = connection_.Query("CREATE TABLE u (a INTEGER)");
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(WriteParquet(*nothing, database_, path_).ok());
}

TEST(Formats, Names) {
  for (const FormatName& format : Formats()) EXPECT_EQ(FormatByName(format.name), format.format);
  EXPECT_FALSE(FormatByName("xml").has_value());
}

}  // namespace
}  // namespace culprit::query
