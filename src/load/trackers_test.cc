#include <gtest/gtest.h>

#include "load/block_tracker.h"
#include "load/clock_map.h"
#include "load/marker.h"
#include "load/marker_tracker.h"
#include "load/stack_table.h"
#include "load/testing_sink.h"
#include "load/thread_tracker.h"

namespace culprit::load {
namespace {

TEST(ThreadTracker, ATidUsedAgainIsANewThread) {
  StringPool strings;
  ThreadTracker threads(strings);
  const Utid first = threads.ThreadOfProcess(100, 100);
  const Utid worker = threads.CloneThread(10, first, 101, strings.Intern("w"));
  EXPECT_EQ(threads.upid_of(worker), threads.upid_of(first));
  threads.EndThread(20, 101);
  EXPECT_NE(threads.GetThread(101), worker);
  // The main thread's end is the process's end, and that of all its threads.
  const Utid other = threads.GetThread(101);
  threads.EndThread(30, 100);
  EXPECT_EQ(threads.processes()[threads.upid_of(first)].end_ts, 30);
  const Upid again = threads.ForkProcess(40, other, 100, strings.Intern("n"));
  EXPECT_NE(again, threads.upid_of(first));
  EXPECT_EQ(threads.process(again).start_ts, 40);
  EXPECT_NE(threads.GetThread(100), first);
}

TEST(ThreadTracker, TheProcessOfACloneBecomesKnownLater) {
  StringPool strings;
  ThreadTracker threads(strings);
  const Utid creator = threads.GetThread(7);
  const Utid first = threads.CloneThread(10, creator, 8, kNoString);
  const Utid second = threads.CloneThread(11, first, 9, kNoString);
  const Upid child = threads.ForkProcess(12, second, 50, strings.Intern("c"));
  EXPECT_EQ(threads.upid_of(second), kNone);
  threads.ThreadOfProcess(7, 7);
  EXPECT_EQ(threads.upid_of(second), threads.upid_of(creator));
  EXPECT_EQ(threads.process(child).parent_upid, threads.upid_of(creator));
  EXPECT_EQ(threads.threads()[creator].is_main_thread, true);
  EXPECT_EQ(threads.threads()[second].is_main_thread, false);
}

TEST(ThreadTracker, TheFirstParentAndTheBestNameStay) {
  StringPool strings;
  ThreadTracker threads(strings);
  const Upid process = threads.GetProcess(5);
  threads.SetParent(process, threads.GetProcess(4));
  threads.SetParent(process, threads.GetProcess(1));
  EXPECT_EQ(threads.process(threads.process(process).parent_upid).pid, 4);
  EXPECT_EQ(threads.reparented(), 1U);
  const Utid utid = threads.GetThread(5);
  threads.NameThread(utid, strings.Intern("tree"), NameSource::kProcessTree);
  threads.NameThread(utid, strings.Intern("comm"), NameSource::kFtrace);
  EXPECT_EQ(strings.Text(threads.thread(utid).name), "tree");
}

TEST(ThreadTracker, AGuessedProcessGivesWay) {
  StringPool strings;
  ThreadTracker threads(strings);
  const Utid main_thread = threads.ThreadOfProcess(10, 10);
  threads.ForkProcess(5, main_thread, 11, strings.Intern("t"), true);
  const Utid thread = threads.GetThread(11);
  const Upid guess = threads.upid_of(thread);
  EXPECT_EQ(threads.ThreadOfProcess(11, 10), thread);
  EXPECT_EQ(threads.upid_of(thread), threads.upid_of(main_thread));
  EXPECT_TRUE(threads.process(guess).is_void);
}

class BlockTrackerTest : public ::testing::Test {
 protected:
  static BlockEvent At(std::int64_t ts, std::uint64_t sector, std::uint32_t sectors) {
    BlockEvent event;
    event.ts = ts;
    event.dev = 2048;
    event.sector = sector;
    event.sectors = sectors;
    return event;
  }
  TraceStats stats_;
  CollectingSink<BlockIoRow> sink_;
  RowStream<BlockIoRow> rows_{&sink_};
  BlockTracker tracker_{rows_, stats_};
};

TEST_F(BlockTrackerTest, OverlappingRequestsMatchBySector) {
  // The case that a stack of starts gets wrong: 3900 and 1000 ns, not 4000 and 900.
  tracker_.Start(At(1000, 8, 8));
  tracker_.Start(At(2000, 64, 8));
  tracker_.Done(At(3000, 64, 0));
  tracker_.Done(At(4900, 8, 0));
  rows_.Finish();
  ASSERT_EQ(sink_.rows.size(), 2U);
  EXPECT_EQ(sink_.rows[0].complete_ts - sink_.rows[0].issue_ts, 3900);
  EXPECT_EQ(sink_.rows[1].complete_ts - sink_.rows[1].issue_ts, 1000);
}

TEST_F(BlockTrackerTest, WaitsMergesPartsAndRequeues) {
  tracker_.Insert(At(100, 80, 8));
  tracker_.BackMerge(At(110, 88, 8));
  tracker_.FrontMerge(At(120, 72, 8));
  BlockEvent issue = At(200, 72, 24);
  issue.bytes = 24 * 512;
  tracker_.Issue(issue);
  tracker_.Requeue(At(250, 72, 24));
  tracker_.Issue(At(300, 72, 24));
  tracker_.Complete(At(400, 72, 8));
  tracker_.Complete(At(500, 80, 16));
  tracker_.Complete(At(600, 80, 16));  // of nothing
  rows_.Finish();
  ASSERT_EQ(sink_.rows.size(), 1U);
  const BlockIoRow& row = sink_.rows[0];
  EXPECT_EQ(row.sector, 72U);
  EXPECT_EQ(row.bytes, 24U * 512);
  EXPECT_EQ(row.merges, 2);
  EXPECT_EQ(row.requeues, 1);
  EXPECT_EQ(row.insert_ts, 100);
  EXPECT_EQ(row.issue_ts, 300);
  EXPECT_EQ(row.complete_ts, 500);
  EXPECT_EQ(stats_.Get("block_completions_unmatched"), 1);
}

TEST_F(BlockTrackerTest, DevicesHaveTheirNamesWhereTheyAreKnown) {
  tracker_.NameDevice(2048, 7);
  tracker_.Issue(At(100, 0, 0));
  BlockEvent other = At(200, 0, 0);
  other.dev = 2064;
  tracker_.Issue(other);
  rows_.Finish();
  ASSERT_EQ(sink_.rows.size(), 2U);
  EXPECT_EQ(sink_.rows[0].device, 7U);
  EXPECT_EQ(sink_.rows[1].device, kNoString);
}

TEST_F(BlockTrackerTest, FlushesAtOneSectorFinishInOrder) {
  tracker_.Issue(At(100, 0, 0));
  tracker_.Issue(At(200, 0, 0));
  tracker_.Complete(At(300, 0, 0));
  rows_.Finish();
  EXPECT_EQ(sink_.rows[0].complete_ts, 300);
  EXPECT_EQ(sink_.rows[1].complete_ts, -1);
}

TEST(Marker, Texts) {
  EXPECT_EQ(ParseMarker("B|12|a|b\n")->name, "a|b");
  EXPECT_EQ(ParseMarker("B|12|")->name, "[empty slice name]");
  EXPECT_EQ(ParseMarker("E")->phase, 'E');
  EXPECT_EQ(ParseMarker("C|12|n|-9223372036854775808")->value, INT64_MIN);
  EXPECT_EQ(ParseMarker("C|12|n|7|Blob")->value, 7);
  EXPECT_EQ(ParseMarker("H|12|track|5")->value, 5);
  EXPECT_FALSE(ParseMarker("C|12|n|x").has_value());
  EXPECT_FALSE(ParseMarker("S|12|n").has_value());
  EXPECT_FALSE(ParseMarker("B|x|n").has_value());
  EXPECT_FALSE(ParseMarker("some text").has_value());
  EXPECT_FALSE(ParseMarker("").has_value());
}

TEST(MarkerTracker, EndsCloseTheNewestAndAsyncDoesNotNest) {
  StringPool strings;
  ThreadTracker threads(strings);
  TrackTable tracks;
  TraceStats stats;
  CollectingSink<SliceRow> slices;
  CollectingSink<CounterRow> counters;
  RowStream<SliceRow> slice_rows(&slices);
  RowStream<CounterRow> counter_rows(&counters);
  SliceTracker slice_tracker(slice_rows, stats);
  MarkerTracker markers(strings, threads, tracks, slice_tracker, counter_rows, stats);
  markers.Write(10, 0, 7, "B|7|outer");
  markers.Write(20, 0, 7, "B|7|inner");
  markers.Write(30, 0, 7, "E|7");
  markers.Write(40, 0, 7, "E|7");
  markers.Write(50, 0, 7, "E|7");
  markers.Write(60, 0, 7, "S|7|io|1");
  markers.Write(61, 0, 7, "S|7|io|1");
  markers.Write(62, 0, 8, "S|7|io|2");
  markers.Write(70, 0, 8, "F|7|io|1");
  markers.Write(75, 0, 8, "F|7|io|2");
  slice_rows.Finish();
  ASSERT_EQ(slices.rows.size(), 4U);
  EXPECT_EQ(slices.rows[0].dur, 30);
  EXPECT_EQ(slices.rows[1].dur, 10);
  EXPECT_EQ(slices.rows[1].depth, 1U);
  EXPECT_EQ(slices.rows[1].parent_id, 0U);
  EXPECT_EQ(slices.rows[2].dur, 10);
  EXPECT_EQ(slices.rows[3].dur, 13);
  EXPECT_NE(slices.rows[2].track_id, slices.rows[3].track_id);
  EXPECT_EQ(stats.Get("marker_ends_unmatched"), 1);
}

TEST(ClockMap, PiecewiseByTheNewestSnapshotBefore) {
  ClockMap clocks;
  clocks.AddSnapshot({{6, 0, 1000}, {1, 0, 5000}});
  clocks.AddSnapshot({{6, 0, 2000}, {1, 0, 6100}});
  clocks.AddSnapshot({{64, 9, 10}, {1, 0, 5500}});
  clocks.Prepare();
  EXPECT_EQ(clocks.ToTraceTime(6, 0, 1234), 1234);
  EXPECT_EQ(clocks.ToTraceTime(1, 0, 4000), 0);  // before the first: by the first
  EXPECT_EQ(clocks.ToTraceTime(1, 0, 6099), 2099);
  EXPECT_EQ(clocks.ToTraceTime(1, 0, 6100), 2000);
  EXPECT_EQ(clocks.ToTraceTime(64, 9, 11), 1501);  // through REALTIME
  EXPECT_FALSE(clocks.ToTraceTime(64, 8, 11).has_value());
  EXPECT_FALSE(clocks.ToTraceTime(3, 0, 1).has_value());
}

TEST(StackTable, TheBlockedFunctionIsNotTheScheduler) {
  StringPool strings;
  StackTable stacks(strings);
  const std::string_view functions[] = {"do_syscall_64", "vfs_read", "folio_wait_bit_common",
                                        "io_schedule",   "schedule", "__schedule.isra.0"};
  const auto stack = stacks.Of(functions);
  EXPECT_EQ(strings.Text(stack.blocked_function), "folio_wait_bit_common");
  EXPECT_EQ(stacks.callsites().size(), 6U);
  EXPECT_EQ(stacks.callsites()[stack.callsite].depth, 5U);
  EXPECT_EQ(stacks.Of(functions).callsite, stack.callsite);
  EXPECT_TRUE(IsSchedulerFunction("schedule+0x2e/0x80"));
  EXPECT_FALSE(IsSchedulerFunction("schedule_work"));
}

}  // namespace
}  // namespace culprit::load
