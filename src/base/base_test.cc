#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"

namespace culprit {
namespace {

TEST(Text, DurationsAndBytes) {
  EXPECT_EQ(ParseDuration("30s")->value, 30'000'000'000);
  EXPECT_EQ(ParseDuration("1.5s")->value, 1'500'000'000);
  EXPECT_EQ(ParseDuration("500ms")->value, 500'000'000);
  EXPECT_EQ(ParseDuration("5m")->value, 300'000'000'000);
  EXPECT_EQ(ParseDuration("20")->value, 20'000'000'000);
  EXPECT_EQ(*ParseBytes("64M"), 64u << 20);
  EXPECT_EQ(*ParseBytes("2GiB"), 2ull << 30);
  EXPECT_EQ(*ParseBytes("512kB"), 512u << 10);
  EXPECT_EQ(*ParseBytes("4096"), 4096u);
  for (const char* bad : {"", "s", "-1s", "1 parsec", "nan", "1e999", "1..5s"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
  }
}

TEST(Text, IntegersAreWhole) {
  EXPECT_EQ(ParseInteger<int>("42"), 42);
  EXPECT_EQ(ParseInteger<std::uint64_t>("ffff", 16), 0xffffu);
  EXPECT_FALSE(ParseInteger<int>("42x"));
  EXPECT_FALSE(ParseInteger<int>(""));
  EXPECT_FALSE(ParseInteger<std::uint8_t>("256"));
}

TEST(Text, HostileStringsCannotMoveTheCursor) {
  EXPECT_EQ(SafeForTerminal("a\x1b[2Jb\n"), "a\\x1b[2Jb\\n");
  EXPECT_EQ(SafeForTerminal("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(SafeForTerminal("\xc3"), "\\xc3");                    // cut sequence
  EXPECT_EQ(SafeForTerminal("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(SafeForTerminal("\xc2\x9b"), "\\xc2\\x9b");           // C1 CSI
  EXPECT_EQ(SafeForTerminal("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(SafeForTerminal("\xe6\x97\xa5"), "\xe6\x97\xa5");
}

TEST(Text, NearNames) {
  const std::vector<std::string> names = {"sched/sched_switch", "sched/sched_waking",
                                          "block/block_rq_issue"};
  EXPECT_EQ(NearNames("sched/sched_swich", names).front(), "sched/sched_switch");
  EXPECT_TRUE(NearNames("zzz", names).empty());
}

TEST(Text, LinesAndWords) {
  EXPECT_EQ(SplitLines("a\nb").size(), 2u);
  EXPECT_EQ(SplitLines("a\nb\n").size(), 2u);
  EXPECT_EQ(SplitLines("").size(), 0u);
  EXPECT_EQ(SplitWords("  a \t b\n").size(), 2u);
}

TEST(Bytes, ReadsPastTheEndAreZeroAndMarked) {
  ByteReader reader(std::string_view("\x01\x02\x03", 3));
  EXPECT_EQ(reader.Read<std::uint16_t>(), 0x0201);
  EXPECT_EQ(reader.Read<std::uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Read<std::uint8_t>(), 0u);  // stays bad: what follows a bad read is not trusted
}

TEST(Bytes, IntegersAtAnOffset) {
  const std::array<std::byte, 4> bytes = {std::byte{0xff}, std::byte{0xfe}, std::byte{1},
                                          std::byte{0}};
  EXPECT_EQ(ReadIntegerAt(bytes, 0, 1, true), -1);
  EXPECT_EQ(ReadIntegerAt(bytes, 0, 1, false), 255);
  EXPECT_EQ(ReadIntegerAt(bytes, 2, 2, false), 1);
  EXPECT_EQ(ReadIntegerAt(bytes, 2, 4, false), 0);
  EXPECT_EQ(ReadIntegerAt(bytes, ~std::size_t{0}, 4, false), 0);
}

TEST(File, NamelessFileLeavesNothing) {
  char directory[] = "/tmp/culprit-test-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  {
    auto fd = OpenNamelessFile(directory);
    ASSERT_TRUE(fd.ok()) << fd.error().ToString();
    ASSERT_TRUE(WriteAll(fd->get(), "hello", "temporary").ok());
    std::string text;
    ASSERT_TRUE(ReadAgain(fd->get(), "temporary", text).ok());
    EXPECT_EQ(text, "hello");
    EXPECT_EQ(MappedFile::OfFd(fd->get(), "temporary")->text(), "hello");
  }
  EXPECT_EQ(rmdir(directory), 0);
}

TEST(File, ErrorsNameThePath) {
  const auto missing = ReadFile("/nonexistent/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, "open /nonexistent/file: No such file or directory");
  EXPECT_FALSE(MappedFile::Open("/tmp").ok());
  EXPECT_FALSE(ReadFile("/proc/self/status", 10).ok());
  EXPECT_GT(ReadFile("/proc/self/status")->size(), 100u);
}

}  // namespace
}  // namespace culprit
