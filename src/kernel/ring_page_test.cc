#include "kernel/ring_page.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace culprit::kernel {
namespace {

// Pages made by hand, byte for byte as the comment in ring_page.h draws them.
class PageBuilder {
 public:
  explicit PageBuilder(std::uint64_t timestamp) { timestamp_ = timestamp; }

  PageBuilder& Word(std::uint32_t type, std::uint32_t delta) { return Put(type | delta << 5); }
  PageBuilder& Put(std::uint32_t word) {
    data_.append(reinterpret_cast<const char*>(&word), sizeof(word));
    return *this;
  }
  PageBuilder& Small(std::uint32_t delta, std::string_view data) {
    Word(static_cast<std::uint32_t>(data.size() / 4), delta);
    data_.append(data);
    return *this;
  }
  PageBuilder& Flags(std::uint64_t flags) {
    flags_ = flags;
    return *this;
  }
  PageBuilder& Lost(std::uint64_t count) {
    flags_ |= 3ULL << 30;
    lost_ = count;
    return *this;
  }
  std::vector<std::byte> Make(std::size_t size = 4096) const {
    std::string page;
    const std::uint64_t commit = data_.size() | flags_;
    page.append(reinterpret_cast<const char*>(&timestamp_), 8);
    page.append(reinterpret_cast<const char*>(&commit), 8);
    page += data_;
    if (lost_ != 0) page.append(reinterpret_cast<const char*>(&lost_), 8);
    page.resize(size);
    const auto* bytes = reinterpret_cast<const std::byte*>(page.data());
    return {bytes, bytes + page.size()};
  }

 private:
  std::uint64_t timestamp_;
  std::uint64_t flags_ = 0;
  std::uint64_t lost_ = 0;
  std::string data_;
};

struct Decoded {
  std::vector<std::pair<std::uint64_t, std::string>> records;
  PageFault fault = PageFault::kNone;
};

Decoded Decode(std::span<const std::byte> bytes) {
  RingPage page(bytes, PageLayout{}, RecordLayout{});
  Decoded decoded;
  RingRecord record;
  while (page.Next(record)) {
    decoded.records.emplace_back(
        record.timestamp_ns,
        std::string(reinterpret_cast<const char*>(record.data.data()), record.data.size()));
  }
  decoded.fault = page.fault();
  return decoded;
}

using Records = std::vector<std::pair<std::uint64_t, std::string>>;

TEST(RingPage, AddsUpTheTimesOfSmallRecords) {
  const auto decoded =
      Decode(PageBuilder(1000).Small(0, "aaaa").Small(5, "bbbbcccc").Small(7, "dddd").Make());
  EXPECT_EQ(decoded.records, (Records{{1000, "aaaa"}, {1005, "bbbbcccc"}, {1012, "dddd"}}));
  EXPECT_EQ(decoded.fault, PageFault::kNone);
}

TEST(RingPage, ReadsLargeRecordsByTheirLengthWord) {
  const std::string text(200, 'x');
  PageBuilder builder(10);
  builder.Word(0, 3).Put(204);
  for (int i = 0; i < 50; ++i) builder.Put(0x78787878);
  const auto decoded = Decode(builder.Small(1, "tail").Make());
  EXPECT_EQ(decoded.records, (Records{{13, text}, {14, "tail"}}));
}

TEST(RingPage, ExtendsAndSetsTheTime) {
  const std::uint64_t extended = 100 + 5 + (3ULL << 27);
  const auto decoded = Decode(PageBuilder(100)
                                  .Word(30, 5)
                                  .Put(3)
                                  .Small(1, "aaaa")
                                  .Word(31, 9)
                                  .Put(1000)
                                  .Small(2, "bbbb")
                                  .Make());
  EXPECT_EQ(decoded.records, (Records{{extended + 1, "aaaa"}, {9 + (1000ULL << 27) + 2, "bbbb"}}));
}

// Absolute stamps have 59 bits; the five above come from the time before.
TEST(RingPage, CompletesAbsoluteTimesBeyond59Bits) {
  const std::uint64_t high = 3ULL << 59;
  const auto stamp = [](std::uint64_t start, std::uint64_t low) {
    return Decode(PageBuilder(start)
                      .Word(31, static_cast<std::uint32_t>(low & ((1U << 27) - 1)))
                      .Put(static_cast<std::uint32_t>(low >> 27))
                      .Small(0, "aaaa")
                      .Make())
        .records.at(0)
        .first;
  };
  EXPECT_EQ(stamp(high + 1000, 2000), high + 2000);
  EXPECT_EQ(stamp(high + 5000, 100), high + (1ULL << 59) + 100) << "wrapped since";
  EXPECT_EQ(stamp(5000, 100), 100U) << "no bits above: taken as it is";
}

TEST(RingPage, SkipsDiscardedRecordsAndStopsAtPadding) {
  const auto decoded = Decode(PageBuilder(100)
                                  .Word(29, 4)
                                  .Put(12)
                                  .Put(0xffffffff)
                                  .Put(0xffffffff)
                                  .Small(1, "aaaa")
                                  .Word(29, 0)
                                  .Put(0xffffffff)
                                  .Make());
  EXPECT_EQ(decoded.records, (Records{{105, "aaaa"}}));
  EXPECT_EQ(decoded.fault, PageFault::kNone);
}

TEST(RingPage, TellsLostEventsAndTheirNumber) {
  const auto counted = PageBuilder(1).Small(0, "aaaa").Lost(77).Make();
  RingPage with_count(counted, PageLayout{}, RecordLayout{});
  EXPECT_TRUE(with_count.has_lost());
  EXPECT_EQ(with_count.lost_count(), 77U);
  const auto flagged = PageBuilder(1).Small(0, "aaaa").Flags(1ULL << 31).Make();
  RingPage without_count(flagged, PageLayout{}, RecordLayout{});
  EXPECT_TRUE(without_count.has_lost());
  EXPECT_EQ(without_count.lost_count(), std::nullopt);
  EXPECT_EQ(Decode(flagged).records.size(), 1U);
  const auto none = PageBuilder(1).Small(0, "aaaa").Make();
  EXPECT_FALSE(RingPage(none, PageLayout{}, RecordLayout{}).has_lost());
}

TEST(RingPage, ReadsPagesLargerThan4K) {
  PageBuilder builder(0);
  for (int i = 0; i < 5000; ++i) builder.Small(1, "abcd");
  const auto decoded = Decode(builder.Make(65536));
  ASSERT_EQ(decoded.records.size(), 5000U);
  EXPECT_EQ(decoded.records.back().first, 5000U);
}

TEST(RingPage, ReadsThe32BitHeader) {
  std::string page(64, '\0');
  const std::uint64_t timestamp = 9;
  const std::uint32_t commit = 8, word = 1 | 2 << 5;
  std::memcpy(page.data(), &timestamp, 8);
  std::memcpy(page.data() + 8, &commit, 4);
  std::memcpy(page.data() + 12, &word, 4);
  std::memcpy(page.data() + 16, "data", 4);
  RingPage ring({reinterpret_cast<const std::byte*>(page.data()), page.size()},
                PageLayout{.commit_bytes = 4, .data_offset = 12}, RecordLayout{});
  RingRecord record;
  ASSERT_TRUE(ring.Next(record));
  EXPECT_EQ(record.timestamp_ns, 11U);
  EXPECT_FALSE(ring.Next(record));
}

TEST(RingPage, NamesTheFaultAndKeepsWhatCameBefore) {
  const auto fault = [](const std::vector<std::byte>& page) { return Decode(page).fault; };
  EXPECT_EQ(fault(std::vector<std::byte>(15)), PageFault::kShortPage);
  EXPECT_EQ(fault(PageBuilder(0).Flags(5000).Make()), PageFault::kCommitTooLarge);
  const auto cut = Decode(PageBuilder(0).Small(0, "good").Word(28, 0).Put(1).Make());
  EXPECT_EQ(cut.fault, PageFault::kBadLength);
  EXPECT_EQ(cut.records.size(), 1U);
  EXPECT_EQ(fault(PageBuilder(0).Word(0, 0).Put(3).Make()), PageFault::kBadLength);
  EXPECT_EQ(fault(PageBuilder(0).Word(0, 0).Put(0xffffffff).Make()), PageFault::kBadLength);
  EXPECT_EQ(fault(PageBuilder(0).Word(29, 1).Put(0).Make()), PageFault::kBadLength);
  EXPECT_EQ(fault(PageBuilder(0).Word(30, 1).Make()), PageFault::kShortHeader);
  for (const PageFault each : {PageFault::kNone, PageFault::kShortPage, PageFault::kUnknownType}) {
    EXPECT_FALSE(PageFaultText(each).empty());
  }
}

}  // namespace
}  // namespace culprit::kernel
