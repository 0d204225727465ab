// The meter with a double of a PMU: what is refused, grouped, scaled and summed.
#include "stat/meter.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "stat/event_names.h"
#include "stat/report.h"

namespace culprit::stat {
namespace {

class PmuDouble : public CounterOpener {
 public:
  struct Opened {
    Event event;
    CounterPlace place;
    bool in_group;
  };
  class CounterDouble : public Counter {
   public:
    explicit CounterDouble(std::function<Reading()> read) : read_(std::move(read)) {}
    Result<Reading> Read() override { return read_(); }

   private:
    std::function<Reading()> read_;
  };

  OpenedCounter Open(const Event& event, const CounterPlace& place,
                     const Counter* leader) override {
    if (const int refused = refuse(event, leader != nullptr); refused != 0)
      return {nullptr, refused};
    opened.push_back({event, place, leader != nullptr});
    return {std::make_unique<CounterDouble>([this] {
              // The first read is the base.
              return reads++ < bases ? Reading{} : reading;
            }),
            0};
  }

  std::function<int(const Event&, bool in_group)> refuse = [](const Event&, bool) { return 0; };
  Reading reading;
  std::vector<Opened> opened;
  int reads = 0;
  int bases = 1'000'000;
};

MeterPlan Own(const std::string& events) {
  auto groups = ParseEvents(events);
  EXPECT_TRUE(groups.ok()) << groups.error().ToString();
  return {.groups = *groups, .pids = {getpid()}};
}

Count Only(const Sample& sample) { return sample.rows.front().counts.front(); }

TEST(Meter, ScalesByTheTimeOnThePmu) {
  PmuDouble pmu;
  pmu.reading = {1000, 400, 100};
  pmu.bases = 1;
  auto meter = Meter::Attach(pmu, Own("cycles"));
  ASSERT_TRUE(meter.ok()) << meter.error().ToString();
  const auto sample = (*meter)->Take();
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(Only(*sample).raw, 1000u);
  EXPECT_DOUBLE_EQ(*Only(*sample).Scaled(), 4000);
  EXPECT_DOUBLE_EQ(Only(*sample).RunningPct(), 25);
}

TEST(Meter, ACounterThatWasNeverOnHasNoValue) {
  PmuDouble pmu;
  pmu.reading = {0, 400, 0};
  pmu.bases = 1;
  auto meter = Meter::Attach(pmu, Own("cycles"));
  ASSERT_TRUE(meter.ok());
  const auto sample = (*meter)->Take();
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(Only(*sample).state, CountState::kNeverOn);
  EXPECT_FALSE(Only(*sample).Scaled().has_value());
}

TEST(Meter, NotSupportedIsSaidAndNotZero) {
  PmuDouble pmu;
  pmu.refuse = [](const Event&, bool) { return ENOENT; };
  auto meter = Meter::Attach(pmu, Own("cycles"));
  ASSERT_TRUE(meter.ok());
  const auto sample = (*meter)->Take();
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(Only(*sample).state, CountState::kNotSupported);
  Report report;
  report.events = (*meter)->events();
  report.total = *sample;
  EXPECT_NE(FormatText(report).find("not supported here"), std::string::npos);
}

TEST(Meter, AnOrdinaryUserCountsUserModeAndSoftwareEventsFromProc) {
  PmuDouble pmu;
  pmu.refuse = [](const Event& event, bool) { return event.exclude_kernel ? 0 : EACCES; };
  pmu.reading = {7, 1, 1};
  pmu.bases = 2;
  auto meter = Meter::Attach(pmu, Own("cycles,task-clock,context-switches,emulation-faults"));
  ASSERT_TRUE(meter.ok());
  const auto& events = (*meter)->events();
  EXPECT_EQ(events[0].source, "perf (user mode)");
  EXPECT_EQ(events[1].source, "perf");  // a clock runs in both modes
  EXPECT_EQ(events[2].source, "/proc");
  EXPECT_EQ(events[3].refusal, CountState::kNotAllowed);
  EXPECT_NE(events[3].reason.find("perf_event_paranoid"), std::string::npos);
}

TEST(Meter, AGroupThatIsTooLargeIsCountedSingly) {
  PmuDouble pmu;
  pmu.refuse = [](const Event&, bool in_group) { return in_group ? EINVAL : 0; };
  auto meter = Meter::Attach(pmu, Own("{cycles,instructions}"));
  ASSERT_TRUE(meter.ok());
  EXPECT_EQ((*meter)->events()[1].source, "perf");
  EXPECT_GE(pmu.opened.size(), 2u);
  EXPECT_TRUE(std::ranges::none_of(pmu.opened, &PmuDouble::Opened::in_group));
}

TEST(Meter, GroupsStayTogetherOnEveryThread) {
  PmuDouble pmu;
  auto meter = Meter::Attach(pmu, Own("{cycles,instructions},branches"));
  ASSERT_TRUE(meter.ok());
  ASSERT_EQ(pmu.opened.size() % 3, 0u);
  for (std::size_t i = 0; i < pmu.opened.size(); i += 3) {
    EXPECT_FALSE(pmu.opened[i].in_group);
    EXPECT_TRUE(pmu.opened[i + 1].in_group);
    EXPECT_FALSE(pmu.opened[i + 2].in_group);
    EXPECT_TRUE(pmu.opened[i].place.inherit);
    EXPECT_EQ(pmu.opened[i].place.tid, pmu.opened[i + 1].place.tid);
  }
}

TEST(Meter, TooManyCountersIsAnErrorWithARemedy) {
  PmuDouble pmu;
  pmu.refuse = [](const Event&, bool) { return EMFILE; };
  const auto meter = Meter::Attach(pmu, Own("cycles"));
  ASSERT_FALSE(meter.ok());
  EXPECT_NE(meter.error().remedy.find("ulimit -n"), std::string::npos);
}

TEST(Meter, NoSuchProcess) {
  PmuDouble pmu;
  MeterPlan plan = Own("cycles");
  plan.pids = {2'000'000'000};
  const auto meter = Meter::Attach(pmu, plan);
  ASSERT_FALSE(meter.ok());
  EXPECT_NE(meter.error().what.find("2000000000"), std::string::npos);
}

TEST(Meter, AnUncoreEventCountsForNoProcess) {
  PmuDouble pmu;
  MeterPlan plan = Own("cycles");
  plan.groups.front().front().cpus = {0};
  auto meter = Meter::Attach(pmu, plan);
  ASSERT_TRUE(meter.ok());
  EXPECT_EQ((*meter)->events().front().refusal, CountState::kNotSupported);
  EXPECT_NE((*meter)->events().front().reason.find("-a"), std::string::npos);
}

Row RowOf(std::int32_t cpu, Count count) {
  Row row;
  row.cpu = cpu;
  row.counts = {count};
  return row;
}

TEST(Difference, IsTakenRowByRow) {
  Sample earlier, later;
  earlier.end = Seconds(1);
  later.end = Seconds(2);
  earlier.rows = {RowOf(-1, {CountState::kCounted, 10, 100, 50}),
                  RowOf(1, {CountState::kCounted, 4, 100, 50})};
  later.rows = {RowOf(-1, {CountState::kCounted, 30, 200, 100}),
                RowOf(0, {CountState::kCounted, 5, 20, 20}),
                RowOf(1, {CountState::kCounted, 4, 200, 50})};
  const Sample step = Difference(later, earlier);
  EXPECT_EQ(step.begin.value, Seconds(1).value);
  EXPECT_EQ(step.rows[0].counts[0].raw, 20u);
  EXPECT_DOUBLE_EQ(*step.rows[0].counts[0].Scaled(), 40);
  EXPECT_EQ(step.rows[1].counts[0].raw, 5u);  // a row that is new
  EXPECT_EQ(step.rows[2].counts[0].state, CountState::kNeverOn);
}

TEST(Csv, QuotesWhatNeedsIt) {
  Event event;
  event.name = "cpu/event=1,umask=\"2\"/";
  const std::vector<EventStatus> events = {{event, "perf", CountState::kCounted, ""}};
  Sample sample;
  sample.rows.push_back(RowOf(-1, {CountState::kCounted, 3, 0, 0}));
  sample.rows.front().tid = 2;
  sample.rows.front().comm = "a,\"b\"";
  const std::string line = FormatCsv(events, sample);
  EXPECT_NE(line.find("\"a,\"\"b\"\"\",\"cpu/event=1,umask=\"\"2\"\"/\",counted,3"),
            std::string::npos)
      << line;
}

}  // namespace
}  // namespace culprit::stat
