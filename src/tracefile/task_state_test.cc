#include "tracefile/task_state.h"

#include <gtest/gtest.h>

namespace culprit::tracefile {
namespace {

// print fmt as kernels spell it, shortened to what matters; the flag lists are whole.
constexpr std::string_view k3_10 =
    R"(print fmt: "prev_state=%s%s", REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }) : "R", REC->prev_state & 1024 ? "+" : "", REC->next_comm)";
constexpr std::string_view k4_4 =
    R"(print fmt: "prev_state=%s%s", REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : "", REC->next_comm)";
constexpr std::string_view k6_18 =
    R"(print fmt: "prev_state=%s%s", (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm)";
// 2.6.32 had no "+".
constexpr std::string_view k2_6_32 =
    R"(print fmt: "prev_state=%s", REC->prev_state ? __print_flags(REC->prev_state, "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "W" }) : "R")";

struct Expectation {
  std::int64_t state;
  std::string_view text;
};

void Check(const TaskStates& states, std::initializer_list<Expectation> expectations) {
  for (const auto& [state, text] : expectations) EXPECT_EQ(states.Text(state), text) << state;
}

TEST(TaskStates, ReadsTheFlagsOfAFormat) {
  Check(TaskStates::FromFormat(k6_18).value(), {{0, "R"},
                                                {0x100, "R+"},
                                                {1, "S"},
                                                {2, "D"},
                                                {4, "T"},
                                                {8, "t"},
                                                {0x10, "X"},
                                                {0x20, "Z"},
                                                {0x40, "P"},
                                                {0x80, "I"},
                                                {0x200, "?"},
                                                {0x102, "D"},
                                                {3, "SD"}});
  Check(TaskStates::FromFormat(k4_4).value(), {{0, "R"},
                                               {2048, "R+"},
                                               {16, "Z"},
                                               {32, "X"},
                                               {64, "x"},
                                               {130, "DK"},
                                               {256, "W"},
                                               {512, "P"},
                                               {1026, "I"},
                                               {1024, "N"},
                                               {4096, "?"}});
  Check(TaskStates::FromFormat(k3_10).value(),
        {{1024, "R+"}, {130, "DK"}, {512, "P"}, {2048, "?"}, {1, "S"}});
  Check(TaskStates::FromFormat(k2_6_32).value(), {{0, "R"}, {128, "W"}, {2, "D"}, {256, "?"}});
}

TEST(TaskStates, KnowsTheLayoutsOfReleases) {
  for (const char* release : {"6.18.0", "5.10.0-28-amd64", "4.14.1", "4.19", "10.0"}) {
    Check(TaskStates::FromRelease(release), {{256, "R+"}, {128, "I"}, {64, "P"}, {16, "X"}});
  }
  for (const char* release : {"4.4.88-g1", "", "nonsense", "4.7"}) {
    Check(TaskStates::FromRelease(release), {{256, "W"}, {2048, "R+"}, {130, "DK"}, {1026, "I"}});
  }
  Check(TaskStates::FromRelease("4.9.337"), {{4096, "R+"}, {256, "W"}, {64, "x"}});
  Check(TaskStates::FromRelease("3.18.1"), {{1024, "R+"}, {512, "P"}, {16, "X"}, {32, "Z"}});
  Check(TaskStates::FromRelease("3.10.0-1160.el7.x86_64"), {{1024, "R+"}, {16, "Z"}, {32, "X"}});
}

TEST(TaskStates, RefusesWhatIsNoFlagList) {
  for (const char* text :
       {"", "print fmt: \"x\"", "__print_flags(", "__print_flags(x, \"|\", { 1, \"S\"",
        "__print_flags(x, \"|\", { , \"S\" })", "__print_flags(x, \"|\", { one, \"S\" })",
        "__print_flags(x, \"|\", { 1, S })", "__print_flags(x, \"|\", { 0, \"S\" })",
        "__print_flags(x, \"|\", { 1, \"\x1b[2J\" })"}) {
    EXPECT_FALSE(TaskStates::FromFormat(text).has_value()) << text;
  }
}

TEST(TaskStates, BoundsTheDepthOfAnExpression) {
  const std::string deep = "__print_flags(x, \"|\", { " + std::string(100000, '(') + "1";
  EXPECT_FALSE(TaskStates::FromFormat(deep + ", \"S\" })").has_value());
  EXPECT_FALSE(TaskStates::FromFormat("__print_flags(x, \"|\", { " + std::string(100000, '~') +
                                      "1, \"S\" })")
                   .has_value());
}

}  // namespace
}  // namespace culprit::tracefile
