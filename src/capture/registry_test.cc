#include "capture/registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/test_folder.h"

namespace culprit::capture {
namespace {

RegistryEntry OwnEntry() {
  RegistryEntry entry;
  entry.recorder = kernel::OwnIdentity().value();
  entry.since_unix_s = 1'700'000'000;
  entry.instance = "culprit-1-2";
  entry.output = "/a \"b\"\n";
  entry.rotates = true;
  entry.files = 3;
  entry.lost_events = std::uint64_t{1} << 60;
  return entry;
}

TEST(Registry, GivesBackWhatWasPut) {
  const TestFolder folder;
  const auto registry = Registry::Open(folder.PathOf("run"));
  ASSERT_TRUE(registry.ok()) << registry.error().ToString();
  ASSERT_TRUE(registry->Put(OwnEntry()).ok());
  const auto entries = registry->List();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].recorder, OwnEntry().recorder);
  EXPECT_EQ(entries[0].output, OwnEntry().output);
  EXPECT_EQ(entries[0].files, 3U);
  EXPECT_EQ(entries[0].lost_events, OwnEntry().lost_events);
  EXPECT_TRUE(entries[0].rotates);
  EXPECT_EQ(entries[0].state, "recording");
  registry->Remove(getpid());
  EXPECT_TRUE(registry->List().empty());
}

TEST(Registry, ForgetsRecordersThatAreGoneButNotTheirFailures) {
  const TestFolder folder;
  const auto registry = Registry::Open(folder.PathOf("run")).value();
  RegistryEntry gone = OwnEntry();
  ++gone.recorder.start_ticks;  // the pid is another process's by now
  ASSERT_TRUE(registry.Put(gone).ok());
  EXPECT_TRUE(registry.List().empty());
  EXPECT_FALSE(PathExists(registry.directory() + "/" + std::to_string(getpid()) + ".json"));
  gone.state = "failed";
  gone.error = "disk full";
  ASSERT_TRUE(registry.Put(gone).ok());
  ASSERT_EQ(registry.List().size(), 1U);
  EXPECT_EQ(registry.List()[0].error, "disk full");
}

TEST(Registry, PassesOverWhatIsNoEntry) {
  const TestFolder folder;
  const auto registry = Registry::Open(folder.PathOf("run")).value();
  folder.Put("run/1.json", "{\"pid\": \"one\"}");
  folder.Put("run/2.json", "[[[");
  folder.Put("run/notes", "");
  EXPECT_TRUE(registry.List().empty());
}

TEST(Registry, TrustsNoDirectoryThatOthersMayWrite) {
  const TestFolder folder;
  ASSERT_EQ(mkdir(folder.PathOf("open").c_str(), 0700), 0);
  ASSERT_EQ(chmod(folder.PathOf("open").c_str(), 0777), 0);
  EXPECT_FALSE(Registry::Open(folder.PathOf("open")).ok());
  ASSERT_EQ(symlink(folder.path().c_str(), folder.PathOf("link").c_str()), 0);
  EXPECT_FALSE(Registry::Open(folder.PathOf("link")).ok());
}

}  // namespace
}  // namespace culprit::capture
