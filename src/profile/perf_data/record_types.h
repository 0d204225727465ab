// Numbers of the records in perf.data: those of the kernel (perf_event.h) and of perf itself
// (tools/lib/perf/include/perf/event.h). Facts only.
#pragma once

#include <cstdint>

namespace culprit::profile::perf_data {

enum RecordType : std::uint32_t {
  kRecordMmap = 1,
  kRecordLost = 2,
  kRecordComm = 3,
  kRecordExit = 4,
  kRecordThrottle = 5,
  kRecordUnthrottle = 6,
  kRecordFork = 7,
  kRecordRead = 8,
  kRecordSample = 9,
  kRecordMmap2 = 10,
  kRecordLostSamples = 13,
  kRecordKsymbol = 17,
  kRecordHeaderAttr = 64,
  kRecordEventType = 65,
  kRecordTracingData = 66,
  kRecordBuildId = 67,
  kRecordFinishedRound = 68,
  kRecordAuxtrace = 71,
  kRecordEventUpdate = 78,
  kRecordHeaderFeature = 80,
  kRecordCompressed = 81,
  kRecordCompressed2 = 83,
};
constexpr std::uint32_t kFirstRecordOfPerf = 64;

// misc & kCpuModeMask: where the code of a sample or mapping runs.
enum CpuMode : std::uint16_t {
  kModeUnknown = 0,
  kModeKernel = 1,
  kModeUser = 2,
  kModeHypervisor = 3,
  kModeGuestKernel = 4,
  kModeGuestUser = 5,
};
constexpr std::uint16_t kCpuModeMask = 7;
constexpr std::uint16_t kMiscMmapData = 1U << 13U;     // of MMAP: not executable
constexpr std::uint16_t kMiscMmapBuildId = 1U << 14U;  // of MMAP2: build id instead of the inode

// Call chains: what is at or above kContextMax is no address but says whose addresses follow.
constexpr std::uint64_t kContextMax = static_cast<std::uint64_t>(-4095);
constexpr std::uint64_t kContextHypervisor = static_cast<std::uint64_t>(-32);
constexpr std::uint64_t kContextKernel = static_cast<std::uint64_t>(-128);
constexpr std::uint64_t kContextUser = static_cast<std::uint64_t>(-512);
constexpr std::uint64_t kContextGuest = static_cast<std::uint64_t>(-2048);
constexpr std::uint64_t kContextGuestKernel = static_cast<std::uint64_t>(-2176);
constexpr std::uint64_t kContextGuestUser = static_cast<std::uint64_t>(-2560);

}  // namespace culprit::profile::perf_data
