// Arithmetic and reading with plain numbers: most machines of ours have no PMU.
#include "stat/interpretation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace culprit::stat {
namespace {

struct Given {
  std::string name;
  double value;
  double running_share = 1;
};

Metrics Of(const std::vector<Given>& given, double elapsed_s = 2, bool machine = false) {
  std::vector<EventStatus> events;
  Row row;
  for (const Given& one : given) {
    Event event;
    event.name = one.name;
    events.push_back({event, "perf", CountState::kCounted, ""});
    // A counter that was on for a part of the time has seen that part of the events.
    row.counts.push_back({CountState::kCounted,
                          static_cast<std::uint64_t>(one.value * one.running_share), 1'000'000,
                          static_cast<std::uint64_t>(1'000'000 * one.running_share)});
  }
  return ComputeMetrics(Counts(events, row), elapsed_s, machine, 4);
}

std::vector<std::string> Ids(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> ids;
  for (const Verdict& verdict : verdicts) ids.emplace_back(verdict.id);
  return ids;
}

using Ones = std::vector<std::string>;

TEST(Metrics, RatiosOfCounts) {
  const Metrics m = Of({{"task-clock", 1e9},
                        {"cycles:u", 3e9},
                        {"instructions:u", 6e9},
                        {"branches", 1e9},
                        {"branch-misses", 2e7},
                        {"LLC-loads", 4e6},
                        {"LLC-load-misses", 1e6},
                        {"context-switches", 500}});
  EXPECT_DOUBLE_EQ(*m.cpus_used, 0.5);
  EXPECT_DOUBLE_EQ(*m.ghz, 3);
  EXPECT_DOUBLE_EQ(*m.ipc, 2);
  EXPECT_DOUBLE_EQ(*m.branch_miss_pct, 2);
  EXPECT_DOUBLE_EQ(*m.llc_miss_pct, 25);
  EXPECT_DOUBLE_EQ(*m.switches_per_s, 250);
  EXPECT_FALSE(m.dtlb_miss_pct.has_value());
  EXPECT_FALSE(m.kernel_time_pct.has_value());
}

TEST(Metrics, MultiplexedCountsAreScaledBeforeTheyAreDivided) {
  const Metrics m = Of({{"cycles", 4e9, 0.25}, {"instructions", 2e9, 0.5}});
  EXPECT_NEAR(*m.ipc, 0.5, 1e-9);
}

TEST(Metrics, WhatWasNotCountedGivesNoRatio) {
  Event cycles, instructions;
  cycles.name = "cycles";
  instructions.name = "instructions";
  const std::vector<EventStatus> events = {{cycles, "perf", CountState::kCounted, ""},
                                           {instructions, "perf", CountState::kCounted, ""}};
  Row row;
  row.counts = {{CountState::kCounted, 0, 100, 100}, {CountState::kNeverOn, 0, 100, 0}};
  const Metrics m = ComputeMetrics(Counts(events, row), 0, false, 4);
  EXPECT_FALSE(m.ipc.has_value());
  EXPECT_FALSE(m.switches_per_s.has_value());
}

TEST(Metrics, TopDownOfBothGenerations) {
  const Metrics now = Of({{"topdown-retiring", 20},
                          {"topdown-bad-spec", 10},
                          {"topdown-fe-bound", 30},
                          {"topdown-be-bound", 40}});
  ASSERT_TRUE(now.top_down.has_value());
  EXPECT_DOUBLE_EQ(now.top_down->backend_bound, 40);
  const Metrics before = Of({{"topdown-total-slots", 1000},
                             {"topdown-slots-issued", 500},
                             {"topdown-slots-retired", 400},
                             {"topdown-fetch-bubbles", 200},
                             {"topdown-recovery-bubbles", 50}});
  ASSERT_TRUE(before.top_down.has_value());
  EXPECT_DOUBLE_EQ(before.top_down->retiring, 40);
  EXPECT_DOUBLE_EQ(before.top_down->frontend_bound, 20);
  EXPECT_DOUBLE_EQ(before.top_down->bad_speculation, 15);
  EXPECT_DOUBLE_EQ(before.top_down->backend_bound, 25);
}

TEST(Interpret, ComputeBound) {
  const auto verdicts =
      Interpret(Of({{"task-clock", 2e9}, {"cycles", 1e9}, {"instructions", 2e9}}));
  EXPECT_EQ(Ids(verdicts), Ones{"compute_bound"});
  EXPECT_EQ(verdicts.front().because, "IPC 2.00 > 1.50");
  EXPECT_EQ(verdicts.front().thresholds.front(), "ipc_compute");
}

TEST(Interpret, MemoryBoundNeedsMissesOrStalls) {
  const std::vector<Given> slow = {{"task-clock", 2e9}, {"cycles", 2e9}, {"instructions", 1e9}};
  EXPECT_EQ(Ids(Interpret(Of(slow))), Ones{"unclear"});
  auto misses = slow;
  misses.insert(misses.end(), {{"LLC-loads", 100}, {"LLC-load-misses", 23}});
  const auto by_misses = Interpret(Of(misses));
  EXPECT_EQ(Ids(by_misses), Ones{"memory_bound"});
  EXPECT_EQ(by_misses.front().because, "IPC 0.50 < 0.70 and LLC misses 23.0 % > 15 %");
  auto stalls = slow;
  stalls.push_back({"stalled-cycles-backend", 1.2e9});
  const auto by_stalls = Interpret(Of(stalls));
  EXPECT_EQ(Ids(by_stalls), Ones{"memory_bound"});
  EXPECT_EQ(by_stalls.front().thresholds,
            (std::vector<std::string_view>{"ipc_memory", "backend_stall_pct"}));
  auto few = slow;
  few.insert(few.end(), {{"LLC-loads", 100}, {"LLC-load-misses", 14}});
  EXPECT_EQ(Ids(Interpret(Of(few))), Ones{"unclear"});
}

TEST(Interpret, LockBoundNeedsSwitchesAndKernelTime) {
  const std::vector<Given> many = {{"task-clock", 2e9}, {"context-switches", 60'000}};
  auto in_kernel = many;
  in_kernel.insert(in_kernel.end(), {{"user-time", 4e8}, {"system-time", 6e8}});
  const auto verdicts = Interpret(Of(in_kernel));
  EXPECT_EQ(verdicts.front().id, "lock_bound");
  EXPECT_EQ(verdicts.front().because,
            "context switches 30,000/s > 10,000/s and kernel time 60.0 % > 50 %");
  auto in_user = many;
  in_user.insert(in_user.end(), {{"user-time", 6e8}, {"system-time", 4e8}});
  EXPECT_EQ(Ids(Interpret(Of(in_user))), Ones{"not_known"});
  // Involuntary ones decide where the total is not counted.
  const auto by_involuntary = Interpret(Of({{"task-clock", 2e9},
                                            {"involuntary-switches", 60'000},
                                            {"user-time", 4e8},
                                            {"system-time", 6e8}}));
  EXPECT_EQ(by_involuntary.front().id, "lock_bound");
}

TEST(Interpret, FrontendAndBranches) {
  const std::vector<Given> base = {{"task-clock", 2e9}, {"cycles", 2e9}, {"instructions", 2e9}};
  auto branches = base;
  branches.insert(branches.end(), {{"branches", 1000}, {"branch-misses", 120}});
  EXPECT_EQ(Ids(Interpret(Of(branches))), Ones{"branch_bound"});
  auto frontend = base;
  frontend.push_back({"stalled-cycles-frontend", 1e9});
  EXPECT_EQ(Ids(Interpret(Of(frontend))), Ones{"frontend_bound"});
}

TEST(Interpret, TopDownComesBeforeIpc) {
  const auto verdicts = Interpret(Of({{"task-clock", 2e9},
                                      {"cycles", 1e9},
                                      {"instructions", 2e9},
                                      {"topdown-retiring", 35},
                                      {"topdown-bad-spec", 5},
                                      {"topdown-fe-bound", 10},
                                      {"topdown-be-bound", 50}}));
  EXPECT_EQ(Ids(verdicts), Ones{"backend_bound"});
}

TEST(Interpret, WhoMostlyWaitsIsToldSo) {
  EXPECT_EQ(Ids(Interpret(Of({{"task-clock", 1e7}}))), Ones{"idle"});
  // Of a machine by the share of all CPUs.
  EXPECT_EQ(Ids(Interpret(Of({{"user-time", 1e8}, {"system-time", 1e8}}, 2, true))), Ones{"idle"});
}

TEST(Interpret, WithoutCountersItSaysWhy) {
  const auto verdicts = Interpret(Of({{"task-clock", 2e9}}));
  EXPECT_EQ(Ids(verdicts), Ones{"not_known"});
  EXPECT_NE(verdicts.front().because, "");
}

TEST(Thresholds, EachHasAName_AMeaningAndASource) {
  for (const Threshold& threshold : Thresholds()) {
    EXPECT_FALSE(threshold.meaning.empty()) << threshold.name;
    EXPECT_FALSE(threshold.source.empty()) << threshold.name;
    EXPECT_EQ(std::ranges::count(Thresholds(), threshold.name, &Threshold::name), 1);
  }
}

}  // namespace
}  // namespace culprit::stat
