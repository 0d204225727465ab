#include "capture/own_threads/told_states.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace culprit::capture {
namespace {

constexpr std::int32_t kTid = 7;

SwitchRecord In(std::int64_t ts, std::int32_t cpu = 0) { return {ts, kTid, cpu, SwitchKind::kIn}; }
SwitchRecord Out(std::int64_t ts, std::int32_t cpu = 0) {
  return {ts, kTid, cpu, SwitchKind::kOut};
}
SwitchRecord Preempted(std::int64_t ts, std::int32_t cpu = 0) {
  return {ts, kTid, cpu, SwitchKind::kOutPreempted};
}
ThreadSample Look(std::int64_t ts, char state, std::uint64_t run, std::uint64_t wait,
                  std::uint32_t wchan = 0, std::int32_t cpu = 0) {
  return {.ts = ts,
          .tid = kTid,
          .cpu = cpu,
          .state = state,
          .wchan = wchan,
          .run_ns = run,
          .wait_ns = wait};
}

struct Row {
  std::int64_t ts, dur;
  std::string state;
  bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.ts << "+" << row.dur << " " << row.state;
}
std::vector<Row> Rows(const ToldStates& told) {
  std::vector<Row> rows;
  for (const ToldState& state : told.states) {
    rows.push_back({state.ts, state.dur, std::string(state.state)});
  }
  return rows;
}
using R = std::vector<Row>;

constexpr std::int64_t kMs = 1'000'000;

TEST(StatesOfSwitches, AWaitIsSplitByTheRunDelayThatEndedIt) {
  // Asleep from 10 to 50 ms; of that it stood ready for the last 5.
  const auto told = StatesOfSwitches(
      0, 100 * kMs, {Out(10 * kMs), In(50 * kMs, 1), Out(60 * kMs, 1)},
      {Look(0, 'R', 0, 0), Look(20 * kMs, 'S', 10 * kMs, 0, 3),
       Look(70 * kMs, 'D', 20 * kMs, 5 * kMs, 4), Look(100 * kMs, 'D', 20 * kMs, 5 * kMs, 4)});
  EXPECT_EQ(Rows(told), (R{{0, 10 * kMs, "Running"},
                           {10 * kMs, 35 * kMs, "S"},
                           {45 * kMs, 5 * kMs, "R"},
                           {50 * kMs, 10 * kMs, "Running"},
                           {60 * kMs, -1, "D"}}));
  EXPECT_EQ(told.states[1].wchan, 3u);
  EXPECT_EQ(told.states[3].cpu, 1);
  EXPECT_EQ(told.states[0].end_state, "S");
  EXPECT_EQ(told.states[3].end_state, "D");
  EXPECT_EQ(told.waits, 2u);
  EXPECT_EQ(told.waits_without_kind, 0u);
}

TEST(StatesOfSwitches, APreemptedThreadIsReadyFromEndToEnd) {
  const auto told = StatesOfSwitches(0, 40 * kMs, {Preempted(10 * kMs), In(30 * kMs)},
                                     {Look(0, 'R', 0, 0), Look(40 * kMs, 'R', 20 * kMs, 20 * kMs)});
  EXPECT_EQ(Rows(told),
            (R{{0, 10 * kMs, "Running"}, {10 * kMs, 20 * kMs, "R+"}, {30 * kMs, -1, "Running"}}));
  EXPECT_EQ(told.waits, 0u);
  EXPECT_EQ(told.states[0].end_state, "R+");
}

TEST(StatesOfSwitches, AWaitThatNoSampleMetIsCountedAsSuch) {
  const auto told = StatesOfSwitches(0, 20 * kMs, {Out(5 * kMs), In(6 * kMs)},
                                     {Look(0, 'R', 0, 0), Look(20 * kMs, 'R', 0, 0)});
  EXPECT_EQ(told.states[1].state, "S");
  EXPECT_EQ(told.waits_without_kind, 1u);
  EXPECT_EQ(told.without_kind_ns, kMs);
}

TEST(StatesOfSwitches, SeveralWaitsBetweenTwoLooksShareTheirRunDelay) {
  // 3 ms of run delay; a preemption of 1 ms is part of it; the two waits share the rest, but the
  // short one cannot take more than it is long.
  const auto told = StatesOfSwitches(0, 20 * kMs,
                                     {Out(1 * kMs), In(1 * kMs + 500'000), Preempted(3 * kMs),
                                      In(4 * kMs), Out(5 * kMs), In(9 * kMs)},
                                     {Look(0, 'R', 0, 0), Look(10 * kMs, 'R', 4 * kMs, 3 * kMs)});
  std::int64_t ready = 0;
  for (const ToldState& state : told.states) {
    if (state.state == "R" || state.state == "R+") ready += state.dur;
  }
  EXPECT_EQ(ready, 3 * kMs);
  EXPECT_EQ(told.waits_shared, 2u);
}

TEST(StatesOfSwitches, RowsOfAThreadLieEndToEnd) {
  std::vector<SwitchRecord> switches;
  std::vector<ThreadSample> samples = {Look(0, 'S', 0, 0)};
  std::int64_t ts = 0;
  for (int i = 0; i < 200; ++i) {
    switches.push_back(In(ts += 700'000 + i * 1000, i % 2));
    ts += 300'000;
    switches.push_back(i % 3 == 0 ? Preempted(ts, i % 2) : Out(ts, i % 2));
    if (i % 10 == 0) samples.push_back(Look(ts + 1, i % 3 == 0 ? 'R' : 'S', 0, i * 100'000u));
  }
  const auto told = StatesOfSwitches(0, ts + kMs, switches, samples);
  std::int64_t at = 0;
  for (const ToldState& state : told.states) {
    EXPECT_EQ(state.ts, at);
    at = state.ts + state.dur;
  }
  EXPECT_EQ(told.states.back().dur, -1);
  EXPECT_EQ(told.unknown, 0u);
}

TEST(StatesOfSwitches, BirthAndEnd) {
  const auto told = StatesOfSwitches(0, 100 * kMs,
                                     {{10 * kMs, kTid, -1, SwitchKind::kBorn},
                                      In(12 * kMs),
                                      Out(20 * kMs),
                                      In(30 * kMs),
                                      {35 * kMs, kTid, 0, SwitchKind::kExit}},
                                     {Look(15 * kMs, 'R', 0, 0)});
  EXPECT_EQ(Rows(told), (R{{10 * kMs, 2 * kMs, "R"},
                           {12 * kMs, 8 * kMs, "Running"},
                           {20 * kMs, 10 * kMs, "S"},
                           {30 * kMs, 5 * kMs, "Running"}}));
  EXPECT_EQ(told.states.back().end_state, "X");
  EXPECT_EQ(told.waits_unsplit, 1u);  // nobody looked after it
}

TEST(StatesOfSwitches, LostRecordsAreAStretchOfNotKnown) {
  const auto told = StatesOfSwitches(0, 50 * kMs, {Out(10 * kMs), Out(30 * kMs)},
                                     {Look(0, 'R', 0, 0), Look(40 * kMs, 'S', 0, 0)});
  EXPECT_EQ(told.unknown, 1u);
  EXPECT_EQ(told.states[1].state, "");
  EXPECT_EQ(told.states[1].dur, 20 * kMs);
}

TEST(StatesOfSwitches, AThreadWatchedTwiceIsOneThread) {
  const auto told = StatesOfSwitches(
      0, 50 * kMs, {Out(10 * kMs), Out(10 * kMs + 300), In(30 * kMs), In(30 * kMs + 200)},
      {Look(0, 'R', 0, 0), Look(20 * kMs, 'S', 0, 0), Look(50 * kMs, 'R', 0, 0)});
  EXPECT_EQ(told.unknown, 0u);
  EXPECT_EQ(told.states.size(), 3u);
}

TEST(StatesOfSamples, TimesAreTheKernelsAndAddUp) {
  const auto told = StatesOfSamples(0, 40 * kMs,
                                    {Look(0, 'S', 0, 0, 5), Look(30 * kMs, 'R', 4 * kMs, 2 * kMs),
                                     Look(40 * kMs, 'R', 10 * kMs, 6 * kMs)});
  EXPECT_EQ(Rows(told), (R{{0, 24 * kMs, "S"},
                           {24 * kMs, 2 * kMs, "R"},
                           {26 * kMs, 10 * kMs, "Running"},
                           {36 * kMs, -1, "R"}}));
  EXPECT_EQ(told.states[0].wchan, 5u);
}

TEST(StatesOfSamples, AThreadThatEndedHasNoStateAfterIt) {
  const auto told = StatesOfSamples(0, 40 * kMs, {Look(0, 'D', 0, 0), Look(10 * kMs, 'X', 0, 0)});
  EXPECT_EQ(Rows(told), (R{{0, 10 * kMs, "D"}}));
}

}  // namespace
}  // namespace culprit::capture
