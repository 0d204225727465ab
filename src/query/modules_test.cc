// The modules on a trace small enough to be drawn (microseconds; ^ is a wakeup):
//
//   CPU 0   |main--|idle------|worker 1 GHz | 2 GHz   |main 2 GHz      |
//           0     10         30            50        70              100
//   CPU 1      |kthread, frequency unknown                             |
//              5
//   main    |Running|S                         |R ^irq  |Running        |
//           0      10                         55       70              100
//   worker         :      |R ^ |Running                |R+              |
//                        20   30                      70              100
//
// Every expected value follows from the picture.

#include <gtest/gtest.h>

#include "query/engine.h"
#include "query/test_database.h"
#include "tables/schema.h"

namespace culprit::query {
namespace {

constexpr const char* kTrace = R"sql(
INSERT INTO trace_bounds VALUES (0, 100000);
INSERT INTO cpu(id, ucpu, cpu, machine_id) VALUES (0, 0, 0, 0), (1, 1, 1, 0);
INSERT INTO process(id, upid, pid, name) VALUES (0, 0, 0, 'idle'), (1, 1, 11, 'train');
INSERT INTO thread(id, utid, tid, name, upid, is_main_thread, is_idle) VALUES
  (0, 0, 0, 'swapper', 0, 1, 1), (1, 1, 11, 'main', 1, 1, 0), (2, 2, 12, 'worker', 1, 0, 0),
  (3, 3, 30, 'kthread', NULL, NULL, 0);
INSERT INTO __intrinsic_sched_slice(id, ts, dur, cpu, utid, upid, priority, end_state) VALUES
  (0, 0, 10000, 0, 1, 1, 120, 'S'), (1, 5000, 95000, 1, 3, NULL, 120, 'D'), (2, 10000, 20000, 0, 0, 0, 120, 'R'),
  (3, 30000, 40000, 0, 2, 1, 120, 'R+'), (4, 70000, 30000, 0, 1, 1, 120, 'S');
INSERT INTO __intrinsic_thread_state(id, ts, dur, cpu, utid, state, io_wait, irq_context, waker_utid) VALUES
  (0, 0, 10000, 0, 1, 'Running', NULL, NULL, NULL), (1, 5000, 95000, 1, 3, 'Running', NULL, NULL, NULL),
  (2, 10000, 45000, NULL, 1, 'S', NULL, NULL, NULL), (3, 20000, 10000, NULL, 2, 'R', NULL, 0, 3),
  (4, 30000, 40000, 0, 2, 'Running', NULL, NULL, NULL), (5, 55000, 15000, NULL, 1, 'R', NULL, 1, 3),
  (6, 70000, 30000, 0, 1, 'Running', NULL, NULL, NULL), (7, 70000, 30000, NULL, 2, 'R+', NULL, NULL, NULL);
INSERT INTO __intrinsic_track(id, name, type, event_type, utid, upid, cpu, machine_id) VALUES
  (10, 'cpufreq', 'cpu_frequency', 'counter', NULL, NULL, 0, 0),
  (11, 'cpuidle', 'cpu_idle', 'counter', NULL, NULL, 0, 0),
  (20, 'worker', 'thread_execution', 'slice', 2, NULL, NULL, 0), (21, 'train', 'process', 'slice', NULL, 1, NULL, 0),
  (30, 'mem.rss.anon', 'process_memory', 'counter', NULL, 1, NULL, 0),
  (31, 'mem.swap', 'process_memory', 'counter', NULL, 1, NULL, 0),
  (32, 'mem.rss.file', 'process_memory', 'counter', NULL, 1, NULL, 0);
INSERT INTO __intrinsic_counter(id, ts, track_id, value) VALUES
  (0, 0, 10, 1000000), (1, 50000, 10, 2000000), (2, 10000, 11, 2), (3, 30000, 11, 4294967295),
  (4, 10000, 30, 100), (5, 50000, 30, 300), (6, 20000, 31, 7), (7, 10000, 32, 50);
INSERT INTO __intrinsic_slice(id, ts, dur, track_id, depth, name) VALUES
  (0, 35000, 30000, 20, 0, 'step'), (1, 25000, 10000, 20, 0, 'early'), (2, 0, 5000, 21, 0, 'load');
INSERT INTO clock_snapshot VALUES (0, 0, 3, 'MONOTONIC', 0, 0, 0), (1, 60000, 3, 'MONOTONIC', 50000, 1, 0),
  (2, 0, 1, 'REALTIME', 1700000000000000000, 0, 0);
)sql";

class ModulesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto database = tables::Database::OpenInMemory({.threads = 2});
    ASSERT_TRUE(database.ok());
    database_.emplace(std::move(*database));
    auto connection = database_->Connect();
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE(tables::CreateSchema(*connection).ok());
    const Status filled = connection->Execute(kTrace);
    ASSERT_TRUE(filled.ok()) << filled.error().what;
    auto engine = Engine::Open(*database_, "", nullptr);
    ASSERT_TRUE(engine.ok()) << engine.error().ToString();
    engine_ = std::move(*engine);
  }

  std::string Rows(std::string_view sql) {
    auto result = engine_->Run(sql);
    return result.ok() ? TestDatabase::Text(*result) : "error: " + result.error().ToString();
  }

  std::optional<tables::Database> database_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ModulesTest, Scheduling) {
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE sched.runnable; SELECT * FROM "
                 "sched_previous_runnable_on_thread"),
            "id|prev_runnable_id|prev_wakeup_runnable_id\n0||\n1||\n4|3|3\n6|5|");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE sched.latency; SELECT * FROM "
                 "sched_latency_for_running_interval"),
            "thread_state_id|sched_id|utid|runnable_latency_id|latency_dur\n4|3|2|3|10000\n6|4|1|5|"
            "15000");
  EXPECT_EQ(
      Rows("INCLUDE PERFETTO MODULE sched.time_in_state; SELECT * FROM "
           "sched_time_in_state_for_thread"),
      "utid|total_runtime|state|time_in_state|percentage_in_state\n1|100000|R|15000|15\n"
      "1|100000|Running|40000|40\n1|100000|S|45000|45\n2|80000|R|10000|12\n2|80000|R+|30000|37\n"
      "2|80000|Running|40000|50\n3|95000|Running|95000|100");
  EXPECT_EQ(Rows("SELECT * FROM sched_percentage_of_time_in_state"),
            "utid|running|runnable|runnable_preempted|sleeping|uninterruptible_sleep|other\n1|40|"
            "15||45||\n"
            "2|50|12|37|||\n3|100|||||");
  EXPECT_EQ(Rows("SELECT * FROM sched_time_in_state_for_thread_in_interval(50000, 25000, 1)"),
            "state|io_wait|blocked_function|dur\nR|||15000\nRunning|||5000\nS|||5000");
  EXPECT_EQ(
      Rows("SELECT * FROM sched_time_in_state_and_cpu_for_thread_in_interval(60000, 20000, 2)"),
      "state|io_wait|cpu|blocked_function|dur\nR+||||10000\nRunning||0||10000");
  EXPECT_EQ(
      Rows("SELECT * FROM sched_time_in_state_for_cpu_in_interval(0, 5000, 30000) ORDER BY 1"),
      "end_state|dur\nR|20000\nR+|5000\nS|5000");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE sched.with_context; SELECT * FROM "
                 "sched_with_thread_process WHERE utid > 1 "
                 "ORDER BY id"),
            "id|ts|dur|utid|upid|thread_name|process_name|cpu|end_state|priority\n"
            "1|5000|95000|3||kthread||1|D|120\n3|30000|40000|2|1|worker|train|0|R+|120");
  EXPECT_EQ(
      Rows("INCLUDE PERFETTO MODULE sched.states; SELECT "
           "sched_state_to_human_readable_string('R+') AS a, "
           "sched_state_to_human_readable_string('DK') AS b, "
           "sched_state_io_to_human_readable_string('D', 1) AS c, "
           "sched_state_io_to_human_readable_string('D', 0) AS d"),
      "a|b|c|d\nRunnable (Preempted)|DK|Uninterruptible Sleep (IO)|Uninterruptible Sleep (non-IO)");
}

TEST_F(ModulesTest, Parallelism) {
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE sched.thread_level_parallelism; SELECT * FROM "
                 "sched_runnable_thread_count"),
            "ts|runnable_thread_count\n20000|1\n30000|0\n55000|1\n70000|0");
  EXPECT_EQ(Rows("SELECT * FROM sched_uninterruptible_sleep_thread_count"),
            "ts|uninterruptible_sleep_thread_count");
  EXPECT_EQ(Rows("SELECT * FROM sched_active_cpu_count"),
            "ts|active_cpu_count\n0|1\n5000|2\n10000|1\n30000|2\n70000|2\n100000|0");
}

TEST_F(ModulesTest, FrequencyAndIdle) {
  EXPECT_EQ(
      Rows("INCLUDE PERFETTO MODULE linux.cpu.frequency; SELECT * FROM cpu_frequency_counters"),
      "id|track_id|ts|dur|freq|ucpu|cpu\n0|10|0|50000|1000000|0|0\n1|10|50000|50000|2000000|0|0");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE linux.cpu.idle; SELECT * FROM cpu_idle_counters"),
            "id|track_id|ts|dur|idle|cpu\n2|11|10000|20000|2|0\n3|11|30000|70000|-1|0");
}

// Cycles: worker 20 us at 1 GHz and 20 us at 2 GHz, main 10 us at 1 GHz and 30 us at 2 GHz.
// A stretch counts in each period that it crosses, unlike in trace_processor, which gives all of
// its first period's part and drops the rest.
TEST_F(ModulesTest, Utilization) {
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE linux.cpu.utilization.*; SELECT * FROM "
                 "cpu_utilization_per_period(50000)"),
            "ts|utilization|unnormalized_utilization\n0|0.75|1.5\n50000|1.0|2.0");
  EXPECT_EQ(Rows("SELECT * FROM cpu_thread_utilization_per_period(50000, 2)"),
            "ts|utilization|unnormalized_utilization\n0|0.2|0.4\n50000|0.2|0.4");
  EXPECT_EQ(Rows("SELECT * FROM cpu_process_utilization_per_period(50000, 1)"),
            "ts|utilization|unnormalized_utilization\n0|0.3|0.6\n50000|0.5|1.0");
  EXPECT_EQ(Rows("SELECT * FROM cpu_utilization_per_second"),
            "ts|utilization|unnormalized_utilization\n0|8.75e-05|0.000175");
  EXPECT_EQ(Rows("SELECT * FROM cpu_cycles_per_thread"),
            "utid|millicycles|megacycles|runtime|min_freq|max_freq|avg_freq\n"
            "1|70000000|0|40000|1000000|2000000|1750000\n2|60000000|0|40000|1000000|2000000|"
            "1500000\n3|||95000|||");
  EXPECT_EQ(Rows("SELECT * FROM cpu_cycles_per_process"),
            "upid|millicycles|megacycles|runtime|min_freq|max_freq|avg_freq\n"
            "1|130000000|0|80000|1000000|2000000|1625000");
  EXPECT_EQ(Rows("SELECT * FROM cpu_cycles_per_cpu"),
            "ucpu|cpu|millicycles|megacycles|runtime|min_freq|max_freq|avg_freq\n"
            "0|0|130000000|0|80000|1000000|2000000|1625000\n1|1|||95000|||");
  EXPECT_EQ(Rows("SELECT * FROM cpu_cycles"),
            "millicycles|megacycles|runtime|min_freq|max_freq|avg_freq\n130000000|0|175000|1000000|"
            "2000000|742857");
  EXPECT_EQ(Rows("SELECT * FROM cpu_thread_utilization_in_interval(0, 50000) ORDER BY utid"),
            "upid|utid|thread_name|awake_dur|awake_utilization|awake_unnormalized_utilization\n"
            "1|1|main|10000|10.0|20.0\n1|2|worker|20000|20.0|40.0\n|3|kthread|45000|45.0|90.0");
  EXPECT_EQ(Rows("SELECT * FROM cpu_process_utilization_in_interval(0, 50000)"),
            "upid|process_name|awake_dur|awake_utilization|awake_unnormalized_utilization\n1|train|"
            "30000|30.0|60.0");
  EXPECT_EQ(Rows("SELECT * FROM cpu_utilization_in_interval(0, 50000)"),
            "awake_dur|awake_utilization|awake_unnormalized_utilization\n75000|75.0|150.0");
  // Of the slices, step ran all the time: 15 us at 1 GHz, 15 us at 2 GHz.
  EXPECT_EQ(Rows("SELECT * FROM cpu_cycles_per_thread_slice"),
            "id|name|utid|thread_name|upid|process_name|millicycles|megacycles\n0|step|2|worker|1|"
            "train|45000000|0\n"
            "1|early|2|worker|1|train||");
  EXPECT_EQ(
      Rows("SELECT id, millicycles FROM cpu_cycles_per_thread_slice_in_interval(40000, 15000)"),
      "id|millicycles\n0|20000000");
}

TEST_F(ModulesTest, SlicesWithContext) {
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE slices.with_context; SELECT id, name, track_name, "
                 "thread_name, utid, tid, "
                 "process_name, upid, pid, depth FROM thread_slice ORDER BY id"),
            "id|name|track_name|thread_name|utid|tid|process_name|upid|pid|depth\n"
            "0|step|worker|worker|2|12|train|1|11|0\n1|early|worker|worker|2|12|train|1|11|0");
  EXPECT_EQ(Rows("SELECT id, thread_name, process_name FROM thread_or_process_slice ORDER BY id"),
            "id|thread_name|process_name\n0|worker|train\n1|worker|train\n2||train");
}

TEST_F(ModulesTest, Memory) {
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE linux.memory.process; SELECT ts, dur, upid, "
                 "process_name, anon_rss, file_rss, "
                 "shmem_rss, rss, swap, anon_rss_and_swap, rss_and_swap FROM "
                 "memory_rss_and_swap_per_process ORDER BY ts"),
            "ts|dur|upid|process_name|anon_rss|file_rss|shmem_rss|rss|swap|anon_rss_and_swap|rss_"
            "and_swap\n"
            "10000|10000|1|train|100|50||150||100|150\n20000|30000|1|train|100|50||150|7|107|157\n"
            "50000|50001|1|train|300|50||350|7|307|357");
}

// The tables of trace_processor's own tests of these macros.
TEST_F(ModulesTest, Intervals) {
  EXPECT_EQ(
      Rows("INCLUDE PERFETTO MODULE intervals.overlap; WITH data(ts, dur) AS (VALUES (10, 40), "
           "(20, 10), (25, 10), "
           "(60, 10), (70, 20), (80, -1)) SELECT * FROM intervals_overlap_count!(data, ts, dur)"),
      "ts|value\n10|1\n20|2\n25|3\n30|2\n35|1\n50|0\n60|1\n70|1\n80|2\n90|1");
  EXPECT_EQ(Rows("WITH data(ts, dur, g) AS (VALUES (10, 5, 'A'), (12, 5, 'B'), (15, 5, 'A')) "
                 "SELECT * FROM "
                 "intervals_overlap_count_by_group!(data, ts, dur, g)"),
            "ts|value|group_name\n10|1|A\n12|1|B\n15|1|A\n17|0|B\n20|0|A");
  EXPECT_EQ(Rows("WITH data(ts, dur) AS (VALUES (1, 10), (5, 12), (20, 1), (21, 4), (30, -1)) "
                 "SELECT * FROM "
                 "interval_merge_overlapping!(data, 0)"),
            "ts|dur\n1|16\n20|5");
  EXPECT_EQ(Rows("WITH data(ts, dur) AS (VALUES (1, 10), (13, 2)) SELECT * FROM "
                 "interval_merge_overlapping!(data, 2)"),
            "ts|dur\n1|14");
  EXPECT_EQ(
      Rows("WITH data(ts, dur, cpu) AS (VALUES (1, 10, 0), (5, 12, 0), (1, 3, 1)) SELECT * FROM "
           "interval_merge_overlapping_partitioned!(data, (cpu)) ORDER BY cpu"),
      "ts|dur|cpu\n1|16|0\n1|3|1");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE intervals.intersect; WITH a(id, ts, dur, cpu) AS (VALUES "
                 "(1, 0, 10, 0), "
                 "(2, 10, 10, 1)), b(id, ts, dur, cpu) AS (VALUES (7, 5, 10, 0), (8, 5, 10, 1)) "
                 "SELECT * FROM "
                 "_interval_intersect!((a, b), (cpu)) ORDER BY ts"),
            "ts|dur|id_0|id_1|cpu\n5|5|1|7|0\n10|5|2|8|1");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE counters.intervals; WITH data(id, ts, value, track_id) "
                 "AS (VALUES (1, 10, 10, 1), "
                 "(2, 20, 11, 1), (3, 30, 11, 1), (4, 40, 11, 1), (5, 50, 11, 1), (6, 60, 12, 1)) "
                 "SELECT * FROM "
                 "counter_leading_intervals!(data)"),
            "id|ts|dur|track_id|value|next_value|delta_value\n1|10|10|1|10.0|11.0|\n2|20|10|1|11.0|"
            "11.0|1.0\n"
            "3|30|20|1|11.0|11.0|0.0\n5|50|10|1|11.0|12.0|0.0\n6|60|99940|1|12.0||1.0");
}

TEST_F(ModulesTest, PreludeAndConversions) {
  EXPECT_EQ(Rows("SELECT to_monotonic(50000) AS a, to_monotonic(70000) AS b, to_realtime(5) AS c, "
                 "abs_time_str(1000000005) AS d"),
            "a|b|c|d\n50000|60000|1700000000000000005|2023-11-14T22:13:21.000000005");
  EXPECT_EQ(Rows("INCLUDE PERFETTO MODULE time.conversion; SELECT time_from_s(2) AS a, "
                 "time_to_ms(5999999) AS b, "
                 "time_from_days(1) AS c"),
            "a|b|c\n2000000000|5|86400000000000");
  EXPECT_EQ(Rows("SELECT spans_overlapping_dur(0, 10, 5, 10) AS a, spans_overlapping_dur(0, 1, 5, "
                 "1) AS b"),
            "a|b\n5|0");
}

}  // namespace
}  // namespace culprit::query
