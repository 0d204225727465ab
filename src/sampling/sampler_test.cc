// Needs perf events (root, or perf_event_paranoid low enough); says so and skips elsewhere.
#include "sampling/sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <iostream>

#include "profile/perf_data/reader.h"
#include "sampling/sample_packets.h"

namespace culprit::sampling {

// Not in a namespace of its own: its name is looked for.
__attribute__((noinline)) std::uint64_t BurnCpuForTest(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  volatile std::uint64_t sum = 0;
  while (std::clock() < end) {
    for (int i = 0; i < 100'000; ++i) sum = sum + static_cast<std::uint64_t>(i);
  }
  return sum;
}

namespace {

std::int64_t NsOf(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TEST(FindEvent, KnowsNamesRawNumbersAndNothingElse) {
  const auto clock = FindEvent("cpu-clock");
  ASSERT_TRUE(clock.ok());
  EXPECT_EQ(clock->type, 1U);  // PERF_TYPE_SOFTWARE
  EXPECT_EQ(clock->config, 0U);
  const auto raw = FindEvent("r01c2");
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(raw->type, 4U);  // PERF_TYPE_RAW
  EXPECT_EQ(raw->config, 0x1c2U);
  for (const char* wrong : {"", "cycle", "rxyz", "../x/y", "sched/../x", "/etc"}) {
    EXPECT_FALSE(FindEvent(wrong).ok()) << wrong;
  }
}

TEST(Sampler, FindsTheFunctionThatRunsByNameAndTime) {
  SampleConfig config;
  const auto event = FindEvent("cpu-clock");
  ASSERT_TRUE(event.ok());
  config.events = {*event};
  config.pids = {getpid()};
  config.frequency_hz = 499;
  config.clock_id = CLOCK_MONOTONIC;
  config.trace_clock = 3;
  auto sampler = Sampler::Start(config, "/tmp");
  if (!sampler.ok()) {
    std::cout << "SKIPPED ALOUD: " << sampler.error().ToString() << "\n";
    GTEST_SKIP();
  }
  timespec begin{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  EXPECT_NE(BurnCpuForTest(0.5), 1U);
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  const auto spool = (*sampler)->Stop();
  ASSERT_TRUE(spool.ok()) << spool.error().ToString();

  const auto file = MappedFile::OfFd(spool->file.get(), "spool");
  ASSERT_TRUE(file.ok());
  const auto profile = profile::ReadPerfData(file->text());
  ASSERT_TRUE(profile.ok()) << profile.error().ToString();
  std::int64_t all = 0;
  std::int64_t burnt = 0;
  for (const auto& sample : profile->samples) {
    if (profile->threads[sample.thread].tid != gettid()) continue;
    // The sampler's own start is sampled, too.
    if (sample.ts < NsOf(begin) || sample.ts > NsOf(end)) continue;
    all += sample.weight;
    for (auto at = sample.stack; at != 0; at = profile->stacks[at].parent) {
      if (profile->name(profile->stacks[at].frame).find("BurnCpuForTest") != std::string::npos) {
        burnt += sample.weight;
        break;
      }
    }
  }
  // Half a second of CPU time at 499 Hz, of which a loaded or throttled machine may miss some.
  EXPECT_GT(all, 100'000'000);
  EXPECT_LT(all, 1'000'000'000);
  EXPECT_GE(burnt * 10, all * 9);

  std::size_t packets = 0;
  const auto summary = WriteSamples(*spool, [&](std::string_view packet) {
    ++packets;
    EXPECT_FALSE(packet.empty());
  });
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->events.size(), 1U);
  EXPECT_EQ(summary->events[0].name, "cpu-clock");
  EXPECT_GE(packets, summary->events[0].samples);
  EXPECT_GT(summary->events[0].samples, 0U);
}

}  // namespace
}  // namespace culprit::sampling
