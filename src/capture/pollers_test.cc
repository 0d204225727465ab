// Pollers and process scans on a folder that stands for a machine; what they write is read back
// field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>

#include "capture/counter_tracks.h"
#include "capture/process_scan.h"
#include "capture/sys_stats.h"
#include "capture/test_folder.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;
using protozero::pbf_reader;
using testing::ElementsAre;

constexpr DurationNs kOften{100'000'000};

PollPeriods Everything() {
  return {kOften, kOften, kOften, kOften, kOften, kOften, kOften, kOften};
}

// Messages of one field of SysStats as maps from their fields to their numbers.
using Numbers = std::map<std::uint32_t, std::uint64_t>;
std::vector<Numbers> MessagesOf(const std::string& stats, std::uint32_t field) {
  std::vector<Numbers> messages;
  pbf_reader reader(stats);
  while (reader.next(field)) {
    pbf_reader message = reader.get_message();
    Numbers numbers;
    while (message.next()) {
      if (message.wire_type() == protozero::pbf_wire_type::varint) {
        numbers[message.tag()] = message.get_uint64();
      } else {
        message.skip();
      }
    }
    messages.push_back(numbers);
  }
  return messages;
}

TEST(SysStats, TimesOfEachCpuAreNanoseconds) {
  const TestFolder machine;
  machine.Put(
      "proc/stat",
      "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 10 20 30 40 50 60 70 80 0 0\ncpu3 1 0 0 0 0 0 0 0 0 0\n"
      "intr 55 1 0 7\nctxt 9\nbtime 1\nprocesses 77\nprocs_running 1\nprocs_blocked 0\n"
      "softirq 10 1 0 2 0 0 0 0 0 0 3\n");
  SysStatsReader reader(Everything(), {}, machine.path());
  std::string bytes;
  protozero::pbf_writer stats(bytes);
  reader.ReadStat(stats);
  namespace Times = fields::SysStats::CpuTimes;
  const auto cpus = MessagesOf(bytes, fields::SysStats::kCpuStat);
  ASSERT_EQ(cpus.size(), 2U);
  const std::uint64_t tick = 10'000'000;
  EXPECT_EQ(cpus[0], (Numbers{{Times::kCpuId, 0},
                              {Times::kUserNs, 10 * tick},
                              {Times::kUserNiceNs, 20 * tick},
                              {Times::kSystemModeNs, 30 * tick},
                              {Times::kIdleNs, 40 * tick},
                              {Times::kIoWaitNs, 50 * tick},
                              {Times::kIrqNs, 60 * tick},
                              {Times::kSoftirqNs, 70 * tick},
                              {Times::kStealNs, 80 * tick}}));
  EXPECT_EQ(cpus[1].at(Times::kCpuId), 3U);
  pbf_reader forks(bytes);
  ASSERT_TRUE(forks.next(fields::SysStats::kNumForks));
  EXPECT_EQ(forks.get_uint64(), 77U);
  // Interrupts that never came are left out.
  EXPECT_THAT(MessagesOf(bytes, fields::SysStats::kNumIrq),
              ElementsAre(Numbers{{1, 0}, {2, 1}}, Numbers{{1, 2}, {2, 7}}));
}

TEST(SysStats, CountersAreThoseAskedFor) {
  const TestFolder machine;
  machine.Put("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  200 kB\nNobodyKnows: 1 kB\n");
  PollCounters counters;
  counters.meminfo = {2};  // MEMINFO_MEM_FREE
  SysStatsReader reader(Everything(), counters, machine.path());
  std::string bytes;
  protozero::pbf_writer stats(bytes);
  reader.ReadMeminfo(stats);
  EXPECT_THAT(MessagesOf(bytes, fields::SysStats::kMeminfo),
              ElementsAre(Numbers{{1, 2}, {2, 200}}));
}

TEST(SysStats, VmstatGivesWhatMovedAndNowAndThenAll) {
  const TestFolder machine;
  const auto poll = [](SysStatsReader& reader) {
    std::string bytes;
    protozero::pbf_writer stats(bytes);
    reader.ReadVmstat(stats);
    return MessagesOf(bytes, fields::SysStats::kVmstat).size();
  };
  machine.Put("proc/vmstat", "nr_free_pages 10\npgfault 20\nno_such_key 1\n");
  SysStatsReader reader(Everything(), {}, machine.path());
  EXPECT_EQ(poll(reader), 2U);
  EXPECT_EQ(poll(reader), 0U);
  machine.Put("proc/vmstat", "nr_free_pages 10\npgfault 21\nno_such_key 1\n");
  EXPECT_EQ(poll(reader), 1U);
  for (unsigned i = 3; i < SysStatsReader::kFullEvery; ++i) EXPECT_EQ(poll(reader), 0U);
  EXPECT_EQ(poll(reader), 2U);
  reader.Restart();
  EXPECT_EQ(poll(reader), 2U);
}

TEST(SysStats, PressureDisksAndFrequencies) {
  const TestFolder machine;
  machine.Put("proc/pressure/io",
              "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n"
              "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  machine.Put("proc/diskstats",
              "   8       0 sda 5 0 80 3 4 0 64 2 0 5 5 1 0 8 1 2 9\n"
              "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  machine.Put("sys/devices/system/cpu/possible", "0-1\n");
  machine.Put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2400000\n");
  SysStatsReader reader(Everything(), {}, machine.path());
  std::string bytes;
  protozero::pbf_writer stats(bytes);
  reader.ReadPressure(stats);
  reader.ReadDisks(stats);
  reader.ReadCpuFrequencies(stats);
  EXPECT_THAT(MessagesOf(bytes, fields::SysStats::kPsi),
              ElementsAre(Numbers{{1, fields::SysStats::PsiResource::kIoSome}, {2, 11'000}},
                          Numbers{{1, fields::SysStats::PsiResource::kIoFull}, {2, 7'000}}));
  EXPECT_THAT(
      MessagesOf(bytes, fields::SysStats::kDiskStat),
      ElementsAre(Numbers{{2, 80}, {3, 3}, {4, 64}, {5, 2}, {6, 8}, {7, 1}, {8, 2}, {9, 9}}));
  pbf_reader frequencies(bytes);
  std::vector<std::uint32_t> khz;
  while (frequencies.next(fields::SysStats::kCpufreqKhz)) khz.push_back(frequencies.get_uint32());
  EXPECT_THAT(khz, ElementsAre(0, 2'400'000));  // by position: CPU 0 has no reading
}

TEST(SysStats, MachineWithoutAnyOfItGivesNothing) {
  const TestFolder machine;
  SysStatsReader reader(Everything(), {}, machine.path());
  std::string bytes;
  protozero::pbf_writer stats(bytes);
  reader.ReadStat(stats);
  reader.ReadMeminfo(stats);
  reader.ReadVmstat(stats);
  reader.ReadPressure(stats);
  reader.ReadDisks(stats);
  reader.ReadCpuFrequencies(stats);
  EXPECT_EQ(bytes, "");
}

// What a spool holds of counters: their names, and the values in order.
struct Counters {
  std::map<std::uint64_t, std::string> names;
  std::vector<std::pair<std::string, std::int64_t>> values;
};
Counters CountersOf(PacketSpool& spool, const TestFolder& folder) {
  auto writer = tracefile::TraceWriter::Create(folder.PathOf("out")).value();
  EXPECT_TRUE(spool.CopyTo(writer).ok());
  EXPECT_TRUE(writer.Commit().ok());
  const std::string bytes = ReadFile(folder.PathOf("out")).value();
  Counters counters;
  pbf_reader trace(bytes);
  while (trace.next(fields::Trace::kPacket)) {
    pbf_reader packet = trace.get_message();
    while (packet.next()) {
      if (packet.tag() == fields::TracePacket::kTrackDescriptor) {
        pbf_reader descriptor = packet.get_message();
        std::uint64_t uuid = 0;
        while (descriptor.next()) {
          if (descriptor.tag() == fields::TrackDescriptor::kUuid) {
            uuid = descriptor.get_uint64();
          } else if (descriptor.tag() == fields::TrackDescriptor::kName) {
            counters.names[uuid] = descriptor.get_string();
          } else {
            descriptor.skip();
          }
        }
      } else if (packet.tag() == fields::TracePacket::kTrackEvent) {
        pbf_reader event = packet.get_message();
        std::uint64_t uuid = 0;
        while (event.next()) {
          if (event.tag() == fields::TrackEvent::kTrackUuid) {
            uuid = event.get_uint64();
          } else if (event.tag() == fields::TrackEvent::kCounterValue) {
            counters.values.emplace_back(counters.names[uuid], event.get_int64());
          } else {
            event.skip();
          }
        }
      } else {
        packet.skip();
      }
    }
  }
  return counters;
}

TEST(CounterTracks, NetworkDevicesGiveWhatChanged) {
  const TestFolder machine, output;
  const std::string head =
      "Inter-|   Receive    |  Transmit\n face |bytes packets |bytes packets\n";
  machine.Put("proc/net/dev", head +
                                  "  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"
                                  " veth9: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  auto spool = PacketSpool::Create(output.path(), 0).value();
  CounterTracks tracks(TraceClock::kBoottime);
  NetDevReader net(machine.path());
  net.Poll(tracks, *spool, 1000);
  tracks.EndPoll();
  machine.Put("proc/net/dev", head + "  eth0: 150 1 0 4 0 0 0 0 200 2 0 0 0 0 0 0\n");
  net.Poll(tracks, *spool, 2000);
  tracks.EndPoll();
  const Counters counters = CountersOf(*spool, output);
  EXPECT_EQ(counters.names.size(), 8U);  // the idle device has none
  ASSERT_EQ(counters.values.size(), 10U);
  EXPECT_EQ(counters.values[0], std::pair(std::string("net.eth0.rx_bytes"), std::int64_t{100}));
  EXPECT_EQ(counters.values[8], std::pair(std::string("net.eth0.rx_bytes"), std::int64_t{150}));
  EXPECT_EQ(counters.values[9], std::pair(std::string("net.eth0.rx_dropped"), std::int64_t{4}));
}

TEST(CounterTracks, CgroupsWithAQuotaAboveTheTracedProcess) {
  const TestFolder machine, output;
  machine.Put("proc/self/mountinfo",
              "31 1 0:27 / /cg rw - cgroup2 cgroup2 rw\n"
              "32 1 0:28 / /cgv1 rw - cgroup cgroup rw,cpu,cpuacct\n");
  machine.Put("proc/7/cgroup", "3:cpu,cpuacct:/box\n0::/pod/job\n");
  machine.Put("proc/8/cgroup", "0::/other\n");
  machine.Put("cg/pod/cpu.max", "200000 100000\n");
  machine.Put("cg/pod/cpu.stat",
              "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 44\n");
  machine.Put("cg/pod/job/cpu.max", "max 100000\n");
  machine.Put("cg/pod/job/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  machine.Put("cg/other/cpu.max", "1000 100000\n");
  machine.Put("cg/other/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_usec 1\n");
  machine.Put("cgv1/box/cpu.cfs_quota_us", "50000\n");
  machine.Put("cgv1/box/cpu.stat", "nr_periods 8\nnr_throttled 2\nthrottled_time 99\n");
  auto spool = PacketSpool::Create(output.path(), 0).value();
  CounterTracks tracks(TraceClock::kBoottime);
  CgroupReader cgroups({7}, machine.path());
  EXPECT_THAT(cgroups.paths(), ElementsAre("/box", "/pod"));
  cgroups.Poll(tracks, *spool, 1000);
  using Value = std::pair<std::string, std::int64_t>;
  EXPECT_THAT(
      CountersOf(*spool, output).values,
      ElementsAre(Value("cgroup./box.nr_periods", 8), Value("cgroup./box.nr_throttled", 2),
                  Value("cgroup./box.throttled_ns", 99), Value("cgroup./pod.nr_periods", 10),
                  Value("cgroup./pod.nr_throttled", 3), Value("cgroup./pod.throttled_ns", 44'000)));
  EXPECT_THAT(CgroupReader({}, machine.path()).paths(), ElementsAre("/box", "/other", "/pod"));
}

std::string StatLine(int pid, const std::string& comm, int ppid, int threads, std::uint64_t flags) {
  return std::to_string(pid) + " (" + comm + ") S " + std::to_string(ppid) + " 0 0 0 0 " +
         std::to_string(flags) + " 1 0 0 0 300 400 0 0 20 0 " + std::to_string(threads) +
         " 0 500 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
}

TEST(ProcessScan, NamesProcessesThreadsAndMemory) {
  const TestFolder machine;
  machine.Put("proc/2/stat", StatLine(2, "kthreadd", 0, 1, 0x00200000));
  machine.Put("proc/2/status", "Name:\tkthreadd\nTgid:\t2\nPid:\t2\nUid:\t0\t0\t0\t0\n");
  machine.Put("proc/2/cmdline", "");
  machine.Put("proc/40/stat", StatLine(40, "py)thon", 2, 2, 0));
  machine.Put("proc/40/status",
              "Name:\tpy)thon\nTgid:\t40\nPid:\t40\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t40\t1\n"
              "VmSize:\t   4096 kB\nVmRSS:\t    512 kB\n");
  machine.Put("proc/40/cmdline", std::string("python3\0train.py\0", 17));
  machine.Put("proc/40/oom_score_adj", "-5\n");
  machine.Put("proc/40/task/40/comm", "py)thon\n");
  machine.Put("proc/40/task/41/comm", "worker\n");
  machine.Put("proc/notes", "");
  std::vector<std::string> packets;
  EXPECT_EQ(ScanProcesses(
                TraceClock::kBoottime, {},
                [&](std::string_view packet) { packets.emplace_back(packet); }, machine.path()),
            2U);
  ASSERT_EQ(packets.size(), 2U);
  namespace Process = fields::ProcessTree::Process;
  std::string tree, stats;
  pbf_reader first(packets[0]);
  ASSERT_TRUE(first.next(fields::TracePacket::kProcessTree));
  tree = first.get_string();
  pbf_reader second(packets[1]);
  ASSERT_TRUE(second.next(fields::TracePacket::kProcessStats));
  stats = second.get_string();
  const auto processes = MessagesOf(tree, fields::ProcessTree::kProcesses);
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(processes[0], (Numbers{{Process::kPid, 2},
                                   {Process::kPpid, 0},
                                   {Process::kUid, 0},
                                   {Process::kProcessStartFromBoot, 5'000'000'000},
                                   {Process::kIsKthread, 1},
                                   {Process::kCmdlineIsComm, 1}}));
  EXPECT_EQ(processes[1], (Numbers{{Process::kPid, 40},
                                   {Process::kPpid, 2},
                                   {Process::kUid, 1000},
                                   {Process::kNspid, 1},
                                   {Process::kProcessStartFromBoot, 5'000'000'000}}));
  EXPECT_NE(tree.find("train.py"), tree.npos);
  EXPECT_NE(tree.find("py)thon"), tree.npos);
  EXPECT_NE(tree.find("worker"), tree.npos);
  const auto threads = MessagesOf(tree, fields::ProcessTree::kThreads);
  ASSERT_EQ(threads.size(), 3U);
  EXPECT_EQ(threads[2], (Numbers{{fields::ProcessTree::Thread::kTid, 41},
                                 {fields::ProcessTree::Thread::kTgid, 40}}));
  namespace Stats = fields::ProcessStats::Process;
  const auto numbers = MessagesOf(stats, fields::ProcessStats::kProcesses);
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[1].at(Stats::kVmSizeKb), 4096U);
  EXPECT_EQ(numbers[1].at(Stats::kVmRssKb), 512U);
  EXPECT_EQ(static_cast<std::int64_t>(numbers[1].at(Stats::kOomScoreAdj)), -5);
  EXPECT_EQ(numbers[1].at(Stats::kRuntimeUserMode), 3'000'000'000U);
  EXPECT_EQ(numbers[1].at(Stats::kRuntimeKernelMode), 4'000'000'000U);
}

}  // namespace
}  // namespace culprit::capture
