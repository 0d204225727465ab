#include "health/tune/judges.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.h"

namespace culprit::tune {
namespace {

Advice Leave(std::string because) {
  return {.verdict = Verdict::kLeave, .value = "", .because = std::move(because)};
}
Advice NotApplicable(std::string because) {
  return {.verdict = Verdict::kNotApplicable, .value = "", .because = std::move(because)};
}
Advice Unknown(std::string because) {
  return {.verdict = Verdict::kUnknown, .value = "", .because = std::move(because)};
}
Advice Want(const JudgeInput& input, std::string value, std::string because) {
  return {
      .relation = input.knob.relation, .value = std::move(value), .because = std::move(because)};
}

std::uint64_t Number(std::string_view text) {
  return ParseInteger<std::uint64_t>(text).value_or(0);
}

std::uint64_t ReadNumber(const RootFiles& files, const char* path) {
  return Number(OneLine(files.Read(path).text));
}

}  // namespace

Advice JudgeSwappiness(const JudgeInput& input) {
  if (!input.node.swap_known) return Unknown("/proc/swaps cannot be read");
  if (input.node.swaps.empty()) return NotApplicable("no swap device is active");
  if (input.node.swap_in_memory) {
    return Leave(
        "all swap is on zram, in memory: swapping is cheap there and a high value is right");
  }
  Advice advice = TableAdvice(input.knob, input.profile);
  if (Number(input.current) == 0) {
    advice.satisfied = false;
    advice.because =
        "0 is no small 10: nothing is swapped until free memory and page cache are below the high "
        "watermark, so the OOM killer comes earlier";
  }
  return advice;
}

namespace {

// Seconds of writing that may wait in memory, by profile (5-10 s in the baseline).
constexpr std::array<double, 3> kDirtySeconds = {10, 5, 5};
constexpr double kLargestDirtyShare =
    0.2;  // of memory, however fast the disk: the kernel's default
constexpr std::uint64_t kDirtyUnit = std::uint64_t{64} << 20;
constexpr double kDirtySlack = 1.5;  // an estimated bandwidth allows no finer judgement

struct DirtyKnob {
  const char* ratio_path;
  double share;  // of the hard limit
};

Advice JudgeDirtyKnob(const JudgeInput& input, const DirtyKnob& dirty) {
  const NodeFacts& node = input.node;
  if (!node.write_bandwidth) {
    return Unknown(
        "how fast the file systems here take writes is not known (virtual or unknown disks): "
        "measure it with fio and give --disk-bandwidth");
  }
  const double seconds = kDirtySeconds[static_cast<std::size_t>(input.profile)];
  const double speed = node.write_bandwidth->bytes_per_s;
  const double hard =
      std::min(speed * seconds, static_cast<double>(node.memory_bytes) * kLargestDirtyShare);
  const auto units = std::llround(hard * dirty.share / static_cast<double>(kDirtyUnit));
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(std::max<long long>(units, 1)) * kDirtyUnit;

  const std::uint64_t bytes = Number(input.current);
  const std::uint64_t ratio = ReadNumber(input.files, dirty.ratio_path);
  const double now =
      bytes > 0 ? static_cast<double>(bytes)
                : static_cast<double>(node.available_bytes) * static_cast<double>(ratio) / 100;
  Advice advice = Want(input, std::to_string(wanted), "");
  const std::string limit_now = bytes > 0
                                    ? FormatBytes(bytes)
                                    : fmt::format("{} % of available memory = {}", ratio,
                                                  FormatBytes(static_cast<std::uint64_t>(now)));
  advice.because =
      fmt::format("the limit is {} now, {:.1f} s of {:.2f} GB/s ({}); advised: {}, {:.1f} s",
                  limit_now, now / speed, speed / 1e9, node.write_bandwidth->how,
                  FormatBytes(wanted), static_cast<double>(wanted) / speed);
  // A share of memory below the advice is the kernel's protection of a small node; bytes that
  // somebody set far too low throttle every writer.
  const double least = bytes > 0 ? speed * dirty.share : 0;
  advice.satisfied = now <= static_cast<double>(wanted) * kDirtySlack && now >= least && now > 0;
  return advice;
}

}  // namespace

Advice JudgeDirty(const JudgeInput& input) {
  return JudgeDirtyKnob(input, {"/proc/sys/vm/dirty_ratio", 1});
}

Advice JudgeDirtyBackground(const JudgeInput& input) {
  return JudgeDirtyKnob(input, {"/proc/sys/vm/dirty_background_ratio", 0.25});
}

Advice JudgeMinFree(const JudgeInput& input) {
  constexpr std::uint64_t kBigNode = std::uint64_t{128} << 30;
  constexpr std::uint64_t kWantedKb = 1 << 20;
  if (input.node.memory_bytes < kBigNode) {
    return Leave("the kernel's own reserve fits a node of less than 128 GiB; never lower it");
  }
  return Want(input, std::to_string(kWantedKb),
              fmt::format("1 GiB of {} for allocations that cannot wait (network receive)",
                          FormatBytes(input.node.memory_bytes)));
}

Advice JudgeWatermarkScale(const JudgeInput& input) {
  constexpr std::uint64_t kPagesThatMatter = 1'000'000;  // 4 GB of pages since boot
  constexpr double kDirectShare = 0.1;
  const auto direct = input.node.pages_scanned_direct;
  const auto total = direct + input.node.pages_scanned_kswapd;
  const double share = total == 0 ? 0 : static_cast<double>(direct) / static_cast<double>(total);
  const std::string seen =
      fmt::format("since boot {:.0f} % of {} reclaim scans were made by the allocating task itself",
                  share * 100, FormatCount(total));
  if (direct < kPagesThatMatter || share < kDirectShare) return Leave(seen);
  return Want(input, "50", seen + ": kswapd starts too late");
}

Advice JudgeNumaOnly(const JudgeInput& input) {
  if (input.node.numa_nodes == 1) return NotApplicable("one NUMA node");
  return TableAdvice(input.knob, input.profile);
}

Advice JudgeNumaBalancing(const JudgeInput& input) {
  if (input.node.numa_nodes == 1) return NotApplicable("one NUMA node");
  if (input.current == "2") return Leave("2 is memory tiering (pages move to slower memory nodes)");
  return TableAdvice(input.knob, input.profile);
}

namespace {

// Bytes in flight on the node's fastest link, twice over, for round trips inside a data centre or
// to an object store near by; a power of two between 16 and 256 MiB.
constexpr double kRoundTripS = 0.002;
constexpr std::uint64_t kLeastBuffer = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostBuffer = std::uint64_t{256} << 20;
constexpr std::uint64_t kSlowLinkBits = 1'000'000'000;

struct BufferAdvice {
  std::uint64_t bytes = 0;
  std::string because;
};

BufferAdvice SocketBuffer(const NodeFacts& node) {
  const std::uint64_t bits = node.fastest_link_bits_per_s;
  if (bits == 0) {
    return {kLeastBuffer,
            "no link tells its speed (usual in a VM): 16 MiB carry 10 Gbit/s over 13 ms"};
  }
  const double in_flight = static_cast<double>(bits) / 8 * kRoundTripS * 2;
  const auto bytes =
      std::clamp(std::bit_ceil(static_cast<std::uint64_t>(in_flight)), kLeastBuffer, kMostBuffer);
  return {bytes, fmt::format("{} at {} Gbit/s: twice what a round trip of 2 ms has in flight",
                             node.fastest_link, static_cast<double>(bits) / 1e9)};
}

bool SlowLink(const NodeFacts& node) {
  return node.fastest_link_bits_per_s > 0 && node.fastest_link_bits_per_s <= kSlowLinkBits;
}

constexpr std::string_view kSlowLink = "no link is faster than 1 Gbit/s";

}  // namespace

Advice JudgeSocketMax(const JudgeInput& input) {
  if (SlowLink(input.node)) return Leave(std::string(kSlowLink));
  const BufferAdvice buffer = SocketBuffer(input.node);
  return Want(input, std::to_string(buffer.bytes), buffer.because);
}

// "min default max": only max bounds autotuning; the first two stay.
Advice JudgeTcpMem(const JudgeInput& input) {
  if (SlowLink(input.node)) return Leave(std::string(kSlowLink));
  const auto words = SplitWords(input.current);
  if (words.size() != 3) return Unknown("the value is not three numbers");
  const BufferAdvice buffer = SocketBuffer(input.node);
  const auto most = std::max(buffer.bytes, Number(words[2]));
  return Want(input, fmt::format("{} {} {}", words[0], words[1], most), buffer.because);
}

Advice JudgeNetdevBacklog(const JudgeInput& input) {
  if (input.node.softnet_dropped == 0) {
    return Leave("no packet was dropped at this queue since boot (softnet_stat, 2nd column)");
  }
  const auto now = Number(input.current);
  const auto wanted = std::max<std::uint64_t>(16384, now);
  if (now >= 250000) return Leave("drops with so long a queue: the CPU is too slow, not the queue");
  return Want(input, std::to_string(wanted),
              fmt::format("{} packets dropped at this queue since boot",
                          FormatCount(input.node.softnet_dropped)));
}

Advice JudgeMtuProbing(const JudgeInput& input) {
  if (!input.node.jumbo_frames) return NotApplicable("no link here has jumbo frames");
  return TableAdvice(input.knob, input.profile);
}

Advice JudgeNeighbours(const JudgeInput& input) {
  constexpr std::uint32_t kLargeNetworkBits = 9;  // more than 510 hosts on one link
  const NodeFacts& node = input.node;
  const std::string seen = fmt::format(
      "{} IPv4 neighbours now, the largest network on a link is a /{}, {} overflows since boot",
      node.neighbours, 32 - node.largest_network_bits, node.neighbour_overflows);
  if (node.largest_network_bits <= kLargeNetworkBits && node.neighbours < 512 &&
      node.neighbour_overflows == 0) {
    return Leave(seen);
  }
  Advice advice = TableAdvice(input.knob, input.profile);
  advice.because = seen;
  return advice;
}

Advice JudgeConntrack(const JudgeInput& input) {
  constexpr double kNearlyFull = 0.75;
  const auto most = Number(input.current);
  if (!input.node.conntrack_count || most == 0) return Unknown("nf_conntrack_count cannot be read");
  const auto used = *input.node.conntrack_count;
  const std::string seen =
      fmt::format("{} of {} entries used", FormatCount(used), FormatCount(most));
  if (static_cast<double>(used) < kNearlyFull * static_cast<double>(most)) return Leave(seen);
  return Want(input, std::to_string(std::bit_ceil(most + 1)), seen);
}

// Governor and EPP alike: what is wanted must be among what the driver offers.
Advice JudgeGovernor(const JudgeInput& input) {
  const bool epp = input.knob.key == "cpu.energy_performance_preference";
  const std::string offered_path =
      epp ? "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_available_preferences"
          : "/sys/devices/system/cpu/cpufreq/policy*/scaling_available_governors";
  const Advice advice = TableAdvice(input.knob, input.profile);
  for (const std::string& path : input.files.Match(offered_path)) {
    const FileText offered = input.files.Read(path);
    const auto words = SplitWords(offered.text);
    if (offered.ok() && std::ranges::find(words, advice.value) == words.end()) {
      return NotApplicable("the driver offers only: " + OneLine(offered.text));
    }
  }
  return advice;
}

// Of /proc/self/limits: "soft hard".
Advice JudgeNofile(const JudgeInput& input) {
  constexpr std::uint64_t kLeastSoft = 1024;
  constexpr std::uint64_t kLeastHard = 524288;
  constexpr std::uint64_t kMostSoft = 1048576;
  const auto words = SplitWords(input.current);
  if (words.size() != 2) return Unknown("the limit cannot be read");
  const auto value = [](std::string_view word) {
    return word == "unlimited" ? UINT64_MAX : Number(word);
  };
  Advice advice = TableAdvice(input.knob, input.profile);
  const auto soft = value(words[0]);
  const auto hard = value(words[1]);
  if (soft >= kLeastSoft && soft <= kMostSoft) {  // the soft limit may stay
    advice.value = std::string(words[0]) + " " + std::to_string(kLeastHard);
  }
  advice.satisfied = soft >= kLeastSoft && soft <= kMostSoft && hard >= kLeastHard;
  if (soft > kMostSoft) {
    advice.because = "a soft limit this high makes programs that close every descriptor slow";
  } else if (hard < kLeastHard) {
    advice.because = "programs that raise their own limit stop at " + std::string(words[1]);
  }
  return advice;
}

Advice JudgeMemlock(const JudgeInput& input) {
  if (input.node.rdma_devices.empty()) {
    return NotApplicable("no RDMA device (/sys/class/infiniband is empty or missing)");
  }
  return TableAdvice(input.knob, input.profile);
}

}  // namespace culprit::tune
