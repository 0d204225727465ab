// Who may borrow the top-level buffer, on folders of files; on the real kernel: tests/record.
#include "capture/top_level_markers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/test_folder.h"

namespace culprit::capture {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kPageBytes = 4096;

class TopLevel : public testing::Test {
 protected:
  TopLevel() {
    Put("current_tracer", "nop\n");
    Put("events/enable", "0\n");
    Put("tracing_on", "1\n");
    Put("trace",
        "# tracer: nop\n#\n  sh-7   [000] .....  1.000001: tracing_mark_write: a: 1.0: b\nc\n");
    Put("trace_clock", "[local] global boot\n");
    Put("buffer_size_kb", "1408\n");
  }
  void Put(const std::string& name, const std::string& text) { folder_.Put(name, text); }
  std::string Read(const std::string& name) const { return ReadFile(folder_.PathOf(name)).value(); }
  Result<TopLevelMarkers> Inspect() const {
    return TopLevelMarkers::Inspect(kernel::TraceDirectory(folder_.path()), kPageBytes);
  }

  TestFolder folder_;
};

TEST_F(TopLevel, IsBorrowedAndGivenBack) {
  {
    auto markers = Inspect();
    ASSERT_TRUE(markers.ok()) << markers.error().ToString();
    EXPECT_EQ(Read("trace_clock"), "[local] global boot\n") << "looking changes nothing";
    EXPECT_FALSE(Inspect().ok()) << "two recorders at once";
    ASSERT_TRUE(markers->Begin("boot", 2 << 20).ok());
    EXPECT_THAT(Read("trace_clock"), HasSubstr("boot"));
    EXPECT_THAT(Read("buffer_size_kb"), HasSubstr("2048"));
    EXPECT_EQ(Read("trace"), "") << "what was written before is gone";
  }
  EXPECT_THAT(Read("trace_clock"), HasSubstr("local"));
  EXPECT_THAT(Read("buffer_size_kb"), HasSubstr("1408"));
  Put("trace_clock", "[local] global boot\n");
  EXPECT_TRUE(Inspect().ok()) << "the lock is given back too";
}

TEST_F(TopLevel, IsLeftToWhoBeganToTraceThereMeanwhile) {
  {
    auto markers = Inspect();
    ASSERT_TRUE(markers.ok());
    ASSERT_TRUE(markers->Begin("boot", 2 << 20).ok());
    EXPECT_TRUE(markers->IsAlone());
    Put("events/enable", "X\n");
    EXPECT_FALSE(markers->IsAlone());
  }
  EXPECT_THAT(Read("trace_clock"), HasSubstr("boot"));
}

TEST_F(TopLevel, IsLeftAloneWhereSomebodyTraces) {
  const struct {
    const char* file;
    const char* text;
    const char* reason;
  } cases[] = {
      {"current_tracer", "function\n", "the tracer function"},
      {"events/enable", "X\n", "events are enabled"},
      {"tracing_on", "0\n", "stopped"},
      {"buffer_subbuf_size_kb", "64\n", "sub-buffers"},
      {"trace", "  sh-7   [000] d..2.  1.000001: sched_switch: prev_comm=sh\n", "holds events"},
  };
  for (const auto& given : cases) {
    const std::string path = folder_.PathOf(given.file);
    const auto before = ReadFile(path);
    Put(given.file, given.text);
    const auto markers = Inspect();
    ASSERT_FALSE(markers.ok()) << given.file;
    EXPECT_THAT(markers.error().what, HasSubstr(given.reason));
    if (before) {
      Put(given.file, *before);
    } else {
      std::filesystem::remove(path);
    }
  }
  EXPECT_TRUE(Inspect().ok());
}

}  // namespace
}  // namespace culprit::capture
