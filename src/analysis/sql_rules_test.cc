// Each rule over tables made by hand: what it must find, and what it must leave alone.
#include "analysis/sql_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analysis/walk_rule_table.h"
#include "tables/database.h"
#include "tables/query_result.h"

namespace culprit::analysis {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Only the columns that rules read: what a rule sees is what is written here.
constexpr std::string_view kTables = R"(
CREATE TABLE thread (utid BIGINT, upid BIGINT, tid BIGINT, name VARCHAR, is_main_thread BIGINT);
CREATE TABLE process (upid BIGINT, pid BIGINT, name VARCHAR, parent_upid BIGINT);
CREATE TABLE thread_state (id BIGINT, ts BIGINT, dur BIGINT, cpu BIGINT, utid BIGINT, state VARCHAR,
                           blocked_function VARCHAR);
CREATE TABLE sched (ts BIGINT, dur BIGINT, cpu BIGINT, utid BIGINT);
CREATE TABLE slice (id BIGINT, ts BIGINT, dur BIGINT, track_id BIGINT, name VARCHAR);
CREATE TABLE thread_track (id BIGINT, utid BIGINT);
CREATE TABLE cpu_track (id BIGINT, type VARCHAR, cpu BIGINT);
CREATE TABLE counter (id BIGINT, ts BIGINT, track_id BIGINT, value DOUBLE);
CREATE TABLE counter_track (id BIGINT, name VARCHAR);
CREATE TABLE cpu_counter_track (id BIGINT, name VARCHAR, cpu BIGINT);
CREATE TABLE blocked_stack (ts BIGINT, utid BIGINT, thread_state_id BIGINT, callsite_id BIGINT);
CREATE TABLE stack_profile_callsite (id BIGINT, depth BIGINT, parent_id BIGINT, frame_id BIGINT);
CREATE TABLE stack_profile_frame (id BIGINT, name VARCHAR);
CREATE TABLE block_io (device VARCHAR, op VARCHAR, bytes BIGINT, ts BIGINT, issue_ts BIGINT,
                       complete_ts BIGINT, utid BIGINT);
INSERT INTO process VALUES (1, 100, 'trainer', NULL), (2, 200, 'writer', NULL);
INSERT INTO thread VALUES (1, 1, 100, 'trainer', 1), (2, 2, 200, 'writer', 1);
)";

// Thread 1 is the victim, in a window of a second that begins at 1 s.
constexpr Interval kWindow = {1000 * kMs, 2000 * kMs};

class SqlRulesTest : public testing::Test {
 protected:
  SqlRulesTest()
      : database_(tables::Database::OpenInMemory().value()),
        connection_(database_.Connect().value()),
        timeline_(MakeTimeline()) {
    EXPECT_TRUE(connection_.Execute(kTables).ok());
    Walked walked;
    walked.victim.utid = 1;
    walked.alive_ns = kWindow.length();
    walked_.push_back(std::move(walked));
    made_.window = kWindow;
  }

  static Timeline MakeTimeline() {
    Timeline::Rows rows;
    rows.window = kWindow;
    rows.threads = {
        {0, kNone, 0, "", false}, {1, 1, 100, "trainer", true}, {2, 2, 200, "writer", true}};
    rows.processes.resize(3);
    rows.processes[1].pid = 100;
    rows.processes[2].pid = 200;
    rows.texts = {""};
    return Timeline(std::move(rows));
  }

  void Insert(const std::string& sql) {
    const Status status = connection_.Execute(sql);
    ASSERT_TRUE(status.ok()) << status.error().what;
  }
  void Examine() { AddSqlFindings(connection_, timeline_, walked_, made_); }
  const ExplainFinding* Find(std::string_view id) const {
    const auto found = std::ranges::find(made_.findings, id, &ExplainFinding::id);
    return found == made_.findings.end() ? nullptr : &*found;
  }
  // The finding's own SQL gives its number.
  void ExpectShown(const ExplainFinding& finding) {
    const auto shown = connection_.QueryInteger(finding.sql);
    ASSERT_TRUE(shown.ok()) << shown.error().what << "\n" << finding.sql;
    EXPECT_EQ(*shown, finding.wait_ns());
  }
  bool WasExamined(std::string_view id) const {
    return std::ranges::any_of(made_.examined, [&](const std::string& line) {
      return line.starts_with(std::string(id) + ": ") && line.find("not examined") == line.npos;
    });
  }

  tables::Database database_;
  tables::Connection connection_;
  Timeline timeline_;
  std::vector<Walked> walked_;
  Explanation made_;
};

TEST_F(SqlRulesTest, EveryFileHasItsHeadAndItsThresholds) {
  for (const SqlRule& rule : SqlRules()) {
    const SqlRuleHead head = HeadOf(rule);
    EXPECT_EQ(head.id, rule.id);
    EXPECT_EQ(head.severity, rule.warn_share >= kNever ? "info" : "crit") << rule.id;
    for (const std::string_view text :
         {head.needs, head.has, head.meaning, head.remedy, rule.why}) {
      EXPECT_FALSE(text.empty()) << rule.id;
    }
  }
}

TEST_F(SqlRulesTest, NothingRecordedIsNotExaminedAndNoFailure) {
  Examine();
  EXPECT_TRUE(made_.findings.empty());
  EXPECT_EQ(made_.examined.size(), SqlRules().size());
  for (const std::string& line : made_.examined) {
    EXPECT_NE(line.find("not examined: needs "), line.npos) << line;
  }
}

TEST_F(SqlRulesTest, Reclaim) {
  Insert("INSERT INTO thread_track VALUES (1, 1), (2, 2)");
  // 60 ms inside the window of 100 ms; the other thread's is not the victim's.
  Insert(
      "INSERT INTO slice VALUES (1, 960000000, 100000000, 1, 'mm_vmscan_memcg_reclaim'), "
      "(2, 1500000000, 50000000, 2, 'mm_vmscan_memcg_reclaim'), (3, 1500000000, 9, 1, 'step')");
  Examine();
  const ExplainFinding* finding = Find("memory.reclaim");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->wait_ns(), 60 * kMs);
  EXPECT_EQ(finding->level, Level::kWarning);
  EXPECT_EQ(finding->victims.size(), 1U);
  ExpectShown(*finding);
}

TEST_F(SqlRulesTest, SwapInMajorFaultAndCompactionByStack) {
  Insert(
      "INSERT INTO stack_profile_frame VALUES (1, 'do_swap_page'), (2, '__schedule'), "
      "(3, 'filemap_fault'), (4, 'vfs_read')");
  // 10: do_swap_page > __schedule; 20: filemap_fault > __schedule; 30: vfs_read > __schedule.
  Insert(
      "INSERT INTO stack_profile_callsite VALUES (1, 0, NULL, 1), (10, 1, 1, 2), "
      "(2, 0, NULL, 3), (20, 1, 2, 2), (3, 0, NULL, 4), (30, 1, 3, 2)");
  Insert("INSERT INTO counter_track VALUES (1, 'compact_stall')");
  Insert(
      "INSERT INTO thread_state VALUES (1, 1100000000, 30000000, NULL, 1, 'D', 'a'), "
      "(2, 1200000000, 80000000, NULL, 1, 'D', 'a'), (3, 1300000000, 90000000, NULL, 1, 'D', 'a'), "
      "(4, 1400000000, 70000000, NULL, 1, 'D', 'compact_zone')");
  Insert("INSERT INTO blocked_stack VALUES (0, 1, 1, 10), (0, 1, 2, 20), (0, 1, 3, 30)");
  Examine();
  const struct {
    std::string_view id;
    std::int64_t ns;
  } kExpected[] = {{"memory.swap_in", 30 * kMs},
                   {"memory.major_fault", 80 * kMs},
                   {"memory.compaction", 70 * kMs}};
  for (const auto& [id, ns] : kExpected) {
    const ExplainFinding* finding = Find(id);
    ASSERT_NE(finding, nullptr) << id;
    EXPECT_EQ(finding->wait_ns(), ns) << id;
    EXPECT_EQ(finding->level, Level::kWarning) << id;
    ExpectShown(*finding);
  }
}

TEST_F(SqlRulesTest, CountersOfTheMachineAreNotes) {
  Insert(
      "INSERT INTO counter_track VALUES (1, 'psi.mem.some'), (2, 'numa_pages_migrated'), "
      "(3, 'cgroup./job.throttled_ns')");
  Insert(
      "INSERT INTO counter VALUES (1, 1000000000, 1, 0), (2, 1900000000, 1, 300000000), "
      "(3, 1000000000, 2, 5), (4, 1900000000, 2, 12), (5, 1000000000, 3, 0), "
      "(6, 1900000000, 3, 40000000)");
  Examine();
  EXPECT_TRUE(made_.findings.empty());
  ASSERT_EQ(made_.evidence.notes.size(), 3U);
  EXPECT_NE(made_.evidence.notes[0].find("300.00 ms"), std::string::npos)
      << made_.evidence.notes[0];
  EXPECT_NE(made_.evidence.notes[1].find("7 pages"), std::string::npos) << made_.evidence.notes[1];
  EXPECT_NE(made_.evidence.notes[2].find("/job "), std::string::npos) << made_.evidence.notes[2];
}

TEST_F(SqlRulesTest, FrequencyCountsTheWorkThatWasLost) {
  Insert("INSERT INTO cpu_counter_track VALUES (1, 'cpu_frequency', 0)");
  // Half speed from 1.5 s on; the victim runs from 1.4 s to 1.9 s: 400 ms at half speed lose 200.
  Insert("INSERT INTO counter VALUES (1, 900000000, 1, 3000000), (2, 1500000000, 1, 1500000)");
  Insert("INSERT INTO sched VALUES (1400000000, 500000000, 0, 1)");
  Examine();
  const ExplainFinding* finding = Find("frequency.below_max");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->wait_ns(), 200 * kMs);
  ASSERT_FALSE(finding->evidence.empty());
  EXPECT_EQ(finding->evidence.front(), "CPU 0 ran with 1500 MHz, the highest seen is 3000 MHz");
  ExpectShown(*finding);
}

TEST_F(SqlRulesTest, MigrationIsNeverMoreThanInfo) {
  Insert("INSERT INTO sched VALUES (1000000000, 100000000, 0, 1), (1600000000, 100000000, 1, 1)");
  Insert("INSERT INTO thread_state VALUES (1, 1100000000, 500000000, NULL, 1, 'R+', NULL)");
  Examine();
  const ExplainFinding* finding = Find("sched.migration");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->wait_ns(), 500 * kMs);
  EXPECT_EQ(finding->level, Level::kInfo);
  ExpectShown(*finding);
}

TEST_F(SqlRulesTest, IrqStormByKindAndCpu) {
  Insert("INSERT INTO cpu_track VALUES (1, 'cpu_softirq', 0), (2, 'cpu_irq', 1)");
  Insert("INSERT INTO sched VALUES (1000000000, 400000000, 0, 1), (1400000000, 400000000, 0, 2)");
  // 60 ms of which 10 ms are after the victim left; one while the other thread ran; one elsewhere.
  Insert(
      "INSERT INTO slice VALUES (1, 1100000000, 50000000, 1, 'NET_RX'), "
      "(2, 1390000000, 20000000, 1, 'NET_RX'), (3, 1500000000, 90000000, 1, 'NET_RX'), "
      "(4, 1100000000, 90000000, 2, 'IRQ (nvme0q1)')");
  Examine();
  const ExplainFinding* finding = Find("irq.storm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->culprit.name, "NET_RX on CPU 0");
  EXPECT_EQ(finding->wait_ns(), 60 * kMs);
  EXPECT_EQ(finding->victims.front().waited.count, 2);
  ExpectShown(*finding);
}

TEST_F(SqlRulesTest, SaturatedDiskByLittlesLaw) {
  // The writer keeps three requests of 100 ms in flight all the time: 30 a second x 100 ms = 3.
  for (int i = 0; i < 30; ++i) {
    const std::int64_t ts = 1000 * kMs + i / 3 * 100 * kMs;
    Insert("INSERT INTO block_io VALUES ('254:0', 'W', 4096, " + std::to_string(ts) + ", " +
           std::to_string(ts + 20 * kMs) + ", " + std::to_string(ts + 100 * kMs) + ", 2)");
  }
  // One D wait ends 50 us after a completion, the other 10 ms after one.
  Insert(
      "INSERT INTO thread_state VALUES (1, 1100000000, 100050000, NULL, 1, 'D', NULL), "
      "(2, 1450000000, 60000000, NULL, 1, 'D', NULL)");
  Examine();
  const ExplainFinding* finding = Find("disk.saturated");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->wait_ns(), 100'050'000);
  EXPECT_EQ(finding->culprit.device, "254:0");
  ASSERT_FALSE(finding->evidence.empty());
  EXPECT_EQ(
      finding->evidence.front(),
      "disk 254:0: 30 requests/s x 100.0 ms each = 3.0 in flight (Little's law), 20.0 ms of it "
      "in the queue, 80.0 ms in the disk; busy 100 % of the time; most of the queue, 100 %: "
      "writer");
  ExpectShown(*finding);
}

TEST_F(SqlRulesTest, ADiskWithoutAQueueIsNotSaturated) {
  Insert("INSERT INTO block_io VALUES ('254:0', 'W', 4096, 1100000000, 1100000000, 1200000000, 2)");
  Insert("INSERT INTO thread_state VALUES (1, 1100000000, 100000000, NULL, 1, 'D', NULL)");
  Examine();
  EXPECT_TRUE(WasExamined("disk.saturated"));
  EXPECT_EQ(Find("disk.saturated"), nullptr);
}

TEST_F(SqlRulesTest, CheckpointWriterByItsRegularBursts) {
  // 8 MB every 400 ms, written in 60 ms; the victim waits during the second one.
  for (const std::int64_t ts : {1000 * kMs, 1400 * kMs, 1800 * kMs}) {
    Insert("INSERT INTO block_io VALUES ('254:0', 'WS', 8000000, " + std::to_string(ts) + ", " +
           std::to_string(ts) + ", " + std::to_string(ts + 60 * kMs) + ", 2)");
  }
  Insert(
      "INSERT INTO thread_state VALUES (1, 1400000000, 60000000, NULL, 1, 'D', NULL), "
      "(2, 1400000000, 60000000, NULL, 2, 'D', NULL)");
  Examine();
  const ExplainFinding* finding = Find("checkpoint.writer");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->wait_ns(), 60 * kMs);
  ASSERT_TRUE(finding->culprit.task.has_value());
  EXPECT_EQ(finding->culprit.task->pid, 200);
  EXPECT_EQ(finding->evidence.front(), "3 bursts, one every 0.4 s, 60 ms and 8 MB each on average");
  ExpectShown(*finding);
}

TEST_F(SqlRulesTest, WritesWithoutRhythmAreNoCheckpoints) {
  for (const std::int64_t ts : {1000 * kMs, 1010 * kMs, 1020 * kMs}) {  // one burst
    Insert("INSERT INTO block_io VALUES ('254:0', 'WS', 8000000, " + std::to_string(ts) + ", " +
           std::to_string(ts) + ", " + std::to_string(ts + 60 * kMs) + ", 2)");
  }
  Insert("INSERT INTO thread_state VALUES (1, 1000000000, 60000000, NULL, 1, 'D', NULL)");
  Examine();
  EXPECT_TRUE(WasExamined("checkpoint.writer"));
  EXPECT_EQ(Find("checkpoint.writer"), nullptr);
}

}  // namespace
}  // namespace culprit::analysis
