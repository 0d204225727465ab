#include "capture/ring_stats.h"

#include <gtest/gtest.h>

namespace culprit::capture {
namespace {

TEST(RingStats, AreReadByTheirNames) {
  const RingStats stats = ParseRingStats(
      "entries: 129\noverrun: 7\ncommit overrun: 2\nbytes: 6900\noldest event ts:  1232.540617\n"
      "now ts:  1240.000001\ndropped events: 5\nread events: 1000\n");
  EXPECT_EQ(stats.entries, 129U);
  EXPECT_EQ(stats.overrun, 7U);
  EXPECT_EQ(stats.commit_overrun, 2U);
  EXPECT_EQ(stats.bytes, 6900U);
  EXPECT_DOUBLE_EQ(stats.oldest_event_ts_s, 1232.540617);
  EXPECT_DOUBLE_EQ(stats.now_ts_s, 1240.000001);
  EXPECT_EQ(stats.dropped_events, 5U);
  EXPECT_EQ(stats.read_events, 1000U);
  EXPECT_EQ(LostEvents(stats), 14U);
}

TEST(RingStats, OfAnOldKernelOrOfNothingAreZero) {
  const RingStats stats = ParseRingStats("entries: 3\noverrun: x\nnonsense\n");
  EXPECT_EQ(stats.entries, 3U);
  EXPECT_EQ(LostEvents(stats), 0U);
  EXPECT_EQ(ParseRingStats("").entries, 0U);
}

}  // namespace
}  // namespace culprit::capture
