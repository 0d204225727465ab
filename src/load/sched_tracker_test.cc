#include "load/sched_tracker.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "load/testing_sink.h"

namespace culprit::load {
namespace {

using tables::kStatePreempted;
using tables::kStateRunnable;
using tables::kStateRunning;
using tables::kStateSleeping;
using tables::kStateUninterruptible;

class SchedTrackerTest : public ::testing::Test {
 protected:
  SchedTrackerTest() { threads_.UseIdleThread(); }

  void Switch(std::uint32_t cpu, std::int64_t ts, std::int64_t prev, SchedState state,
              std::int64_t next) {
    tracker_.Switch({.cpu = cpu,
                     .ts = ts,
                     .prev_tid = prev,
                     .prev_state = state,
                     .next_tid = next,
                     .next_prio = 120});
  }
  void Wake(std::int64_t ts, std::int64_t tid, std::int64_t waker) {
    tracker_.Waking({.ts = ts, .wakee_tid = tid, .target_cpu = 1}, threads_.GetThread(waker));
  }
  // The states of a thread, as (ts, dur, state).
  using State = std::tuple<std::int64_t, std::int64_t, SchedState>;
  std::vector<State> StatesOf(std::int64_t tid) {
    Finish();
    std::vector<State> states;
    for (const ThreadStateRow& row : states_.rows) {
      if (threads_.threads()[row.utid].tid == tid) states.emplace_back(row.ts, row.dur, row.state);
    }
    return states;
  }
  void Finish() {
    if (is_finished_) return;
    is_finished_ = true;
    slice_rows_.Finish();
    state_rows_.Finish();
    spurious_rows_.Finish();
  }

  StringPool strings_;
  ThreadTracker threads_{strings_};
  TraceStats stats_;
  CollectingSink<SchedRow> slices_;
  CollectingSink<ThreadStateRow> states_;
  CollectingSink<SpuriousWakeupRow> spurious_;
  RowStream<SchedRow> slice_rows_{&slices_};
  RowStream<ThreadStateRow> state_rows_{&states_};
  RowStream<SpuriousWakeupRow> spurious_rows_{&spurious_};
  SchedTracker tracker_{threads_, {slice_rows_, state_rows_, spurious_rows_}, stats_};
  bool is_finished_ = false;
};

TEST_F(SchedTrackerTest, PreemptedIsNotAsleep) {
  Switch(0, 100, 0, kStateRunnable, 5);
  Switch(0, 200, 5, kStatePreempted, 6);
  Wake(250, 5, 6);  // not asleep: changes nothing
  Switch(0, 300, 6, kStateSleeping, 5);
  EXPECT_EQ(StatesOf(5),
            (std::vector<State>{
                {100, 100, kStateRunning}, {200, 100, kStatePreempted}, {300, -1, kStateRunning}}));
  ASSERT_EQ(spurious_.rows.size(), 1U);
  EXPECT_EQ(spurious_.rows[0].ts, 250);
}

TEST_F(SchedTrackerTest, AWakeupCountsWhereNoWakingWasSeen) {
  Switch(0, 100, 5, kStateSleeping, 0);
  tracker_.Woken({.ts = 150, .wakee_tid = 5, .target_cpu = 3}, threads_.GetThread(9));
  tracker_.Woken({.ts = 160, .wakee_tid = 5, .target_cpu = 2}, threads_.GetThread(9));
  Switch(0, 200, 0, kStateRunnable, 5);
  EXPECT_EQ(StatesOf(5),
            (std::vector<State>{
                {100, 50, kStateSleeping}, {150, 50, kStateRunnable}, {200, -1, kStateRunning}}));
  EXPECT_EQ(states_.rows[1].target_cpu, 2U);  // what the kernel picked in the end
  EXPECT_TRUE(spurious_.rows.empty());
}

TEST_F(SchedTrackerTest, TheReasonComesAfterTheWaking) {
  Switch(0, 100, 5, kStateUninterruptible, 0);
  Wake(150, 5, 9);
  tracker_.BlockedReason(threads_.GetThread(5), 1, strings_.Intern("vfs_read"));
  Switch(0, 200, 0, kStateRunnable, 5);
  tracker_.BlockedReason(threads_.GetThread(5), 0, strings_.Intern("late"));  // it runs: too late
  Finish();
  EXPECT_EQ(states_.rows[0].io_wait, 1);
  EXPECT_EQ(strings_.Text(states_.rows[0].blocked_function), "vfs_read");
  EXPECT_EQ(states_.rows[1].blocked_function, kNoString);
}

TEST_F(SchedTrackerTest, OnTwoCpusAtOnceCutsTheStateAndNotTheSlice) {
  Switch(0, 100, 0, kStateRunnable, 5);
  Switch(1, 150, 0, kStateRunnable, 5);
  Switch(0, 200, 5, kStateSleeping, 0);
  EXPECT_EQ(StatesOf(5),
            (std::vector<State>{
                {100, 50, kStateRunning}, {150, 50, kStateRunning}, {200, -1, kStateSleeping}}));
  EXPECT_EQ(slices_.rows[0].dur, 100);
}

TEST_F(SchedTrackerTest, AMismatchEndsTheOldThreadAtTheLastEventSeen) {
  Switch(0, 100, 0, kStateRunnable, 5);
  tracker_.Seen(0, 130);
  Switch(0, 900, 7, kStateSleeping, 0);  // the switch from 5 to 7 is missing
  EXPECT_EQ(StatesOf(5), (std::vector<State>{{100, 30, kStateRunning}}));
  EXPECT_EQ(StatesOf(7), (std::vector<State>{{900, -1, kStateSleeping}}));
  EXPECT_EQ(slices_.rows[0].dur, 30);
  EXPECT_EQ(slices_.rows[0].end_state, kNoState);
  EXPECT_EQ(stats_.Get("mismatched_sched_switch_tids"), 1);
}

TEST_F(SchedTrackerTest, NothingIsKnownAfterAGapUntilTheNextSwitch) {
  tracker_.SwitchCompact(0, 100, kStateRunnable, 5, kNoString, 120, false);  // the first: no row
  tracker_.SwitchCompact(0, 200, kStateSleeping, 6, kNoString, 120, false);
  tracker_.EventsLost(0);
  tracker_.SwitchCompact(0, 900, kStateUninterruptible, 8, kNoString, 120, false);
  tracker_.SwitchCompact(0, 950, kStateSleeping, 6, kNoString, 120, false);
  EXPECT_EQ(StatesOf(6), (std::vector<State>{{200, 0, kStateRunning}, {950, -1, kStateRunning}}));
  EXPECT_EQ(StatesOf(8), (std::vector<State>{{900, 50, kStateRunning}, {950, -1, kStateSleeping}}));
  ASSERT_EQ(slices_.rows.size(), 3U);
  EXPECT_EQ(slices_.rows[0].dur, 0);
  EXPECT_EQ(slices_.rows[1].dur, 50);
}

TEST_F(SchedTrackerTest, ExecOfAnotherThreadTakesOverItsTid) {
  Switch(0, 100, 0, kStateRunnable, 12);
  tracker_.TidChanged(0, 12, 10);  // thread 12 of process 10 called exec
  Switch(0, 200, 10, kStateSleeping, 0);
  Finish();
  EXPECT_EQ(slices_.rows[0].dur, 100);
  EXPECT_EQ(stats_.Get("mismatched_sched_switch_tids"), 0);
}

TEST_F(SchedTrackerTest, ANewTaskWaitsForItsFirstCpu) {
  Switch(0, 100, 0, kStateRunnable, 5);
  tracker_.NewTask(150, threads_.StartThread(150, 20), threads_.GetThread(5));
  Switch(0, 200, 5, kStatePreempted, 20);
  EXPECT_EQ(StatesOf(20),
            (std::vector<State>{{150, 50, kStateRunnable}, {200, -1, kStateRunning}}));
  EXPECT_EQ(states_.rows[1].waker_id, 0U);  // the running row of its creator
}

TEST(RowStream, LongOpenRowsLeaveLate) {
  CollectingSink<CounterRow> sink;
  RowStream<CounterRow> rows(&sink, 2);  // a window of two blocks
  const RowId open = rows.Open({.id = 0, .track_id = 0, .ts = 1, .value = 0});
  for (std::size_t i = 1; i < 4 * kBlockRows; ++i) {
    rows.Append({.id = 0, .track_id = 0, .ts = static_cast<std::int64_t>(i + 1), .value = 0});
  }
  EXPECT_FALSE(sink.rows.empty());  // the window does not wait for it
  ASSERT_NE(rows.Find(open), nullptr);
  rows.Find(open)->value = 7;
  rows.Close(open);
  rows.Finish();
  ASSERT_EQ(sink.rows.size(), 4 * kBlockRows);
  EXPECT_EQ(sink.rows.back().id, open);
  EXPECT_EQ(sink.rows.back().value, 7);
  for (std::size_t i = 0; i + 1 < sink.rows.size(); ++i) EXPECT_EQ(sink.rows[i].id, i + 1);
}

}  // namespace
}  // namespace culprit::load
