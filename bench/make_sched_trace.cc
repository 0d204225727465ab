// make_sched_trace SWITCHES FILE: a trace with that many sched_switch events and about as many
// sched_waking, the same bytes each time: 8 CPUs, 400 threads of 40 processes that run some 50 us,
// then sleep, wait for a disk, or are preempted.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "tracefile/fields.h"
#include "tracefile/writer.h"

namespace culprit {
namespace {

using protozero::pbf_writer;
namespace fields = tracefile;

constexpr int kCpus = 8;
constexpr int kThreadsPerCpu = 50;
constexpr int kThreadsPerProcess = 10;
constexpr int kFirstTid = 1000;
constexpr std::size_t kBundleSwitches = 2000;
constexpr std::array<const char*, 5> kComms = {"python", "pt_main_thread", "DataLoader",
                                               "cuda-EvtHandlr", "nccl-watchdog"};

// splitmix64 (public domain): every seed gives a full-period sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t Below(std::uint64_t limit) { return Next() % limit; }

 private:
  std::uint64_t state_;
};

std::uint32_t CommOf(int tid) { return static_cast<std::uint32_t>(tid) % kComms.size(); }

// One CPU's scheduler and the columns of its bundle.
struct Cpu {
  int number = 0;
  std::uint64_t now = 0;
  Random random{0};
  int running = 0;           // tid; 0 is idle
  std::deque<int> sleeping;  // oldest first
  std::deque<int> preempted;

  std::vector<std::uint64_t> switch_times, waking_times;
  std::vector<std::int64_t> prev_states;
  std::vector<std::int32_t> next_tids, next_prios, waking_tids, waking_cpus, waking_prios;
  std::vector<std::uint32_t> next_comms, waking_comms;

  void Step() {
    now += 5'000 + random.Below(90'000);
    int next = 0;
    if (!preempted.empty() && random.Below(2) == 0) {
      next = preempted.front();
      preempted.pop_front();
    } else if (random.Below(6) != 0) {
      next = sleeping.front();
      sleeping.pop_front();
      waking_times.push_back(now - 2'000 - random.Below(1'000));
      waking_tids.push_back(next);
      waking_cpus.push_back(number);
      waking_prios.push_back(120);
      waking_comms.push_back(CommOf(next));
    }
    if (next == running) return;
    std::int64_t state = 0;
    if (running != 0) {
      const std::uint64_t fate = random.Below(10);
      state = fate < 6 ? 1 : fate < 8 ? 2 : 256;  // S, D, preempted
      (state == 256 ? preempted : sleeping).push_back(running);
    }
    switch_times.push_back(now);
    prev_states.push_back(state);
    next_tids.push_back(next);
    next_prios.push_back(120);
    next_comms.push_back(next == 0 ? kComms.size() : CommOf(next));
    running = next;
  }

  std::string TakeBundle() {
    std::string compact_bytes;
    pbf_writer compact(compact_bytes);
    namespace F = fields::FtraceEventBundle::CompactSched;
    const auto deltas = [](std::vector<std::uint64_t>& times) {
      for (std::size_t i = times.size(); i-- > 1;) times[i] -= times[i - 1];
    };
    // Wakings are drawn a little before the switch that follows, so they are in order already.
    deltas(switch_times);
    deltas(waking_times);
    const auto add = [](auto&& write, auto& column) {
      write(column);
      column.clear();
    };
    add([&](auto& c) { compact.add_packed_uint64(F::kSwitchTimestamp, c.begin(), c.end()); },
        switch_times);
    add([&](auto& c) { compact.add_packed_int64(F::kSwitchPrevState, c.begin(), c.end()); },
        prev_states);
    add([&](auto& c) { compact.add_packed_int32(F::kSwitchNextPid, c.begin(), c.end()); },
        next_tids);
    add([&](auto& c) { compact.add_packed_int32(F::kSwitchNextPrio, c.begin(), c.end()); },
        next_prios);
    for (const char* comm : kComms) compact.add_string(F::kInternTable, comm);
    compact.add_string(F::kInternTable, "swapper/" + std::to_string(number));
    add([&](auto& c) { compact.add_packed_uint32(F::kSwitchNextCommIndex, c.begin(), c.end()); },
        next_comms);
    add([&](auto& c) { compact.add_packed_uint64(F::kWakingTimestamp, c.begin(), c.end()); },
        waking_times);
    add([&](auto& c) { compact.add_packed_int32(F::kWakingPid, c.begin(), c.end()); }, waking_tids);
    add([&](auto& c) { compact.add_packed_int32(F::kWakingTargetCpu, c.begin(), c.end()); },
        waking_cpus);
    add([&](auto& c) { compact.add_packed_int32(F::kWakingPrio, c.begin(), c.end()); },
        waking_prios);
    add([&](auto& c) { compact.add_packed_uint32(F::kWakingCommIndex, c.begin(), c.end()); },
        waking_comms);

    std::string bytes;
    pbf_writer packet(bytes);
    tracefile::WritePacketHead(
        packet, {.sequence_id = tracefile::Sequence::kFtraceBase + static_cast<unsigned>(number)});
    pbf_writer bundle(packet, fields::TracePacket::kFtraceEvents);
    bundle.add_uint32(fields::FtraceEventBundle::kCpu, static_cast<std::uint32_t>(number));
    bundle.add_message(fields::FtraceEventBundle::kCompactSched, compact_bytes);
    bundle.commit();
    return bytes;
  }
};

std::string ProcessTree() {
  std::string bytes;
  pbf_writer packet(bytes);
  tracefile::WritePacketHead(packet,
                             {.timestamp_ns = 1, .sequence_id = tracefile::Sequence::kProcesses});
  pbf_writer tree(packet, fields::TracePacket::kProcessTree);
  for (int tid = kFirstTid; tid < kFirstTid + kCpus * kThreadsPerCpu; ++tid) {
    const int pid = tid - (tid - kFirstTid) % kThreadsPerProcess;
    if (tid == pid) {
      pbf_writer process(tree, fields::ProcessTree::kProcesses);
      process.add_int32(fields::ProcessTree::Process::kPid, pid);
      process.add_int32(fields::ProcessTree::Process::kPpid, 1);
      process.add_string(fields::ProcessTree::Process::kCmdline,
                         "/usr/bin/train_" + std::to_string(pid));
    }
    pbf_writer thread(tree, fields::ProcessTree::kThreads);
    thread.add_int32(fields::ProcessTree::Thread::kTid, tid);
    thread.add_string(fields::ProcessTree::Thread::kName, kComms[CommOf(tid)]);
    thread.add_int32(fields::ProcessTree::Thread::kTgid, pid);
  }
  tree.commit();
  return bytes;
}

// The release decides what a prev_state of 256 means: preempted.
std::string SystemInfo() {
  std::string bytes;
  pbf_writer packet(bytes);
  tracefile::WritePacketHead(packet, {});
  pbf_writer info(packet, fields::TracePacket::kSystemInfo);
  pbf_writer utsname(info, fields::SystemInfo::kUtsname);
  utsname.add_string(fields::Utsname::kSysname, "Linux");
  utsname.add_string(fields::Utsname::kRelease, "6.1.0");
  utsname.add_string(fields::Utsname::kMachine, "x86_64");
  utsname.commit();
  info.commit();
  return bytes;
}

Status MakeTrace(std::uint64_t switches, const std::string& path) {
  CULPRIT_ASSIGN(tracefile::TraceWriter writer, tracefile::TraceWriter::Create(path));
  CULPRIT_TRY(writer.Append(SystemInfo()));
  CULPRIT_TRY(writer.Append(ProcessTree()));
  std::array<Cpu, kCpus> cpus;
  for (int i = 0; i < kCpus; ++i) {
    Cpu& cpu = cpus[static_cast<std::size_t>(i)];
    cpu.number = i;
    cpu.now = 1'000'000'000;
    cpu.random = Random(static_cast<std::uint64_t>(i) + 1);
    for (int t = 0; t < kThreadsPerCpu; ++t)
      cpu.sleeping.push_back(kFirstTid + i * kThreadsPerCpu + t);
  }
  for (std::uint64_t made = 0; made < switches;) {
    Cpu& cpu = *std::ranges::min_element(cpus, {}, &Cpu::now);
    const std::size_t before = cpu.switch_times.size();
    cpu.Step();
    made += cpu.switch_times.size() - before;
    if (cpu.switch_times.size() >= kBundleSwitches) CULPRIT_TRY(writer.Append(cpu.TakeBundle()));
  }
  for (Cpu& cpu : cpus) {
    if (!cpu.switch_times.empty()) CULPRIT_TRY(writer.Append(cpu.TakeBundle()));
  }
  CULPRIT_ASSIGN([[maybe_unused]] const std::uint64_t bytes, writer.Commit());
  return {};
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: make_sched_trace SWITCHES FILE\n");
    return 2;
  }
  const auto status = culprit::MakeTrace(std::strtoull(argv[1], nullptr, 10), argv[2]);
  if (!status.ok()) fmt::print(stderr, "make_sched_trace: {}\n", status.error().ToString());
  return status.ok() ? 0 : 1;
}
