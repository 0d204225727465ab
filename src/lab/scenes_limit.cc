// Scenarios in which a limit holds the victim: a CPU quota, a memory limit, swap.
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "lab/cgroup.h"
#include "lab/disk_file.h"
#include "lab/scenes.h"

namespace culprit::lab {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

// A memory cgroup with that limit, and where its pressure is counted.
struct MemoryLimit {
  Cgroup cgroup;
  std::optional<Cgroup> pressure;

  std::string Procs() const {
    return pressure ? cgroup.Procs() + " " + pressure->Procs() : cgroup.Procs();
  }
  std::optional<std::int64_t> PressureNs() const {
    return (pressure ? *pressure : cgroup).SomePressureNs("memory");
  }
};

Result<MemoryLimit> LimitMemory(Stage& stage, std::uint64_t bytes) {
  CULPRIT_ASSIGN(Cgroup cgroup, Cgroup::Make(stage.caretaker(), "memory"));
  CULPRIT_TRY(
      cgroup.Set(cgroup.v2() ? "memory.max" : "memory.limit_in_bytes", fmt::format("{}", bytes)));
  std::optional<Cgroup> pressure;
  if (!cgroup.v2()) pressure = Cgroup::MakeForPressure(stage.caretaker());
  return MemoryLimit{std::move(cgroup), std::move(pressure)};
}

// The head of a swap area, as mkswap(8) writes it: version 1, the last page, and the magic at the
// end of the first page.
Status WriteSwapHead(int fd, std::uint64_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::string head(page, '\0');
  const auto put = [&head](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) head[at + i] = static_cast<char>(value >> (8 * i));
  };
  put(1024, 1);
  put(1028, static_cast<std::uint32_t>(bytes / page - 1));
  head.replace(page - 10, 10, "SWAPSPACE2");
  if (pwrite(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
    return ErrnoError("write", "the swap area", errno);
  }
  return fsync(fd) == 0 ? Status() : ErrnoError("fsync", "the swap area", errno);
}

// A file that is full of zeros, since swap takes no holes.
Result<std::string> SwapFile(Stage& stage, std::uint64_t bytes) {
  CULPRIT_ASSIGN(const std::string folder, stage.Folder(bytes, true));
  const std::string path = JoinPath(folder, kSwapFile);
  CULPRIT_TRY(stage.caretaker().Promise(Thing::kSwap, path));
  CULPRIT_ASSIGN(const UniqueFd file, OpenFile(path, O_RDWR | O_CREAT | O_EXCL, 0600));
  const std::string zeros(kMiB, '\0');
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    CULPRIT_TRY(WriteAll(file.get(), zeros, path));
  }
  CULPRIT_TRY(WriteSwapHead(file.get(), bytes));
  return path;
}

// A compressed device in memory, for folders that cannot hold a swap file.
Result<std::string> ZramDevice(Stage& stage, std::uint64_t bytes) {
  CULPRIT_ASSIGN(const std::string text, ReadFile("/sys/class/zram-control/hot_add"));
  const std::string number(TrimBlanks(text));
  CULPRIT_TRY(stage.caretaker().Promise(Thing::kZram, number));
  const std::string path = "/dev/zram" + number;
  CULPRIT_TRY(stage.caretaker().Promise(Thing::kSwap, path));
  CULPRIT_TRY(WriteControlFile(fmt::format("/sys/block/zram{}/disksize", number),
                               fmt::format("{}", bytes)));
  CULPRIT_ASSIGN(const UniqueFd device, OpenFile(path, O_RDWR));
  CULPRIT_TRY(WriteSwapHead(device.get(), bytes));
  return path;
}

Result<std::string> AddSwap(Stage& stage, std::uint64_t bytes) {
  if (geteuid() != 0) return Error{"swap needs root", "run as root"};
  auto path = SwapFile(stage, bytes);
  if (path && swapon(path->c_str(), 0) == 0) return *path;
  // Some file systems refuse (btrfs with checksums, overlay, NFS).
  CULPRIT_ASSIGN(const std::string device, ZramDevice(stage, bytes));
  if (swapon(device.c_str(), 0) != 0) return ErrnoError("swapon", device, errno);
  return device;
}

void AddMemoryFigures(Truth& truth, const std::vector<const Slot*>& victims,
                      const MemoryLimit& limit) {
  truth.figures.emplace_back("blocked_ns", static_cast<double>(SumOf(victims, Wait::kMemory)));
  truth.figures.emplace_back("major_faults",
                             static_cast<double>(SumOf(victims, &Slot::major_faults)));
  if (const auto pressure = limit.PressureNs()) {
    truth.figures.emplace_back("pressure_some_ns", static_cast<double>(*pressure));
  }
}

}  // namespace

Status PlayThrottle(Stage& stage, Truth& truth) {
  constexpr std::int64_t kPeriodUs = 100'000;
  const std::int64_t quota_us = kPeriodUs * 3 / 10;
  CULPRIT_ASSIGN(const Cgroup cgroup, Cgroup::Make(stage.caretaker(), "cpu"));
  if (cgroup.v2()) {
    CULPRIT_TRY(cgroup.Set("cpu.max", fmt::format("{} {}", quota_us, kPeriodUs)));
  } else {
    CULPRIT_TRY(cgroup.Set("cpu.cfs_period_us", fmt::format("{}", kPeriodUs)));
    CULPRIT_TRY(cgroup.Set("cpu.cfs_quota_us", fmt::format("{}", quota_us)));
  }
  Crew& crew = stage.crew();
  CULPRIT_TRY(crew.Start({.name = "throttled_job",
                          .act =
                              [](Actor& actor) {
                                actor.Begin();
                                while (actor.Acting()) {
                                  actor.Burn(Milliseconds(5));
                                  ++actor.slot().work;
                                }
                              },
                          .cpu = stage.cpu(),
                          .cgroup_procs = cgroup.Procs()}));
  CULPRIT_TRY(stage.Run(truth));

  const std::int64_t throttled_ns = cgroup.v2()
                                        ? cgroup.Number("cpu.stat", "throttled_usec") * 1'000
                                        : cgroup.Number("cpu.stat", "throttled_time");
  AddVictims(truth, crew.Named("throttled_job"));
  truth.figures.emplace_back("periods_throttled",
                             static_cast<double>(cgroup.Number("cpu.stat", "nr_throttled")));
  truth.culprit.kind = "throttle";
  truth.culprit.cgroup = cgroup.name();
  truth.culprit.share_of = "the victim's window in which its cgroup had used up its quota";
  truth.culprit.measured_by = "cpu.stat of the cgroup";
  truth.notes.push_back("the victim is in no D state and not preempted: its cgroup may not run");
  SetShare(truth, throttled_ns);
  return {};
}

Status PlayMemory(Stage& stage, Truth& truth) {
  constexpr std::uint64_t kFileBytes = 128 * kMiB;
  Crew& crew = stage.crew();
  CULPRIT_ASSIGN(const MemoryLimit limit, LimitMemory(stage, 32 * kMiB));
  CULPRIT_ASSIGN(const std::string folder, stage.Folder(kFileBytes, true));
  CULPRIT_TRY(crew.Start({.name = "memory_job",
                          .act =
                              [folder](Actor& actor) {
                                const auto file = DiskFile::Make(actor, folder, 0, kFileBytes);
                                actor.Begin();
                                for (std::uint64_t at = 0; file && actor.Acting(); at += kMiB) {
                                  actor.Blocked(Wait::kMemory,
                                                [&] { file->Write(at % kFileBytes, kMiB); });
                                  ++actor.slot().work;
                                }
                              },
                          .cgroup_procs = limit.Procs()}));
  CULPRIT_TRY(stage.Run(truth));

  const auto victims = crew.Named("memory_job");
  AddVictims(truth, victims);
  AddMemoryFigures(truth, victims, limit);
  truth.culprit.kind = "reclaim";
  truth.culprit.cgroup = limit.cgroup.name();
  truth.culprit.share_of =
      "the victim's window in which it was blocked in writes to memory that its cgroup had not got";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each write, schedstat; memory.pressure";
  SetShare(truth, SumOf(victims, Wait::kMemory));
  return {};
}

Status PlaySwap(Stage& stage, Truth& truth) {
  constexpr std::uint64_t kBytes = 96 * kMiB;
  constexpr std::uint64_t kPage = 4096;
  Crew& crew = stage.crew();
  CULPRIT_ASSIGN(const MemoryLimit limit, LimitMemory(stage, 32 * kMiB));
  CULPRIT_ASSIGN(const std::string area, AddSwap(stage, 160 * kMiB));
  const std::uint64_t seed = stage.options().seed;
  CULPRIT_TRY(crew.Start({.name = "swap_job",
                          .act =
                              [seed](Actor& actor) {
                                void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                                if (mapped == MAP_FAILED) {
                                  return actor.Fail(ErrnoError("map", "memory to swap out", errno));
                                }
                                madvise(mapped, kBytes, MADV_NOHUGEPAGE);
                                auto* bytes = static_cast<volatile char*>(mapped);
                                std::mt19937_64 random(seed);
                                // Not all zeros, which would take no swap.
                                for (std::uint64_t at = 0; at < kBytes; at += kPage) {
                                  for (std::uint64_t i = 0; i < kPage; i += 64) {
                                    bytes[at + i] = static_cast<char>(random());
                                  }
                                }
                                actor.Begin();
                                while (actor.Acting()) {
                                  actor.Blocked(Wait::kMemory, [&] {
                                    for (int i = 0; i < 16; ++i) {
                                      volatile char& byte =
                                          bytes[random() % (kBytes / kPage) * kPage];
                                      byte = static_cast<char>(byte + 1);
                                    }
                                  });
                                  ++actor.slot().work;
                                }
                              },
                          .cgroup_procs = limit.Procs()}));
  CULPRIT_TRY(stage.Run(truth));

  const auto victims = crew.Named("swap_job");
  AddVictims(truth, victims);
  AddMemoryFigures(truth, victims, limit);
  truth.culprit.kind = "swap";
  truth.culprit.cgroup = limit.cgroup.name();
  truth.culprit.device = area.starts_with("/dev/") ? area.substr(5) : DiskOf(area);
  truth.culprit.share_of =
      "the victim's window in which it was blocked at pages that were swapped out";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each 16 pages, schedstat";
  truth.notes.push_back("swap is on " +
                        std::string(area.starts_with("/dev/") ? "zram: no disk" : "a file"));
  SetShare(truth, SumOf(victims, Wait::kMemory));
  return {};
}

}  // namespace culprit::lab
