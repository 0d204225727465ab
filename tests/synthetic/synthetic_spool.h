// A recording of a made-up machine, as ring pages: every run with the same options gives the same
// bytes. Its schedule is sound (who is switched from is who ran), so what a loader must find in it
// can be computed. No kernel is asked.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "capture/spool.h"

namespace culprit::synthetic {

struct SpoolOptions {
  std::uint64_t events = 1'000'000;  // sched_switch and sched_waking together, over all CPUs
  int cpus = 4;
  int threads_per_cpu = 50;
  std::uint32_t page_bytes = 4096;
  std::uint64_t seed = 1;
  std::string directory = "/tmp";  // where the nameless page files are made
};

// CPU n has the threads 1000 * (n + 1) + i, named "worker-i", and the idle thread "swapper/n".
Result<capture::FtraceSpool> MakeSpool(const SpoolOptions& options);

// One page in the kernel's layout, made record by record; also for hand-made cases in tests.
class PageWriter {
 public:
  // commit_bytes: 8, or 4 as on 32-bit kernels, whose header is 12 bytes.
  PageWriter(std::uint32_t page_bytes, std::uint64_t start_ns, std::uint32_t commit_bytes = 8);
  // False when the record does not fit any more.
  bool Add(std::uint64_t time_ns, std::string_view data);
  void SetLost(std::uint64_t count) { lost_ = count; }
  // The whole page.
  std::string Finish() const;
  bool empty() const { return data_.empty(); }

 private:
  std::uint32_t page_bytes_;
  std::uint64_t start_ns_, time_ns_;
  std::uint32_t commit_bytes_;
  std::uint64_t lost_ = 0;
  std::string data_;
};

// Format texts as a 6.x kernel gives them; their ids.
inline constexpr std::uint16_t kSwitchId = 301;
inline constexpr std::uint16_t kWakingId = 302;
capture::EventFormatText SwitchFormat();
capture::EventFormatText WakingFormat();
std::string HeaderPage(std::uint32_t page_bytes);
std::string HeaderEvent();

struct SwitchRecord {
  std::string_view prev_comm = {};
  std::int32_t prev_pid = 0, prev_prio = 120;
  std::int64_t prev_state = 0;
  std::string_view next_comm = {};
  std::int32_t next_pid = 0, next_prio = 120;
};
std::string Bytes(const SwitchRecord& record);

struct WakingRecord {
  std::int32_t common_pid = 0;
  std::string_view comm = {};
  std::int32_t pid = 0, prio = 120, target_cpu = 0;
  std::uint8_t common_flags = 0;
};
std::string Bytes(const WakingRecord& record);

}  // namespace culprit::synthetic
