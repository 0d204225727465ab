// Who is named, over timelines of plain numbers: one number stands for a millisecond.
#include "analysis/culprits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analysis/budget.h"
#include "analysis/findings.h"

namespace culprit::analysis {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Threads are added with their process; thread 0 and process 0 are idle.
struct Scene {
  Timeline::Rows rows;

  explicit Scene(std::int64_t length, std::size_t cpus = 2) {
    rows.window = {0, length * kMs};
    rows.texts = {""};
    rows.cpu_runs.resize(cpus);
    rows.threads.push_back({});
    rows.processes.push_back({});
  }
  Utid Process(const std::string& name, Upid parent = kNone) {
    const auto utid = static_cast<Utid>(rows.threads.size());
    const auto upid = static_cast<Upid>(rows.processes.size());
    rows.threads.push_back(
        {.utid = utid, .upid = upid, .tid = 100 + utid, .name = name, .is_main = true});
    rows.processes.push_back({.upid = upid, .parent = parent, .pid = 100 + utid, .name = name});
    return utid;
  }
  Utid Thread(Utid of, const std::string& name) {
    const auto utid = static_cast<Utid>(rows.threads.size());
    rows.threads.push_back(
        {.utid = utid, .upid = rows.threads[of].upid, .tid = 100 + utid, .name = name});
    return utid;
  }
  State& Add(Utid utid, std::int64_t begin, std::int64_t end, Activity activity,
             std::int16_t cpu = -1) {
    rows.states.push_back(
        {.ts = begin * kMs, .end = end * kMs, .utid = utid, .cpu = cpu, .activity = activity});
    return rows.states.back();
  }
  void OnCpu(Utid utid, std::int64_t begin, std::int64_t end, std::int16_t cpu,
             std::int16_t priority = 120) {
    rows.cpu_runs[static_cast<std::size_t>(cpu)].push_back(
        {begin * kMs, end * kMs, utid, priority});
  }
  void Run(Utid utid, std::int64_t begin, std::int64_t end, std::int16_t cpu,
           std::int16_t priority = 120) {
    Add(utid, begin, end, Activity::kRunning, cpu);
    OnCpu(utid, begin, end, cpu, priority);
  }
  void Woken(Utid utid, std::int64_t at, Utid waker) {
    Add(utid, at, at, Activity::kRunnable, 0).waker = waker;
  }
  void ByTimer(Utid utid, std::int64_t at) {
    State& state = Add(utid, at, at, Activity::kRunnable, 0);
    state.waker = kIdleThread;
    state.woken_in_irq = true;
  }

  std::vector<ExplainFinding> Explain(std::vector<Victim> victims, bool is_certain = true,
                                      std::vector<Victim> idle = {}) {
    rows.irq_runs.resize(rows.cpu_runs.size());
    if (rows.irq_runs[0].empty()) {  // irqs were recorded, so one that is none is the timer's
      rows.texts.emplace_back("eth0");
      rows.irq_runs[0].push_back({0, 1, static_cast<std::uint32_t>(rows.texts.size() - 1), false});
    }
    const auto by_time = [](const auto& a, const auto& b) { return a.ts < b.ts; };
    std::stable_sort(rows.states.begin(), rows.states.end(), by_time);
    for (auto& runs : rows.cpu_runs) std::stable_sort(runs.begin(), runs.end(), by_time);
    const Timeline timeline(rows);
    VictimChoice choice;
    choice.is_certain = is_certain;
    choice.victims = std::move(victims);
    choice.idle = std::move(idle);
    std::vector<Walked> walked;
    for (const Victim& victim : choice.victims) {
      Walked row{victim, Attribute(timeline, victim.utid, timeline.window())};
      row.alive_ns = timeline.window().length();
      walked.push_back(std::move(row));
    }
    Culprits culprits(timeline, choice, timeline.window());
    for (std::size_t i = 0; i < walked.size(); ++i) culprits.Add(i, walked[i].walk);
    for (const Walked& row : walked) {
      std::int64_t total = 0;
      for (const BudgetRow& part : MakeBudget(timeline, row.walk)) total += part.ns;
      EXPECT_EQ(total, timeline.window().length());
    }
    return MakeFindings(timeline, choice, walked, culprits);
  }
};

const ExplainFinding* Find(const std::vector<ExplainFinding>& findings, std::string_view id) {
  const auto found = std::ranges::find(findings, id, &ExplainFinding::id);
  return found == findings.end() ? nullptr : &*found;
}

TEST(Culprits, AnotherProcessOnTheCpuIsNamedWithItsShareAndACommand) {
  Scene scene(1000);
  const Utid worker = scene.Process("pt_data_worker"), hog = scene.Process("logcollector");
  for (int at = 0; at < 1000; at += 10) {  // 6 ms of work, 4 ms taken
    scene.Run(worker, at, at + 6, 1);
    scene.Add(worker, at + 6, at + 10, Activity::kPreempted);
    scene.OnCpu(hog, at + 6, at + 10, 1);
  }
  const auto findings = scene.Explain({{.utid = worker, .role = VictimRole::kMain, .why = ""}});
  ASSERT_FALSE(findings.empty());
  const ExplainFinding& first = findings.front();
  EXPECT_EQ(first.id, "cpu.neighbour");
  EXPECT_EQ(first.level, Level::kCritical);
  EXPECT_EQ(first.culprit.task->utid, hog);
  EXPECT_EQ(first.wait_ns(), 400 * kMs);
  EXPECT_DOUBLE_EQ(first.share(), 0.4);
  EXPECT_EQ(first.victims.front().waited.count, 100);
  EXPECT_TRUE(first.via.empty());
  EXPECT_EQ(first.remedy.command, "taskset -apc 0 102");
  EXPECT_EQ(first.remedy.wins_at_most_ns, 400 * kMs);
  EXPECT_NE(first.summary.find("off the CPU for 40.0 % of 1.00 s. During 100.0 % of that wait "
                               "logcollector (pid 102, nice 0) ran"),
            std::string::npos)
      << first.summary;
}

TEST(Culprits, CopiesOfOneProgramAreOneCulprit) {
  Scene scene(1000);
  const Utid worker = scene.Process("trainer");
  for (int i = 0; i < 10; ++i) {  // ten compilers, 3 % each
    const Utid compiler = scene.Process("cc1plus", static_cast<Upid>(i + 1));
    scene.Run(worker, i * 100, i * 100 + 70, 0);
    scene.Add(worker, i * 100 + 70, i * 100 + 100, Activity::kPreempted);
    scene.OnCpu(compiler, i * 100 + 70, i * 100 + 100, 0);
  }
  const auto findings = scene.Explain({{.utid = worker, .role = VictimRole::kMain, .why = ""}});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().culprit.name, "cc1plus");
  EXPECT_DOUBLE_EQ(findings.front().share(), 0.3);
  EXPECT_EQ(findings.front().threads.size(), kMostThreads);
}

TEST(Culprits, TheJobsOwnThreadsAreTooManyWorkersAndNoNeighbour) {
  Scene scene(1000, 1);
  const Utid a = scene.Process("job"), b = scene.Thread(a, "job");
  for (int at = 0; at < 1000; at += 20) {
    scene.Run(a, at, at + 10, 0);
    scene.Add(a, at + 10, at + 20, Activity::kPreempted);
    scene.Add(b, at, at + 10, Activity::kPreempted);
    scene.Run(b, at + 10, at + 20, 0);
  }
  const auto findings =
      scene.Explain({{.utid = a, .why = ""}, {.utid = b, .why = ""}}, /*is_certain=*/false);
  EXPECT_EQ(Find(findings, "cpu.neighbour"), nullptr);
  const ExplainFinding* finding = Find(findings, "cpu.oversubscribed");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->level, Level::kCritical);
  EXPECT_NEAR(finding->share(), 0.5, 0.03);
}

// A loader that sleeps starves the trainer; the same sleep of the trainer starves nobody.
Scene Pipeline(Utid& trainer, Utid& loader, bool loader_is_slow) {
  Scene scene(1000);
  trainer = scene.Process("trainer");
  loader = scene.Process("pt_data_worker", 1);
  const Utid slow = loader_is_slow ? loader : trainer, fast = loader_is_slow ? trainer : loader;
  for (int at = 0; at < 1000; at += 100) {  // slow: 10 ms of work, 90 ms of sleep, wakes the other
    scene.Run(slow, at, at + 10, 0);
    scene.Add(slow, at + 10, at + 100, Activity::kSleeping);
    scene.ByTimer(slow, at + 100);
    scene.Run(fast, at + 5, at + 9, 1);
    scene.Add(fast, at + 9, at + 105, Activity::kSleeping);
    scene.Woken(fast, at + 105, slow);
  }
  return scene;
}

TEST(Culprits, AProducerThatSleepsIsNamed) {
  Utid trainer, loader;
  Scene scene = Pipeline(trainer, loader, true);
  const auto findings = scene.Explain({{.utid = trainer, .role = VictimRole::kMain, .why = ""},
                                       {.utid = loader, .role = VictimRole::kWorker, .why = ""}});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().id, "producer.sleeps");
  EXPECT_EQ(findings.front().level, Level::kCritical);
  EXPECT_EQ(findings.front().culprit.task->utid, loader);
}

TEST(Culprits, AWorkerThatIsAheadOfTheMainThreadLacksNothing) {
  Utid trainer, loader;
  Scene scene = Pipeline(trainer, loader, false);
  const auto findings = scene.Explain({{.utid = trainer, .role = VictimRole::kMain, .why = ""},
                                       {.utid = loader, .role = VictimRole::kWorker, .why = ""}});
  for (const ExplainFinding& finding : findings) {
    EXPECT_LE(finding.level, Level::kInfo) << finding.summary;
  }
}

// Nobody said that the waits of this thread matter: an idle server waits for its clients.
TEST(Culprits, AnIdleServerIsNoVictim) {
  Utid server, client;
  Scene scene = Pipeline(server, client, true);
  for (const ExplainFinding& finding : scene.Explain({{.utid = server, .why = ""}}, false)) {
    EXPECT_LE(finding.level, Level::kInfo) << finding.summary;
  }
}

// Three threads and one lock; the first has it nine tenths of the time.
TEST(Culprits, TheHolderOfALockIsNamed) {
  Scene scene(1000, 3);
  const Utid holder = scene.Process("job"), a = scene.Thread(holder, "a"),
             b = scene.Thread(holder, "b");
  // holder 0..90 wakes a, a 90..95 wakes b, b 95..100 wakes the holder.
  for (int at = 0; at < 1000; at += 100) {
    scene.Run(holder, at, at + 90, 0);
    scene.Add(holder, at + 90, at + 100, Activity::kSleeping);
    const bool is_odd = at / 100 % 2 == 1;
    const Utid first = is_odd ? a : b, second = is_odd ? b : a;
    scene.Woken(first, at + 90, holder);
    scene.Run(first, at + 90, at + 95, 1);
    scene.Woken(second, at + 95, first);
    scene.Run(second, at + 95, at + 100, 2);
    scene.Woken(holder, at + 100, second);
    scene.Add(first, at + 95, at + 195, Activity::kSleeping);    // is second the next time
    scene.Add(second, at + 100, at + 190, Activity::kSleeping);  // is first the next time
  }
  const auto findings = scene.Explain({{.utid = a, .why = ""}, {.utid = b, .why = ""}}, false);
  const ExplainFinding* finding = Find(findings, "lock.holder");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->culprit.task->utid, holder);
  EXPECT_EQ(finding->level, Level::kCritical);
  EXPECT_NEAR(finding->share(), 0.81, 0.1);
}

// A worker waits 50 of each 100 ms for a disk whose queue somebody else fills.
ExplainFinding WaitForAFullDisk(bool is_kernel) {
  Scene scene(1000);
  const Utid worker = scene.Process("trainer"), hog = scene.Process("backup");
  scene.rows.processes[hog].is_kernel = is_kernel;
  scene.rows.texts.emplace_back("nvme0n1");
  const auto disk = static_cast<std::uint32_t>(scene.rows.texts.size() - 1);
  for (int at = 0; at < 1000; at += 100) {
    scene.Run(worker, at, at + 50, 0);
    scene.Add(worker, at + 50, at + 100, Activity::kBlocked);
    scene.ByTimer(worker, at + 100);
    scene.rows.disk_requests.push_back({.begin = (at + 40) * kMs,
                                        .complete = (at + 100) * kMs - 1000,
                                        .device = disk,
                                        .utid = hog});
    scene.rows.disk_requests.push_back(
        {.begin = (at + 50) * kMs, .complete = (at + 60) * kMs, .device = disk, .utid = worker});
  }
  // The interrupt of a disk, and not of a timer, ends these waits.
  scene.rows.irq_runs.resize(2);
  scene.rows.texts.emplace_back("nvme0q1");
  const auto irq = static_cast<std::uint32_t>(scene.rows.texts.size() - 1);
  scene.OnCpu(kIdleThread, 0, 1000, 1);
  for (int at = 100; at <= 1000; at += 100) {
    scene.rows.irq_runs[1].push_back({at * kMs - 2000, at * kMs + 2000, irq, false});
  }
  const auto findings = scene.Explain({{.utid = worker, .role = VictimRole::kMain, .why = ""}});
  const ExplainFinding* finding = Find(findings, "disk.wait");
  return finding == nullptr ? ExplainFinding() : *finding;
}

TEST(Culprits, WhoeverFilledTheQueueOfTheDiskIsNamed) {
  const ExplainFinding finding = WaitForAFullDisk(false);
  EXPECT_EQ(finding.culprit.type, PartyType::kProcess);
  ASSERT_TRUE(finding.culprit.task.has_value());
  EXPECT_EQ(finding.culprit.task->thread, "backup");
  EXPECT_EQ(finding.culprit.device, "nvme0n1");
  EXPECT_EQ(finding.remedy.command, "ionice -c 3 -p 102");
}

// A flush by a kernel's worker is somebody's fsync: the worker is not to blame.
TEST(Culprits, AKernelThreadThatFilledTheQueueIsNotAccused) {
  const ExplainFinding finding = WaitForAFullDisk(true);
  EXPECT_EQ(finding.culprit.type, PartyType::kDevice);
  EXPECT_EQ(finding.culprit.name, "nvme0n1");
  EXPECT_TRUE(finding.remedy.command.empty());
  ASSERT_FALSE(finding.evidence.empty());
  EXPECT_NE(finding.evidence.front().find("for others"), std::string::npos);
}

// 30 of each 100 ms are throttled by the kernel's count; shorter waits behind a neighbour are not.
TEST(Culprits, AUsedUpQuotaIsTheCgroupsAndNoMoreThanWasCounted) {
  Scene scene(1000);
  const Utid worker = scene.Process("trainer"), other = scene.Process("other");
  scene.rows.processes[worker].cgroup = "/box/job";
  for (int at = 0; at < 1000; at += 100) {
    scene.Run(worker, at, at + 60, 0);
    scene.Add(worker, at + 60, at + 90, Activity::kPreempted);
    scene.OnCpu(other, at + 60, at + 90, 0);
    scene.Run(worker, at + 90, at + 95, 0);
    scene.Add(worker, at + 95, at + 100, Activity::kPreempted);
    scene.OnCpu(other, at + 95, at + 100, 0);
    scene.rows.throttled.push_back(
        {.cgroup = "/box", .time = {at * kMs, (at + 100) * kMs}, .ns = 30 * kMs});
  }
  const auto findings = scene.Explain({{.utid = worker, .role = VictimRole::kMain, .why = ""}});
  const ExplainFinding* quota = Find(findings, "cpu.throttled");
  ASSERT_NE(quota, nullptr);
  EXPECT_EQ(quota->wait_ns(), 300 * kMs);
  EXPECT_EQ(quota->culprit.cgroup, "/box/job");
  const ExplainFinding* neighbour = Find(findings, "cpu.neighbour");
  ASSERT_NE(neighbour, nullptr);
  EXPECT_EQ(neighbour->wait_ns(), 50 * kMs);
}

// The same wait, once for a thread that goes on and once for one that ends with it.
TEST(Culprits, WhoJoinsAThreadWaitsForNobodysFault) {
  const auto findings_of = [](bool ends) {
    Scene scene(1000);
    const Utid main = scene.Process("python3"), thread = scene.Thread(main, "python3");
    scene.Run(main, 0, 50, 0);
    scene.Add(main, 50, 900, Activity::kSleeping);
    scene.Run(thread, 10, 20, 1);
    scene.Add(thread, 20, 890, Activity::kSleeping);
    scene.ByTimer(thread, 890);
    scene.Run(thread, 890, 900, 1);
    scene.Woken(main, 900, thread);
    scene.Run(main, 900, 1000, 0);
    scene.Add(thread, 900, 1000, ends ? Activity::kDead : Activity::kSleeping);
    return scene.Explain({{.utid = main, .role = VictimRole::kMain, .why = ""}});
  };
  const auto goes_on = findings_of(false), ends = findings_of(true);
  const ExplainFinding* blamed = Find(goes_on, "producer.sleeps");
  ASSERT_NE(blamed, nullptr);
  EXPECT_EQ(blamed->level, Level::kCritical);
  EXPECT_EQ(Find(ends, "producer.sleeps"), nullptr);
  const ExplainFinding* joined = Find(ends, "child.wait");
  ASSERT_NE(joined, nullptr);
  EXPECT_EQ(joined->level, Level::kInfo);
}

// A trainer that only waits for its GPU has next to no work; its workers are ahead all the same.
TEST(Culprits, WorkersAheadOfAnIdleMainThreadLackNothing) {
  Scene scene(1000);
  const Utid trainer = scene.Process("trainer"), worker = scene.Process("pt_data_worker");
  scene.Run(worker, 0, 50, 0);
  scene.Add(worker, 50, 900, Activity::kSleeping);
  scene.Add(trainer, 0, 899, Activity::kSleeping);
  scene.ByTimer(trainer, 899);
  scene.Run(trainer, 899, 900, 1);
  scene.Woken(worker, 900, trainer);
  scene.Run(worker, 900, 1000, 0);
  const auto findings =
      scene.Explain({{.utid = worker, .role = VictimRole::kWorker, .why = ""}}, true,
                    {{.utid = trainer, .role = VictimRole::kMain, .why = ""}});
  EXPECT_EQ(Find(findings, "producer.sleeps"), nullptr);
  EXPECT_NE(Find(findings, "consumer.busy"), nullptr);
}

TEST(Culprits, AQuietTimelineHasNone) {
  Scene scene(1000);
  const Utid worker = scene.Process("trainer"), daemon = scene.Process("systemd");
  scene.Run(worker, 0, 500, 0);
  scene.Add(worker, 500, 504, Activity::kPreempted);  // 0.4 %
  scene.OnCpu(daemon, 500, 504, 0);
  scene.Run(worker, 504, 1000, 0);
  EXPECT_TRUE(scene.Explain({{.utid = worker, .role = VictimRole::kMain, .why = ""}}).empty());
}

}  // namespace
}  // namespace culprit::analysis
