#include "kernel/open_devices.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace culprit::kernel {
namespace {

TEST(OpenDevices, MinorOfOneGpuAlone) {
  EXPECT_EQ(NvidiaMinor("/dev/nvidia13"), 13U);
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia", "/dev/null"}) {
    EXPECT_EQ(NvidiaMinor(path), std::nullopt) << path;
  }
}

TEST(OpenDevices, OfThisProcess) {
  const auto is_null = [](std::string_view path) { return path == "/dev/null"; };
  const UniqueFd first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd second(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::size_t budget = kMostDescriptors;
  const auto paths = OpenPaths("/", getpid(), budget, is_null);
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(*paths, std::set<std::string>{"/dev/null"});
  EXPECT_LE(budget, kMostDescriptors - 3);
  budget = 2;
  EXPECT_FALSE(OpenPaths("/", getpid(), budget, is_null).has_value());
}

TEST(OpenDevices, OfAProcessThatIsGone) {
  std::size_t budget = 1;
  const auto paths = OpenPaths("/nowhere", 1, budget, [](std::string_view) { return true; });
  ASSERT_TRUE(paths.has_value());
  EXPECT_TRUE(paths->empty());
  EXPECT_EQ(budget, 1U);
}

}  // namespace
}  // namespace culprit::kernel
