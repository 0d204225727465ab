#include "capture/rotation.h"

#include <gtest/gtest.h>

#include "capture/packet_spool.h"
#include "capture/test_folder.h"

namespace culprit::capture {
namespace {

TEST(RotatedName, IsUtcAndSortsByTime) {
  // date -u -d @1700000000 is 2023-11-14 22:13:20.
  const std::string name = RotatedName(1'700'000'000'012'000'000);
  EXPECT_EQ(name, "culprit-20231114T221320.012Z.pftrace");
  EXPECT_TRUE(IsRotatedName(name));
  EXPECT_LT(name, RotatedName(1'700'000'000'013'000'000));
  for (const char* foreign :
       {"culprit-20231114T221320.012Z.pftrace.old", "trace.pftrace", "",
        "culprit-2023111xT221320.012Z.pftrace", "culprit-20231114T221320.012Z.pftrace.a1b2c3"}) {
    EXPECT_FALSE(IsRotatedName(foreign)) << foreign;
  }
}

std::string NameOf(int second) { return RotatedName(std::int64_t{second} * 1'000'000'000); }

TEST(PruneRotated, RemovesTheOldestOfItsOwnFilesAlone) {
  const TestFolder folder;
  for (int second = 1; second <= 5; ++second) folder.Put(NameOf(second), std::string(1000, 'x'));
  folder.Put("notes.txt", std::string(100'000, 'x'));
  EXPECT_EQ(PruneRotated(folder.path(), {.keep = 3}, 0),
            (std::vector<std::string>{NameOf(1), NameOf(2)}));
  EXPECT_EQ(PruneRotated(folder.path(), {.max_bytes = 2500}, 0),
            std::vector<std::string>{NameOf(3)});
  EXPECT_EQ(PruneRotated(folder.path(), {.max_bytes = 2500}, 1000),
            std::vector<std::string>{NameOf(4)});
  // The newest one stays, whatever the limit.
  EXPECT_TRUE(PruneRotated(folder.path(), {.max_bytes = 10}, 0).empty());
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{NameOf(5), "notes.txt"}));
}

Segment SegmentOf(const TestFolder& folder, const std::string& packet) {
  Segment segment;
  segment.packets = PacketSpool::Create(folder.path(), 0).value();
  segment.packets->Append(packet);
  return segment;
}

TEST(Rotation, WritesEachSegmentAndKeepsTheNewest) {
  const TestFolder folder;
  std::vector<std::string> paths;
  {
    Rotation rotation(folder.path(), {.keep = 2}, RecordConfig{}, [&](const auto& file) {
      ASSERT_TRUE(file.ok()) << file.error().ToString();
      paths.push_back(file->path);
    });
    for (int second = 1; second <= 3; ++second) {
      rotation.Write(SegmentOf(folder, "ab"), std::int64_t{second} * 1'000'000'000);
      rotation.Flush();
    }
  }
  EXPECT_EQ(paths.size(), 3U);
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{NameOf(2), NameOf(3)}));
  // Trace.packet = 1, length 2.
  EXPECT_EQ(ReadFile(folder.PathOf(NameOf(3))).value(),
            "\x0a\x02"
            "ab");
}

TEST(PacketSpool, KeepsOrderAndEverythingWithoutALimit) {
  const TestFolder folder;
  auto spool = PacketSpool::Create(folder.path(), 0).value();
  std::string expected;
  const std::string large(100'000, 'x');
  for (int i = 0; i < 20; ++i) {
    spool->Append(std::to_string(i) + large);
    tracefile::AppendFrame(expected, std::to_string(i) + large);
  }
  std::string lasting;
  spool->AppendLasting("first");
  tracefile::AppendFrame(lasting, "first");
  auto writer = tracefile::TraceWriter::Create(folder.PathOf("t")).value();
  ASSERT_TRUE(spool->CopyTo(writer).ok());
  ASSERT_TRUE(writer.Commit().ok());
  EXPECT_EQ(ReadFile(folder.PathOf("t")).value(), lasting + expected);
  EXPECT_EQ(spool->dropped_packets(), 0U);
}

TEST(PacketSpool, WithALimitTheOldestGoAndTheLastingStay) {
  const TestFolder folder;
  auto spool = PacketSpool::Create(folder.path(), 1'000'000).value();
  spool->AppendLasting("descriptor");
  const std::string large(100'000, 'x');
  for (int i = 0; i < 100; ++i) spool->Append(std::to_string(i) + large);
  EXPECT_LT(spool->bytes(), 1'400'000U);  // the limit and the block being filled
  auto writer = tracefile::TraceWriter::Create(folder.PathOf("t")).value();
  ASSERT_TRUE(spool->CopyTo(writer).ok());
  ASSERT_TRUE(writer.Commit().ok());
  const std::string text = ReadFile(folder.PathOf("t")).value();
  EXPECT_NE(text.find("descriptor"), text.npos);
  EXPECT_EQ(text.find("10x"), text.npos);
  EXPECT_NE(text.find("99x"), text.npos);
}

}  // namespace
}  // namespace culprit::capture
