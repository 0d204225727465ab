// GPU and job on different NUMA nodes, in a tree with two sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "health/gpu_holders.h"
#include "health/test_tree.h"

namespace culprit::health {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct TwoSockets : TestTree {
  TwoSockets() {
    Both("sys/devices/system/node/node0/cpulist", "0-3\n");
    Both("sys/devices/system/node/node1/cpulist", "4-7\n");
    AddGpu("0000:1b:00.0", 0, "0");
    AddGpu("0000:9b:00.0", 1, "1");
  }
  void AddGpu(const std::string& pci, int minor, const std::string& node) const {
    const std::string device = "sys/bus/pci/devices/" + pci + "/";
    Both(device + "vendor", "0x10de\n");
    Both(device + "class", "0x030200\n");
    Both(device + "numa_node", node + "\n");
    Both("proc/driver/nvidia/gpus/" + pci + "/information",
         "Model: \t\t NVIDIA H100\nIRQ:   \t\t 89\nDevice Minor: \t " + std::to_string(minor) +
             "\n");
  }
  // A process with these files open that may run on these CPUs.
  void AddProcess(int pid, const std::string& name, const std::string& cpus,
                  const std::vector<std::string>& open) const {
    const std::string folder = "proc/" + std::to_string(pid) + "/";
    Both(folder + "stat",
         std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 6 0 0\n");
    Both(folder + "status", "Name:\t" + name + "\nTgid:\t" + std::to_string(pid) + "\nPid:\t" +
                                std::to_string(pid) + "\nCpus_allowed:\tff\nCpus_allowed_list:\t" +
                                cpus + "\nMems_allowed_list:\t0-1\n");
    int number = 3;
    for (const std::string& target : open) {
      const std::filesystem::path link = path() + "/0/" + folder + "fd/" + std::to_string(number++);
      std::filesystem::create_directories(link.parent_path());
      std::filesystem::create_symlink(target, link);
    }
  }
};

TEST(GpuNuma, NamesTheJobThatIsBoundToTheOtherSocket) {
  const TwoSockets tree;
  tree.AddProcess(10, "far", "0-3", {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"});
  tree.AddProcess(11, "near", "4-5", {"/dev/nvidia1"});
  tree.AddProcess(12, "anywhere", "0-7", {"/dev/nvidia1"});
  tree.AddProcess(13, "all", "0-3", {"/dev/nvidia0", "/dev/nvidia1"});
  const Report report = tree.Check("gpu.numa", false);
  const Finding finding = FindingOf(report, "gpu.numa");
  EXPECT_EQ(finding.status, FindingStatus::kWarning);
  EXPECT_EQ(finding.subject, "GPU 0000:9b:00.0");
  EXPECT_DOUBLE_EQ(finding.value.value_or(0), 1);
  ASSERT_EQ(finding.evidence.size(), 3U) << "who has every GPU open says nothing of one";
  EXPECT_EQ(finding.evidence[0], "far (pid 10) may run on node 0, not the GPU's");
  EXPECT_THAT(finding.evidence, Contains("anywhere (pid 12) may run on node 0, 1"));
  EXPECT_THAT(finding.advice, HasSubstr("--cpunodebind=1"));
}

TEST(GpuNuma, NvmlsWordCountsWhereItAnswers) {
  const TwoSockets tree;
  tree.AddProcess(13, "all", "0-3", {"/dev/nvidia0", "/dev/nvidia1"});
  Moment moment;
  for (const std::string pci : {"0000:1b:00.0", "0000:9b:00.0"}) {
    moment.texts.Put("/sys/bus/pci/devices/" + pci + "/vendor", {"0x10de\n"});
    moment.texts.Put("/sys/bus/pci/devices/" + pci + "/class", {"0x030200\n"});
  }
  moment.texts.Put("@nvml/driver", {"version 550.1"});
  moment.texts.Put("@nvml/0/0000:9b:00.0", {"index 1\nprocesses 2\npids 13 99\n"});
  ReadGpuHolders(tree.path() + "/0", moment);
  const auto places = GpuPlaces(moment.texts);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_TRUE(places[0].holders.empty());
  ASSERT_EQ(places[1].holders.size(), 1U) << "99 has ended meanwhile";
  EXPECT_EQ(places[1].holders[0].comm, "all");
  EXPECT_EQ(places[1].node, 1U);
  EXPECT_EQ(NodeOfCpus(moment.texts).at(6), 1U);
}

TEST(GpuNuma, UnknownNodesAndSingleOnes) {
  const TwoSockets tree;
  tree.AddGpu("0000:9b:00.0", 1, "-1");
  tree.AddProcess(10, "far", "0-3", {"/dev/nvidia1"});
  Finding finding = FindingOf(tree.Check("gpu.numa", false), "gpu.numa");
  EXPECT_EQ(finding.status, FindingStatus::kUnknown);
  EXPECT_THAT(finding.skipped_reason, HasSubstr("0000:9b:00.0"));
  std::filesystem::remove_all(tree.path() + "/0/sys/devices/system/node/node1");
  finding = FindingOf(tree.Check("gpu.numa", false), "gpu.numa");
  EXPECT_EQ(finding.status, FindingStatus::kNotApplicable);
}

}  // namespace
}  // namespace culprit::health
