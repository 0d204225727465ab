// The schema: every column documented, ENUM numbers as enums.h has them, comparisons as users
// expect.
#include "tables/schema.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tables/appender.h"
#include "tables/enums.h"

namespace culprit::tables {
namespace {

class Schema : public testing::Test {
 protected:
  Schema() : database_(Database::OpenInMemory().value()), connection_(database_.Connect().value()) {
    const auto created = CreateSchema(connection_);
    EXPECT_TRUE(created.ok()) << created.error().ToString();
  }
  std::int64_t Integer(std::string_view sql) {
    const auto value = connection_.QueryInteger(sql);
    EXPECT_TRUE(value.ok()) << sql << ": " << value.error().ToString();
    return value.ok() ? *value : -999;
  }
  std::string Text(std::string_view sql) {
    const auto value = connection_.QueryText(sql);
    EXPECT_TRUE(value.ok()) << sql << ": " << value.error().ToString();
    return value.ok() ? *value : "";
  }

  Database database_;
  Connection connection_;
};

TEST_F(Schema, EveryColumnIsDocumented) {
  const auto tables = DescribeSchema(connection_);
  ASSERT_TRUE(tables.ok()) << tables.error().ToString();
  // Nothing public without a head, and nothing documented that is not there.
  EXPECT_EQ(Integer("SELECT count(*) FROM (SELECT table_name AS n FROM duckdb_tables() UNION ALL "
                    "SELECT view_name FROM duckdb_views() WHERE NOT internal) WHERE n NOT LIKE "
                    "'\\_\\_%' ESCAPE '\\'"),
            static_cast<std::int64_t>(tables->size()));
  for (const auto& table : *tables) {
    EXPECT_FALSE(table.columns.empty()) << table.name;
    for (const auto& column : table.columns) {
      EXPECT_FALSE(column.text.empty()) << table.name << "." << column.name;
      // What SQLite's users know: 64-bit integers, floating point, text.
      EXPECT_TRUE(column.type == "BIGINT" || column.type == "VARCHAR" || column.type == "DOUBLE")
          << table.name << "." << column.name << " is " << column.type;
    }
  }
}

TEST_F(Schema, EveryViewCanBeRead) {
  const auto tables = DescribeSchema(connection_);
  ASSERT_TRUE(tables.ok());
  for (const auto& table : *tables) {
    EXPECT_EQ(Integer("SELECT count(*) FROM (SELECT * FROM " + table.name + ")"), 0) << table.name;
  }
}

TEST_F(Schema, SchedStateNumbersAreThoseOfTheType) {
  const auto state = [&](SchedState number) {
    return Text("SELECT enum_range(NULL::sched_state)[" + std::to_string(number + 1) + "]");
  };
  for (const SchedState number :
       {kStateRunnable, kStatePreempted, kStateRunning, kStateSleeping, kStateUninterruptible,
        static_cast<SchedState>(kStateUninterruptible | *SchedStateFlag('K')),
        static_cast<SchedState>(*SchedStateFlag('I') | *SchedStateFlag('t'))}) {
    EXPECT_EQ(state(number), SchedStateText(number)) << number;
  }
  EXPECT_EQ(SchedStateText(0), "R");
  EXPECT_EQ(SchedStateText(kStatePreempted), "R+");
  EXPECT_EQ(SchedStateText(kStateUninterruptible | *SchedStateFlag('K')), "DK");
  EXPECT_EQ(Integer("SELECT len(enum_range(NULL::sched_state))"), kStateRunning + 1);
  EXPECT_FALSE(SchedStateFlag('R').has_value());
  EXPECT_EQ(Text("SELECT enum_range(NULL::arg_type)[" +
                 std::to_string(static_cast<int>(ArgType::kPointer) + 1) + "]"),
            "pointer");
  EXPECT_EQ(Text("SELECT enum_range(NULL::arg_type)[" +
                 std::to_string(static_cast<int>(ArgType::kNull) + 1) + "]"),
            "null");
}

TEST_F(Schema, SchedRowsReadAsUsersExpect) {
  auto appender = Appender::Open(database_, "__intrinsic_sched_slice");
  ASSERT_TRUE(appender.ok()) << appender.error().ToString();
  const SchedState states[] = {
      kStateRunnable, kStateUninterruptible,
      static_cast<SchedState>(kStateUninterruptible | *SchedStateFlag('K'))};
  for (std::size_t row = 0; row < 4; ++row) {
    appender->Column<std::int32_t>(appender->ColumnIndex("id"))[row] = static_cast<int>(row);
    appender->Column<std::int64_t>(appender->ColumnIndex("ts"))[row] = 1000 + 10 * row;
    appender->Column<std::int64_t>(appender->ColumnIndex("dur"))[row] = row == 3 ? -1 : 10;
    appender->Column<std::int16_t>(appender->ColumnIndex("cpu"))[row] = 1;
    appender->Column<std::int32_t>(appender->ColumnIndex("utid"))[row] = 2'000'000'000;
    appender->SetNull(appender->ColumnIndex("upid"), row);
    appender->Column<std::int16_t>(appender->ColumnIndex("priority"))[row] = 120;
    if (row == 3) {
      appender->SetNull(appender->ColumnIndex("end_state"), row);
    } else {
      appender->Column<SchedState>(appender->ColumnIndex("end_state"))[row] = states[row];
    }
  }
  ASSERT_TRUE(appender->Flush(4).ok());
  ASSERT_TRUE(appender->Close().ok());
  EXPECT_EQ(Integer("SELECT count(*) FROM sched WHERE end_state = 'D'"), 1);
  EXPECT_EQ(Integer("SELECT count(*) FROM sched WHERE thread_state = 'DK'"), 1);
  EXPECT_EQ(Integer("SELECT count(*) FROM sched WHERE end_state = 'no such state'"), 0);
  EXPECT_EQ(Integer("SELECT count(*) FROM sched WHERE end_state IN ('no such state', 'R')"), 1);
  EXPECT_EQ(Integer("SELECT count(*) FROM sched WHERE end_state <> 'no such state'"), 3);
  EXPECT_EQ(Integer("SELECT count(*) FROM sched WHERE end_state LIKE 'D%'"), 2);
  EXPECT_EQ(Text("SELECT max(coalesce(end_state, 'unknown')) FROM sched"), "unknown");
  EXPECT_EQ(Text("SELECT min(end_state) FROM sched"), "D");  // as text, not by member number
  EXPECT_EQ(Integer("SELECT max(utid * 4) FROM sched"), 8'000'000'000);  // no 32-bit overflow
  EXPECT_EQ(Integer("SELECT max(ts_end) FROM sched WHERE dur >= 0"), 1030);
}

TEST_F(Schema, RawTablesTakeTheNamesOfTheTrace) {
  std::vector<std::string> events;
  for (int i = 0; i < 300; ++i) events.push_back("event_" + std::to_string(1000 + i));
  const std::vector<std::string> keys = {"a", "b"};
  EXPECT_FALSE(RawTablesLoaded(connection_).value());
  const auto created = CreateRawTables(connection_, events, keys);
  ASSERT_TRUE(created.ok()) << created.error().ToString();
  ASSERT_TRUE(SetRawTablesLoaded(connection_).ok());
  EXPECT_TRUE(RawTablesLoaded(connection_).value());
  auto rows = Appender::Open(database_, "__intrinsic_ftrace_event");
  ASSERT_TRUE(rows.ok());
  rows->Column<std::int32_t>(0)[0] = 0;
  rows->Column<std::int64_t>(1)[0] = 5;
  rows->SetEnum(2, 0, 299);
  rows->Column<std::int16_t>(3)[0] = 1;
  for (const std::size_t column : {4, 6}) rows->SetNull(column, 0);
  rows->Column<std::int32_t>(5)[0] = 7;
  ASSERT_TRUE(rows->Flush(1).ok());
  ASSERT_TRUE(rows->Close().ok());
  auto args = Appender::Open(database_, "__intrinsic_ftrace_args");
  ASSERT_TRUE(args.ok());
  const auto set = [&](const char* column) { return args->ColumnIndex(column); };
  for (std::size_t row = 0; row < 2; ++row) {
    args->Column<std::int32_t>(set("id"))[row] = static_cast<int>(row);
    args->Column<std::int32_t>(set("arg_set_id"))[row] = 7;
    args->Column<std::uint8_t>(set("value_type"))[row] =
        static_cast<std::uint8_t>(row == 0 ? ArgType::kUint : ArgType::kString);
    args->SetEnum(set("key"), row, row);
    args->SetNull(set(row == 0 ? "string_value" : "int_value"), row);
  }
  args->Column<std::int64_t>(set("int_value"))[0] = -1;
  args->SetText(set("string_value"), 1, "text");
  ASSERT_TRUE(args->Flush(2).ok());
  ASSERT_TRUE(args->Close().ok());
  EXPECT_EQ(Text("SELECT name FROM raw"), "event_1299");
  EXPECT_EQ(Text("SELECT __arg_text(arg_set_id, 'b') FROM ftrace_event"), "text");
  EXPECT_EQ(Text("SELECT display_value FROM args WHERE key = 'a'"), "18446744073709551615");
  EXPECT_EQ(Integer("SELECT __arg_int(arg_set_id, 'a') FROM ftrace_event"), -1);
  EXPECT_EQ(Integer("SELECT count(*) FROM ftrace_event WHERE __arg_text(arg_set_id, 'no') IS NULL"),
            1);
}

TEST_F(Schema, UpidsKnownLateAreFilledIn) {
  ASSERT_TRUE(
      connection_
          .Execute("INSERT INTO thread (id, utid, tid, upid) VALUES (1, 1, 11, 5), (2, 2, 12, 6),"
                   "(3, 3, 13, NULL);"
                   "INSERT INTO __intrinsic_sched_slice (id, ts, dur, cpu, utid, upid) "
                   "VALUES (0, 0, 1, 0, 1, NULL), (1, 1, 1, 0, 2, 6), (2, 2, 1, 0, 3, NULL), "
                   "(3, 3, 1, 0, 2, 4)")
          .ok());
  const std::int64_t utids[] = {1, 3};
  ASSERT_TRUE(FillUpids(connection_, utids).ok());
  EXPECT_EQ(Text("SELECT list(upid ORDER BY id) FROM sched"), "[5,6,null,4]");
  ASSERT_TRUE(FillUpids(connection_, {}).ok());
}

TEST_F(Schema, OtherVersionsAreRefused) {
  EXPECT_TRUE(CheckSchema(connection_, "x.duckdb").ok());
  ASSERT_TRUE(connection_.Execute("UPDATE __culprit_schema SET version = 999").ok());
  const auto other = CheckSchema(connection_, "x.duckdb");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().what.find("999"), std::string::npos);
  auto empty = Database::OpenInMemory().value().Connect().value();
  EXPECT_FALSE(CheckSchema(empty, "y.duckdb").ok());
}

}  // namespace
}  // namespace culprit::tables
