#include "stat/event_names.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "stat/event_table.h"

namespace culprit::stat {
namespace {

namespace fs = std::filesystem;

// A folder that stands for a machine with a CPU's PMU and an uncore one.
class EventNames : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit_stat_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    Write("cpu/type", "4");
    Write("cpu/format/event", "config:0-7");
    Write("cpu/format/umask", "config:8-15");
    Write("cpu/format/inv", "config:23");
    Write("cpu/format/ldlat", "config1:0-15");
    Write("cpu/format/split", "config:0-3,32-35");
    Write("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=?");
    Write("cpu/events/energy", "event=0x02");
    Write("cpu/events/energy.scale", "2.5e-1");
    Write("cpu/events/energy.unit", "Joules");
    Write("uncore_imc/type", "17");
    Write("uncore_imc/cpumask", "0,8");
    Write("uncore_imc/format/event", "config:0-7");
    Write("uncore_imc/events/cas_count_read", "event=0x04");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(root_) / "sys/bus/event_source/devices" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  Event One(const std::string& text) {
    auto groups = ParseEvents(text, root_);
    EXPECT_TRUE(groups.ok()) << text << ": " << (groups.ok() ? "" : groups.error().ToString());
    return groups.ok() ? groups->front().front() : Event{};
  }
  std::string ErrorOf(const std::string& text) {
    const auto groups = ParseEvents(text, root_);
    return groups.ok() ? "" : groups.error().ToString();
  }

  std::string root_;
};

TEST_F(EventNames, GenericNamesAndAliases) {
  EXPECT_EQ(One("cycles").type, PERF_TYPE_HARDWARE);
  EXPECT_EQ(One("cpu-cycles").config, std::uint64_t{PERF_COUNT_HW_CPU_CYCLES});
  EXPECT_EQ(One("cs").config, std::uint64_t{PERF_COUNT_SW_CONTEXT_SWITCHES});
  EXPECT_FALSE(One("voluntary-switches").has_perf);
}

TEST_F(EventNames, CacheEvents) {
  // perf_event_open(2): cache | operation << 8 | result << 16.
  const Event misses = One("LLC-load-misses");
  EXPECT_EQ(misses.type, PERF_TYPE_HW_CACHE);
  EXPECT_EQ(misses.config, 2u | 0u << 8 | 1u << 16);
  EXPECT_EQ(One("dTLB-stores").config, 3u | 1u << 8);
  EXPECT_EQ(One("L1-dcache-prefetch-misses").config, 0u | 2u << 8 | 1u << 16);
  EXPECT_FALSE(CacheEventConfig("LLC-everything").has_value());
}

TEST_F(EventNames, RawNumbersAndModifiers) {
  const Event raw = One("r01c2:u");
  EXPECT_EQ(raw.type, PERF_TYPE_RAW);
  EXPECT_EQ(raw.config, 0x1c2u);
  EXPECT_TRUE(raw.exclude_kernel);
  EXPECT_FALSE(raw.exclude_user);
  EXPECT_EQ(raw.name, "r01c2:u");
  const Event kernel = One("context-switches:k");
  EXPECT_TRUE(kernel.exclude_user);
  // /proc counts in both modes, so it cannot stand in.
  EXPECT_EQ(kernel.proc, ProcCount::kNone);
}

TEST_F(EventNames, TermsGoWhereTheFormatSays) {
  const Event event = One("cpu/event=0x3c,umask=2,inv/");
  EXPECT_EQ(event.type, 4u);
  EXPECT_EQ(event.config, 0x3cu | 2u << 8 | 1u << 23);
  EXPECT_EQ(One("cpu/split=0x5a/").config, std::uint64_t{0xa} | std::uint64_t{0x5} << 32);
  EXPECT_EQ(One("cpu/config=0x1234/k").config, 0x1234u);
  EXPECT_TRUE(One("cpu/config=0x1234/k").exclude_user);
}

TEST_F(EventNames, EventsOfAPmu) {
  const Event energy = One("cpu/energy/");
  EXPECT_EQ(energy.config, 2u);
  EXPECT_DOUBLE_EQ(energy.scale, 0.25);
  EXPECT_EQ(energy.unit, "Joules");
  EXPECT_EQ(One("energy").config, 2u);  // a bare name is the CPU's
  EXPECT_EQ(One("cpu/mem-loads,ldlat=30/").config1, 30u);
  EXPECT_NE(ErrorOf("cpu/mem-loads/").find("ldlat=NUMBER"), std::string::npos)
      << ErrorOf("cpu/mem-loads/");
  EXPECT_EQ(One("uncore_imc/cas_count_read/").cpus, (std::vector<std::uint32_t>{0, 8}));
}

TEST_F(EventNames, Groups) {
  const auto groups =
      ParseEvents("cycles,{LLC-loads,LLC-load-misses}:u, cpu/event=1,umask=2/", root_);
  ASSERT_TRUE(groups.ok()) << groups.error().ToString();
  ASSERT_EQ(groups->size(), 3u);
  ASSERT_EQ((*groups)[1].size(), 2u);
  EXPECT_TRUE((*groups)[1][1].exclude_kernel);
  EXPECT_EQ((*groups)[2].front().config, 0x201u);
}

TEST_F(EventNames, MistakesSayWhatHelps) {
  EXPECT_NE(ErrorOf("cylces").find("cycles"), std::string::npos);
  EXPECT_NE(ErrorOf("nopmu/event=1/").find("no PMU"), std::string::npos);
  EXPECT_NE(ErrorOf("cpu/umask=0x1ff/").find("more bits"), std::string::npos);
  EXPECT_NE(ErrorOf("cpu/nosuchterm=1/").find("nosuchterm"), std::string::npos);
  EXPECT_NE(ErrorOf("cpu/../../../x=1/"), "");
  EXPECT_NE(ErrorOf("{cycles"), "");
  EXPECT_NE(ErrorOf(""), "");
}

TEST_F(EventNames, LibpfmKnowsTheGenericPmu) {
  // Its table "perf" needs no CPU of a certain kind, but a kernel with perf events.
  const auto groups = ParseEvents("perf::PERF_COUNT_SW_CPU_CLOCK", "/");
  if (!groups.ok() && groups.error().remedy.find("libpfm4") != std::string::npos) {
    GTEST_SKIP() << groups.error().ToString();
  }
  ASSERT_TRUE(groups.ok()) << groups.error().ToString();
  EXPECT_EQ(groups->front().front().type, PERF_TYPE_SOFTWARE);
  EXPECT_EQ(groups->front().front().config, std::uint64_t{PERF_COUNT_SW_CPU_CLOCK});
}

TEST_F(EventNames, TopDownIsAskedForWhereThePmuNamesIt) {
  EXPECT_EQ(TopDownEvents(root_), "");
  for (const char* name :
       {"slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"}) {
    Write(std::string("cpu/events/") + name, "event=0x00,umask=0x4");
  }
  const std::string events = TopDownEvents(root_);
  EXPECT_NE(events, "");
  const auto groups = ParseEvents(events, root_);
  ASSERT_TRUE(groups.ok()) << groups.error().ToString();
  EXPECT_EQ(groups->front().size(), 5u);
}

}  // namespace
}  // namespace culprit::stat
