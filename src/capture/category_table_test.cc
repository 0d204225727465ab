#include "capture/category_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace culprit::capture {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kKernel = {
    "block/block_rq_complete", "block/block_rq_issue",    "ext4/ext4_sync_file_enter",
    "power/cpu_frequency",     "raw_syscalls/sys_enter",  "sched/sched_switch",
    "sched/sched_waking",      "syscalls/sys_enter_read", "task/task_newtask"};

TEST(Categories, NodeIsMadeOfWhatTheManualSays) {
  const Category* node = FindCategory(kDefaultCategory);
  ASSERT_NE(node, nullptr);
  EXPECT_THAT(node->members, ElementsAre("sched", "freq", "disk", "irq", "marker", "stats"));
}

TEST(Categories, AllOfTheManualExistOnce) {
  std::multiset<std::string_view> names;
  for (const Category& category : Categories()) names.insert(category.name);
  for (const char* name : {"sched", "freq", "idle", "disk", "irq", "mem", "fault", "syscalls",
                           "net", "workqueue", "power", "futex", "marker", "stats", "node"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
  EXPECT_EQ(FindCategory("nodes"), nullptr);
}

TEST(Categories, EveryEventNamesItsGroupAndStandsOnce) {
  for (const Category& category : Categories()) {
    std::set<std::string_view> seen;
    for (const auto event : category.events) {
      EXPECT_NE(event.find('/'), event.npos) << event;
      EXPECT_TRUE(seen.insert(event).second) << event << " twice in " << category.name;
    }
    for (const auto member : category.members) EXPECT_NE(FindCategory(member), nullptr) << member;
  }
}

TEST(Categories, SchedAsksForStacksMarkerForMarkersStatsForPolls) {
  RecordConfig config;
  AddCategory(*FindCategory("sched"), config);
  EXPECT_TRUE(config.d_state_stacks);
  EXPECT_FALSE(config.markers);
  EXPECT_EQ(config.poll, PollPeriods{});
  AddCategory(*FindCategory("marker"), config);
  EXPECT_TRUE(config.markers);
  AddCategory(*FindCategory("stats"), config);
  EXPECT_EQ(config.poll.psi, Milliseconds(100));
  EXPECT_EQ(config.poll.cgroup, Milliseconds(100));
}

TEST(MatchesEvent, StarsStayWithinAPart) {
  EXPECT_TRUE(MatchesEvent("sched/sched_switch", "sched/sched_switch"));
  EXPECT_TRUE(MatchesEvent("sched/*", "sched/sched_switch"));
  EXPECT_TRUE(MatchesEvent("sched/*_sw*tch", "sched/sched_switch"));
  EXPECT_TRUE(MatchesEvent("sched_switch", "sched/sched_switch"));
  EXPECT_TRUE(MatchesEvent("sched_*", "sched/sched_switch"));
  EXPECT_TRUE(MatchesEvent("*/*", "sched/sched_switch"));
  EXPECT_FALSE(MatchesEvent("s*x", "sched/sched_switch"));
  EXPECT_FALSE(MatchesEvent("sc*/switch", "sched/sched_switch"));
  EXPECT_FALSE(MatchesEvent("sched/sched", "sched/sched_switch"));
  EXPECT_FALSE(MatchesEvent("sched/sched_switches", "sched/sched_switch"));
}

TEST(MatchesEvent, ManyStarsEndSoon) {
  const std::string pattern = "g/" + std::string(200, '*') + "b";
  EXPECT_FALSE(MatchesEvent(pattern, "g/" + std::string(4000, 'a')));
}

TEST(ExpandEvents, FamiliesAndRepeatsGiveEachEventOnce) {
  const std::vector<EventRequest> requests = {
      {"sched/*", true, ""}, {"sched_switch", true, ""}, {"block/block_rq_*", true, ""}};
  const auto expanded = ExpandEvents(requests, kKernel);
  EXPECT_THAT(expanded.events, ElementsAre("block/block_rq_complete", "block/block_rq_issue",
                                           "sched/sched_switch", "sched/sched_waking"));
  EXPECT_THAT(expanded.missing, IsEmpty());
}

TEST(ExpandEvents, AMissingEventIsNamedWithNearOnesAndTheRestIsKept) {
  const std::vector<EventRequest> requests = {{"sched/sched_swich", true, "c.pbtxt:3"},
                                              {"sched_wakin", true, ""},
                                              {"task/*", true, ""},
                                              {"nfs/*", true, ""}};
  const auto expanded = ExpandEvents(requests, kKernel);
  EXPECT_THAT(expanded.events, ElementsAre("task/task_newtask"));
  ASSERT_EQ(expanded.missing.size(), 3U);
  EXPECT_EQ(expanded.missing[0].ToString(),
            "c.pbtxt:3: this kernel has no event 'sched/sched_swich'; did you mean "
            "sched/sched_switch or sched/sched_waking?");
  EXPECT_THAT(expanded.missing[1].near, Contains("sched/sched_waking"));
  EXPECT_EQ(expanded.missing[2].ToString(), "this kernel has no event 'nfs/*'");
}

TEST(ExpandEvents, ACategoryMissesEventsSilentlyButNotAllOfThem) {
  RecordConfig config;
  AddCategory(*FindCategory("disk"), config);
  AddCategory(*FindCategory("irq"), config);
  const auto expanded = ExpandEvents(config.events, kKernel);
  EXPECT_THAT(expanded.events, ElementsAre("block/block_rq_complete", "block/block_rq_issue",
                                           "ext4/ext4_sync_file_enter"));
  ASSERT_EQ(expanded.missing.size(), 1U);
  EXPECT_EQ(expanded.missing[0].ToString(), "this kernel has none of the events of category irq");
}

TEST(AddWords, NoWordIsTheDefaultCategory) {
  RecordConfig config;
  const auto notes = AddWords({}, kKernel, config);
  ASSERT_TRUE(notes.ok());
  EXPECT_TRUE(config.d_state_stacks);
  EXPECT_TRUE(config.markers);
  EXPECT_NE(config.poll.stat, DurationNs{});
}

TEST(AddWords, CategoriesEventsBareNamesAndAtraceNames) {
  RecordConfig config;
  const std::vector<std::string> words = {"idle",         "block/*", "sched_switch",
                                          "ftrace/print", "workq",   "gfx"};
  const auto notes = AddWords(words, kKernel, config);
  ASSERT_TRUE(notes.ok()) << notes.error().ToString();
  EXPECT_THAT(*notes, ElementsAre(HasSubstr("category gfx exists on Android alone")));
  EXPECT_TRUE(config.markers);
  std::vector<std::string> patterns;
  for (const EventRequest& request : config.events) patterns.push_back(request.pattern);
  EXPECT_THAT(patterns, ElementsAre("power/cpu_idle", "power/cpu_idle_miss", "block/*",
                                    "sched_switch", "workqueue/*"));
}

TEST(AddWords, AnUnknownWordIsAnErrorWithNearNames) {
  const auto remedy = [](std::string word) {
    RecordConfig config;
    const std::vector<std::string> words = {std::move(word)};
    const auto notes = AddWords(words, kKernel, config);
    EXPECT_FALSE(notes.ok());
    return notes.ok() ? "" : notes.error().ToString();
  };
  EXPECT_EQ(remedy("shced"), "no such category: 'shced'; did you mean sched?");
  EXPECT_THAT(remedy("sched_swich"), HasSubstr("did you mean sched/sched_switch"));
  EXPECT_THAT(remedy("\x1b[2Jqqqqq"), HasSubstr("\\x1b[2Jqqqqq'; culprit record --list"));
}

TEST(AddAtraceCategory, MapsWhatLinuxHas) {
  RecordConfig config;
  EXPECT_TRUE(AddAtraceCategory("sync", "c:1", config));
  ASSERT_FALSE(config.events.empty());
  EXPECT_EQ(config.events[0].pattern, "dma_fence/*");
  EXPECT_EQ(config.events[0].origin, "c:1");
  EXPECT_FALSE(config.events[0].required);
  EXPECT_TRUE(AddAtraceCategory("sched", "c:2", config));
  EXPECT_TRUE(config.d_state_stacks);
  EXPECT_FALSE(AddAtraceCategory("dalvik", "c:3", config));
  EXPECT_FALSE(AddAtraceCategory("nonsense", "c:4", config));
}

TEST(ListCategories, SaysWhatThisKernelHas) {
  const auto list = ListCategories(kKernel);
  ASSERT_EQ(list.size(), Categories().size());
  const auto syscalls = std::find_if(list.begin(), list.end(), [](const CategoryOnKernel& entry) {
    return entry.category->name == "syscalls";
  });
  ASSERT_NE(syscalls, list.end());
  EXPECT_THAT(syscalls->present, ElementsAre("raw_syscalls/sys_enter"));
  EXPECT_THAT(syscalls->absent, ElementsAre("raw_syscalls/sys_exit"));
}

}  // namespace
}  // namespace culprit::capture
