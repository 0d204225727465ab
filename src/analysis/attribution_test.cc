// Walks over timelines of plain numbers: one number in them stands for one ns.
#include "analysis/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace culprit::analysis {
namespace {

constexpr auto kRun = Activity::kRunning;
constexpr auto kReady = Activity::kRunnable;
constexpr auto kPreempted = Activity::kPreempted;
constexpr auto kSleep = Activity::kSleeping;
constexpr auto kD = Activity::kBlocked;

// Threads 1, 2, ... are of processes 1, 2, ...; 0 is idle.
struct Scene {
  Timeline::Rows rows;

  explicit Scene(std::int64_t length, Utid threads) {
    rows.window = {0, length};
    for (Utid utid = 0; utid <= threads; ++utid) {
      rows.threads.push_back({.utid = utid, .upid = utid, .tid = utid});
      rows.processes.push_back({.upid = utid, .pid = utid});
    }
    rows.texts = {""};
    rows.cpu_runs.resize(2);
  }
  std::uint32_t Text(const char* text) {
    rows.texts.emplace_back(text);
    return static_cast<std::uint32_t>(rows.texts.size() - 1);
  }
  State& Add(Utid utid, std::int64_t begin, std::int64_t end, Activity activity,
             std::int16_t cpu = -1) {
    rows.states.push_back(
        {.ts = begin, .end = end, .utid = utid, .cpu = cpu, .activity = activity});
    return rows.states.back();
  }
  void Run(Utid utid, std::int64_t begin, std::int64_t end, std::int16_t cpu = 0) {
    Add(utid, begin, end, kRun, cpu);
    OnCpu(utid, begin, end, cpu);
  }
  void OnCpu(Utid utid, std::int64_t begin, std::int64_t end, std::int16_t cpu = 0) {
    rows.cpu_runs[cpu].push_back({begin, end, utid});
  }
  void Woken(Utid utid, std::int64_t begin, std::int64_t end, Utid waker, std::int16_t cpu = 0) {
    Add(utid, begin, end, kReady, cpu).waker = waker;
  }
  void WokenInIrq(Utid utid, std::int64_t begin, std::int64_t end, Utid running = kIdleThread) {
    State& state = Add(utid, begin, end, kReady, 0);
    state.waker = running;
    state.woken_in_irq = true;
  }
  Attribution Explain(Utid utid) {
    const auto by_time = [](const auto& a, const auto& b) { return a.ts < b.ts; };
    std::stable_sort(rows.states.begin(), rows.states.end(), by_time);
    for (auto& runs : rows.cpu_runs) std::stable_sort(runs.begin(), runs.end(), by_time);
    const Timeline timeline(rows);
    Attribution result = Attribute(timeline, utid, timeline.window());
    EXPECT_EQ(result.Total(), timeline.window().length());
    return result;
  }
};

std::int64_t Ns(const Attribution& attribution, const Cause& cause) {
  const auto sums = attribution.ByCause();
  const auto found = sums.find(cause);
  return found == sums.end() ? 0 : found->second.ns;
}

TEST(Attribution, ReadyTimeIsPutDownToAllWhoRanAndNotToTheFirst) {
  Scene scene(100, 3);
  scene.Run(1, 0, 10);
  scene.Add(1, 10, 60, kPreempted);
  scene.OnCpu(2, 10, 15);
  scene.OnCpu(3, 15, 50);
  scene.OnCpu(2, 50, 60);
  scene.Run(1, 60, 100);
  const Attribution result = scene.Explain(1);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 1}), 50);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 1, 2}), 15);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 1, 3}), 35);
  const Amount amount = result.ByCause().at({CauseKind::kCpuTaken, 1, 2});
  EXPECT_EQ(amount.count, 1);  // one wait, although it ran twice within
  EXPECT_EQ(amount.worst_ts, 10);
}

TEST(Attribution, ReadyTimeFollowsMigrations) {
  Scene scene(100, 3);
  scene.Run(1, 0, 10, 0);
  scene.Add(1, 10, 60, kPreempted);
  scene.OnCpu(2, 10, 60, 0);
  scene.OnCpu(3, 0, 60, 1);
  scene.Run(1, 60, 100, 1);
  scene.rows.migrations.push_back({.ts = 30, .utid = 1, .from = 0, .to = 1});
  const Attribution result = scene.Explain(1);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 1, 2}), 20);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 1, 3}), 30);
}

TEST(Attribution, InterruptsAndIdleTimeOfTheCpuAreNobodysFault) {
  Scene scene(100, 2);
  scene.Run(1, 0, 10);
  scene.Add(1, 10, 60, kPreempted);
  scene.OnCpu(2, 10, 30);
  scene.OnCpu(kIdleThread, 30, 50);  // 50..60 is not seen
  scene.Run(1, 60, 100);
  const auto soft = scene.Text("NET_RX");
  const auto hard = scene.Text("eth0");
  scene.rows.irq_runs.resize(1);
  scene.rows.irq_runs[0] = {{20, 40, soft, true}, {25, 27, hard, false}};
  const Attribution result = scene.Explain(1);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 1, 2}), 10);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuIrq, 1, kNone, soft}), 18);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuIrq, 1, kNone, hard}), 2);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuIdle, 1}), 10);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuUnseen, 1}), 10);
}

// Victim 1 waits for 2, which waited for 3, which waited for a disk and then for its CPU.
TEST(Attribution, WaitsAreExplainedByTheWakersOwnTime) {
  Scene scene(100, 4);
  const auto disk = scene.Text("nvme0n1");
  scene.Run(1, 0, 10, 0);
  scene.Add(1, 10, 90, kSleep);
  scene.Woken(1, 90, 90, 2);
  scene.Run(1, 90, 100, 0);
  scene.Run(2, 0, 20, 1);
  scene.Add(2, 20, 70, kSleep);
  scene.Woken(2, 70, 75, 3, 1);
  scene.OnCpu(3, 60, 72, 1);
  scene.OnCpu(kIdleThread, 72, 75, 1);
  scene.Run(2, 75, 95, 1);
  scene.Add(3, 0, 50, kD);
  scene.WokenInIrq(3, 50, 60);
  scene.OnCpu(4, 45, 60, 0);
  scene.Add(3, 60, 72, kRun, 1);
  scene.rows.disk_requests.push_back({.begin = 5, .complete = 49, .device = disk});
  const Attribution result = scene.Explain(1);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 1}), 20);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 2}), 10 + 15);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 2, 3}), 2);
  EXPECT_EQ(Ns(result, {CauseKind::kCpuIdle, 2}), 3);
  EXPECT_EQ(Ns(result, {CauseKind::kDisk, 3, kNone, disk}), 30);  // 20..50: cut to 2's wait
  EXPECT_EQ(Ns(result, {CauseKind::kCpuTaken, 3, 4}), 10);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 3}), 10);  // 60..70
  ASSERT_EQ(result.nodes.size(), 3U);
  EXPECT_EQ(result.nodes[1].thread, 2U);
  EXPECT_EQ(result.nodes[1].waited.ns, 80);
  EXPECT_EQ(result.nodes[2].thread, 3U);
  EXPECT_EQ(result.nodes[2].parent, 1U);
  EXPECT_EQ(result.nodes[2].waited.ns, 50);
}

TEST(Attribution, WhoeverRanUnderTheInterruptIsNoWaker) {
  Scene scene(100, 2);
  scene.Run(1, 0, 10);
  scene.Add(1, 10, 50, kSleep);
  scene.WokenInIrq(1, 50, 50, 2);
  scene.Run(1, 50, 100);
  scene.OnCpu(2, 0, 100, 1);
  scene.Add(2, 0, 100, kRun, 1);
  EXPECT_EQ(Ns(scene.Explain(1), {CauseKind::kInterrupt, 1}), 40);  // irqs were not recorded
  scene.rows.irq_runs.resize(2);
  const auto net = scene.Text("NET_RX");
  scene.rows.irq_runs[1] = {{1, 2, net, true}};
  EXPECT_EQ(Ns(scene.Explain(1), {CauseKind::kTimer, 1}), 40);
  scene.rows.irq_runs[1] = {{49, 51, net, true}};
  EXPECT_EQ(Ns(scene.Explain(1), {CauseKind::kNetwork, 1}), 40);
}

// A sleeper on a timer that wakes while some request happens to complete did not wait for it.
TEST(Attribution, ATimerBesideACompletionIsStillATimer) {
  Scene scene(100, 1);
  scene.Run(1, 0, 10);
  scene.Add(1, 10, 50, kSleep);
  scene.WokenInIrq(1, 50, 50);
  scene.Run(1, 50, 100);
  scene.OnCpu(kIdleThread, 0, 100, 1);
  scene.rows.irq_runs.resize(2);
  scene.rows.irq_runs[0] = {{48, 49, scene.Text("virtio0"), false}};
  scene.rows.disk_requests.push_back({.begin = 5, .complete = 49, .device = scene.Text("vda")});
  EXPECT_EQ(Ns(scene.Explain(1), {CauseKind::kTimer, 1}), 40);
}

TEST(Attribution, ThreadsThatBeginEndOrLoseEvents) {
  Scene scene(100, 2);
  scene.Run(2, 20, 30);
  scene.Run(2, 50, 60);  // 30..50: lost
  scene.Add(2, 60, 70, Activity::kDead);
  const Attribution result = scene.Explain(2);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 2}), 20);
  EXPECT_EQ(Ns(result, {CauseKind::kUnknown, 2}), 20);
  EXPECT_EQ(Ns(result, {CauseKind::kAbsent, 2}), 20 + 10 + 30);
}

TEST(Attribution, AWaitToTheEndOfTheRecordingHasNoWaker) {
  Scene scene(100, 1);
  const auto function = scene.Text("rpc_wait_bit_killable");
  scene.Run(1, 0, 10);
  State& state = scene.Add(1, 10, 100, kD);
  state.is_open = true;
  state.blocked_in = function;
  EXPECT_EQ(Ns(scene.Explain(1), {CauseKind::kNotWoken, 1, kNone, function}), 90);
}

// Two threads that say to have woken each other at the same moment, as lost events can make it
// look: the walk ends, and what it cannot know is unknown.
TEST(Attribution, CirclesEnd) {
  Scene scene(100, 2);
  scene.Add(1, 0, 50, kSleep);
  scene.Woken(1, 50, 100, 2);
  scene.Add(2, 0, 50, kSleep);
  scene.Woken(2, 50, 100, 1);
  const Attribution result = scene.Explain(1);
  EXPECT_EQ(Ns(result, {CauseKind::kUnknown, 1}) + Ns(result, {CauseKind::kUnknown, 2}), 50);
}

// Work handed around among three threads for the whole time: every one is explained in full.
TEST(Attribution, LongChainsStayWithinTheWindow) {
  Scene scene(30'000, 3);
  for (int turn = 0; turn < 10'000; ++turn) {
    const std::int64_t at = turn * 3;
    for (Utid utid = 1; utid <= 3; ++utid) {
      const std::int64_t begin = at + utid - 1;
      if (turn > 0) {
        scene.Add(utid, begin - 2, begin, kSleep);
        scene.Woken(utid, begin, begin, utid == 1 ? 3 : utid - 1);
      }
      scene.Run(utid, begin, begin + 1);
    }
  }
  const Attribution result = scene.Explain(1);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 1}), 10'000);
  EXPECT_EQ(Ns(result, {CauseKind::kRunning, 3}), 9'999);
}

}  // namespace
}  // namespace culprit::analysis
