#include "analysis/trace_time.h"

#include <gtest/gtest.h>

namespace culprit::analysis {
namespace {

constexpr Interval kTrace{1'000'000'000'000, 1'010'000'000'000};  // 10 s

TEST(TraceTime, CountsFromTheBeginTheEndOrTheClock) {
  EXPECT_EQ(ParseTraceTime("1.5s", kTrace).value(), 1'001'500'000'000);
  EXPECT_EQ(ParseTraceTime("200ms", kTrace).value(), 1'000'200'000'000);
  EXPECT_EQ(ParseTraceTime("3", kTrace).value(), 1'003'000'000'000);
  EXPECT_EQ(ParseTraceTime("-2s", kTrace).value(), 1'008'000'000'000);
  EXPECT_EQ(ParseTraceTime("1004000000001", kTrace).value(), 1'004'000'000'001);
}

TEST(TraceTime, WhatIsNoTimeOfTheRecordingIsAnError) {
  for (const char* text : {"11s", "-11s", "soon", "", "-", "999999999999", "99999999999999999999",
                           "9999999999999999999s", "--2s"}) {
    EXPECT_FALSE(ParseTraceTime(text, kTrace).ok()) << text;
  }
}

}  // namespace
}  // namespace culprit::analysis
