#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace culprit {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest()
      : directory_(fs::temp_directory_path() / ("culprit_atomic_" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directory(directory_);
  }
  ~AtomicFileTest() override { fs::remove_all(directory_); }
  std::size_t FileCount() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  std::string Path(const char* name) const { return directory_ / name; }

  fs::path directory_;
};

TEST_F(AtomicFileTest, AppearsWholeOrNotAtAll) {
  {
    auto file = AtomicFile::Create(Path("x"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(WriteAll(file->fd(), "half", "x").ok());
    EXPECT_FALSE(PathExists(Path("x")));
  }
  EXPECT_EQ(FileCount(), 0U);
  {
    auto file = AtomicFile::Create(Path("x"));
    ASSERT_TRUE(WriteAll(file->fd(), "whole", "x").ok());
    ASSERT_TRUE(file->Commit().ok());
  }
  EXPECT_EQ(ReadFile(Path("x")).value(), "whole");
  EXPECT_EQ(FileCount(), 1U);
}

TEST_F(AtomicFileTest, ReservedNamesAreFree) {
  auto file = AtomicFile::ReserveName(Path("x"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(FileCount(), 0U);
  auto other = OpenFile(file->temporary_path(), O_CREAT | O_WRONLY, 0600);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(PathExists(Path("x")));
}

TEST_F(AtomicFileTest, DevicesAreWrittenDirectly) {
  auto file = AtomicFile::Create("/dev/null");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(WriteAll(file->fd(), "text", "/dev/null").ok());
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, UnwritableFolderIsAnError) {
  EXPECT_FALSE(AtomicFile::Create(Path("no/such/folder")).ok());
  EXPECT_FALSE(AtomicFile::ReserveName(Path("no/such/folder")).ok());
}

}  // namespace
}  // namespace culprit
