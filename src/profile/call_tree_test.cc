#include "profile/call_tree.h"

#include <gtest/gtest.h>

#include "profile/diff.h"
#include "profile/function_table.h"
#include "profile/perf_data/address_space.h"
#include "profile/read.h"

namespace culprit::profile {
namespace {

Profile Folded(std::string_view text) {
  auto profile = ReadFolded(text);
  EXPECT_TRUE(profile.ok());
  return std::move(profile).value();
}

Selection Merged() {
  Selection selection;
  selection.grouping = Grouping::kMerged;
  return selection;
}

std::int64_t TotalOf(const Profile& profile, const CallTree& tree, std::string_view name) {
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    if (profile.name(tree.nodes[i].frame) == name) return tree.nodes[i].total;
  }
  return -1;
}

TEST(CallTree, TotalsAddUpAndDescendantsFollow) {
  Profile profile = Folded("b;c 2\na;c 3\na 4\nb;c;d 5\n");
  const auto tree = BuildCallTree(profile, Merged());
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->total, 14);
  EXPECT_EQ(tree->nodes[0].total, 14);
  ASSERT_EQ(tree->nodes.size(), 6U);
  EXPECT_EQ(profile.name(tree->nodes[1].frame), "a");  // siblings by name
  EXPECT_EQ(tree->nodes[1].total, 7);
  EXPECT_EQ(tree->nodes[1].self, 4);
  EXPECT_EQ(profile.name(tree->nodes[3].frame), "b");
  EXPECT_EQ(tree->nodes[3].total, 7);
  for (std::uint32_t i = 1; i < tree->nodes.size(); ++i) EXPECT_LT(tree->nodes[i].parent, i);
}

TEST(CallTree, ReverseMergesFromTheInnermost) {
  Profile profile = Folded("a;x 1\nb;x 2\n");
  Selection selection = Merged();
  selection.reverse = true;
  const auto tree = BuildCallTree(profile, selection);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->nodes.size(), 4U);
  EXPECT_EQ(TotalOf(profile, *tree, "x"), 3);
  EXPECT_EQ(TotalOf(profile, *tree, "b"), 2);
}

TEST(CallTree, RemovedFramesLeaveTheirCalleesToTheirCallers) {
  Profile profile = Folded("a;skip;b 1\na;b 2\nskip 4\n");
  Selection selection = Merged();
  selection.remove.push_back(Regex::Compile("^skip$").value());
  const auto tree = BuildCallTree(profile, selection);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(TotalOf(profile, *tree, "b"), 3);
  EXPECT_EQ(tree->nodes[0].self, 4);
  EXPECT_EQ(tree->total, 7);
}

TEST(CallTree, SaysWhatWasNotSelected) {
  Profile profile = Folded("a 1\n");
  Selection selection = Merged();
  selection.filter.push_back(Regex::Compile("nothing").value());
  const auto tree = BuildCallTree(profile, selection);
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().what, "none of 1 samples is selected");
}

TEST(FunctionTable, CountsRecursionOnceAStack) {
  Profile profile = Folded("f;g;f 3\nf 2\n");
  const auto tree = BuildCallTree(profile, Merged());
  ASSERT_TRUE(tree.ok());
  const auto rows = FunctionTable(profile, *tree);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(profile.name(rows[0].frame), "f");
  EXPECT_EQ(rows[0].self, 5);
  EXPECT_EQ(rows[0].total, 5);
  EXPECT_EQ(rows[1].total, 3);
}

TEST(Diff, KeepsWhatIsInOneSideOnly) {
  auto diff = MakeDiff(Folded("a;old 10\na;both 10\n"), Folded("a;new 30\na;both 10\n"), Merged(),
                       Normalize::kNone);
  ASSERT_TRUE(diff.ok());
  EXPECT_EQ(diff->before_total, 20);
  EXPECT_EQ(diff->after_total, 40);
  EXPECT_EQ(TotalOf(diff->profile, diff->tree, "old"), 5);  // the mean of 10 and 0
  EXPECT_EQ(TotalOf(diff->profile, diff->tree, "new"), 15);
  const auto changes = ChangedFunctions(*diff);
  ASSERT_EQ(changes.size(), 3U);  // "both" is the same; "a" changed with what it calls
  EXPECT_EQ(diff->profile.name(changes[0].frame), "new");
  EXPECT_FALSE(MakeDiff(Folded("a 1\n"), Folded("a 1\n"), Merged(), Normalize::kTime).ok());
}

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesGlob("DataLoader-*", "DataLoader-12"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("a?c*e", "abcde"));
  EXPECT_FALSE(MatchesGlob("a?c", "ac"));
  EXPECT_FALSE(MatchesGlob("", "a"));
}

TEST(MappingTable, ANewMappingCutsWhatItCovers) {
  perf_data::MappingTable table;
  table.Add({.begin = 100, .end = 200, .file_offset = 0, .module = 1});
  table.Add({.begin = 120, .end = 140, .file_offset = 7, .module = 2});
  ASSERT_NE(table.Find(119), nullptr);
  EXPECT_EQ(table.Find(119)->module, 1U);
  EXPECT_EQ(table.Find(120)->module, 2U);
  const auto* rest = table.Find(150);
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest->module, 1U);
  EXPECT_EQ(150 - rest->begin + rest->file_offset, 50U);  // as before the cut
  table.Add({.begin = 90, .end = 130, .file_offset = 0, .module = 3});
  EXPECT_EQ(table.Find(125)->module, 3U);
  EXPECT_EQ(table.Find(135)->module, 2U);
  EXPECT_EQ(135 - table.Find(135)->begin + table.Find(135)->file_offset, 22U);
  EXPECT_EQ(table.Find(89), nullptr);
  EXPECT_EQ(table.Find(200), nullptr);
}

TEST(DetectFormat, TellsThemApart) {
  EXPECT_EQ(DetectFormat("PERFILE2...."), Format::kPerfData);
  EXPECT_EQ(DetectFormat("a;b;c 12\n"), Format::kFolded);
  EXPECT_EQ(DetectFormat("app 7 [001] 1.5: 3 cycles:\n\t ff f (x)\n\n"), Format::kPerfScript);
  EXPECT_EQ(DetectFormat("{\"nodes\": []}"), Format::kCpuProfile);
  EXPECT_EQ(DetectFormat("{\"$schema\": \"speedscope\"}"), Format::kSpeedscope);
  EXPECT_EQ(DetectFormat("{\"traceEvents\": [{\"nodes\": 1}]}"), Format::kUnknown);
  EXPECT_EQ(DetectFormat(std::string_view("\x0a\x04\x08\x01\x10\x02\x12\x00", 8)), Format::kPprof);
  EXPECT_EQ(DetectFormat(std::string_view("\x0a\x10\x10\x00\x00\x05", 6)), Format::kUnknown);
  EXPECT_EQ(DetectFormat(""), Format::kUnknown);
}

}  // namespace
}  // namespace culprit::profile
