#include "base/signal_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace culprit {
namespace {

TEST(SignalWatch, SignalsAreHeldBackAndTold) {
  auto watch = SignalWatch::Open();
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(watch->Take(), 0);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(watch->Take(), SIGTERM);
  EXPECT_EQ(watch->Take(), 0);
}

TEST(SignalWatch, DuringWorkAnotherThreadHearsThem) {
  auto watch = SignalWatch::Open();
  ASSERT_TRUE(watch.ok());
  std::atomic<bool> asked = false;
  std::atomic<int> ticks = 0;
  const int signal = watch->During(
      [&] {
        kill(getpid(), SIGINT);
        while (!asked || ticks == 0) std::this_thread::yield();
      },
      [&] { asked = true; }, [&](DurationNs) { ++ticks; });
  EXPECT_EQ(signal, SIGINT);
  EXPECT_EQ(watch->During([] {}, [] {}, {}), 0);
}

}  // namespace
}  // namespace culprit
