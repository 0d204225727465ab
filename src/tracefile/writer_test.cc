#include "tracefile/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <protozero/pbf_reader.hpp>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tracefile/fields.h"

namespace culprit::tracefile {
namespace {

class TraceWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "writer.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }
  std::size_t FilesHere() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_), {}));
  }
  static std::vector<std::string> PacketsOf(const std::string& path) {
    const std::string bytes = ReadFile(path).value();
    std::vector<std::string> packets;
    protozero::pbf_reader trace(bytes);
    while (trace.next(Trace::kPacket)) packets.push_back(trace.get_string());
    return packets;
  }

  std::string directory_;
};

TEST_F(TraceWriterTest, CommitsPacketsInOrderUnderTheFinalNameOnly) {
  const std::string path = PathOf("a.pftrace");
  auto writer = TraceWriter::Create(path).value();
  ASSERT_TRUE(writer.Append("first").ok());
  std::string framed;
  AppendFrame(framed, std::string(200, 'x'));
  AppendFrame(framed, "");
  ASSERT_TRUE(writer.AppendFramed(framed).ok());
  EXPECT_FALSE(PathExists(path));
  const auto size = writer.Commit();
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size.value(), 7U + 203U + 2U);
  EXPECT_EQ(std::filesystem::file_size(path), size.value());
  EXPECT_EQ(PacketsOf(path), (std::vector<std::string>{"first", std::string(200, 'x'), ""}));
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  EXPECT_EQ(FilesHere(), 1U);
}

TEST_F(TraceWriterTest, LeavesNothingBehindWithoutCommit) {
  { ASSERT_TRUE(TraceWriter::Create(PathOf("b")).value().Append("packet").ok()); }
  EXPECT_EQ(FilesHere(), 0U);
}

TEST_F(TraceWriterTest, TakesPacketsOfSeveralThreadsWhole) {
  auto writer = TraceWriter::Create(PathOf("c")).value();
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    threads.emplace_back([&writer, letter] {
      for (int i = 0; i < 2000; ++i) EXPECT_TRUE(writer.Append(std::string(300, letter)).ok());
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(writer.Commit().ok());
  const auto packets = PacketsOf(PathOf("c"));
  ASSERT_EQ(packets.size(), 8000U);
  for (const auto& packet : packets) EXPECT_EQ(packet, std::string(300, packet[0]));
}

TEST_F(TraceWriterTest, StopsAtItsLimit) {
  TraceWriter::Options options;
  options.max_bytes = 100;
  auto writer = TraceWriter::Create(PathOf("d"), options).value();
  EXPECT_TRUE(writer.Append(std::string(50, 'x')).ok());
  const Status refused = writer.Append(std::string(50, 'y'));
  ASSERT_FALSE(refused.ok());
  EXPECT_FALSE(writer.Append("z").ok()) << "nothing more after the first refusal";
  EXPECT_TRUE(writer.Commit().ok());
  EXPECT_TRUE(writer.write_error().has_value());
  EXPECT_EQ(PacketsOf(PathOf("d")), (std::vector<std::string>{std::string(50, 'x')}));
}

TEST_F(TraceWriterTest, KeepsWholePacketsOfAFullDisk) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
  const std::string mount_point = PathOf("small");
  ASSERT_TRUE(std::filesystem::create_directory(mount_point));
  if (::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs here";
  }
  {
    const std::string path = mount_point + "/trace";
    auto writer = TraceWriter::Create(path).value();
    Status status;
    std::size_t taken = 0;
    for (; status.ok() && taken < 1000; ++taken) status = writer.Append(std::string(9999, 'p'));
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().what.find("No space left"), std::string::npos) << status.error().what;
    const auto size = writer.Commit();
    ASSERT_TRUE(size.ok()) << size.error().what;
    EXPECT_EQ(std::filesystem::file_size(path), size.value());
    EXPECT_EQ(size.value() % 10002, 0U) << "ends at a packet";
    EXPECT_GT(size.value(), 1900000U);
    EXPECT_EQ(PacketsOf(path).size(), size.value() / 10002);
  }
  EXPECT_EQ(::umount(mount_point.c_str()), 0);
}

TEST_F(TraceWriterTest, SaysWhyAPathCannotBeWritten) {
  const auto missing = TraceWriter::Create(PathOf("no/such/place"));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().what.find("No such file"), std::string::npos) << missing.error().what;
  const auto directory = TraceWriter::Create(directory_);
  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.error().what.find("directory"), std::string::npos);
}

TEST_F(TraceWriterTest, WritesIntoWhatIsNoRegularFile) {
  auto writer = TraceWriter::Create("/dev/null").value();
  EXPECT_TRUE(writer.Append("packet").ok());
  EXPECT_TRUE(writer.Commit().ok());
  EXPECT_TRUE(PathExists("/dev/null"));
}

TEST_F(TraceWriterTest, GivesTheFileToTheUserBehindSudo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to change the owner of a file";
  ::setenv("SUDO_UID", "1234", 1);
  ::setenv("SUDO_GID", "4321", 1);
  auto writer = TraceWriter::Create(PathOf("owned")).value();
  ::unsetenv("SUDO_UID");
  ::unsetenv("SUDO_GID");
  ASSERT_TRUE(writer.Commit().ok());
  struct stat info = {};
  ASSERT_EQ(::stat(PathOf("owned").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_gid, 4321U);
}

TEST(PacketHead, WritesOnlyWhatIsSet) {
  std::string data;
  protozero::pbf_writer packet(data);
  WritePacketHead(packet, {.timestamp_ns = 5, .sequence_id = 100, .sequence_flags = 1});
  std::vector<std::pair<std::uint32_t, std::uint64_t>> fields;
  protozero::pbf_reader reader(data);
  while (reader.next()) fields.emplace_back(reader.tag(), reader.get_uint64());
  EXPECT_EQ(fields, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{
                        {TracePacket::kTimestamp, 5},
                        {TracePacket::kTrustedUid, 0},
                        {TracePacket::kTrustedPacketSequenceId, 100},
                        {TracePacket::kSequenceFlags, 1}}));
}

}  // namespace
}  // namespace culprit::tracefile
