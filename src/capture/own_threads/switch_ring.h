// Exact switch records of chosen threads and what they make, as any user may have them of his own:
// a dummy software event with attr.context_switch, a ring a CPU. No samples, no stacks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "capture/own_threads/told_states.h"

namespace culprit::capture {

struct BornThread {
  std::int64_t ts = 0;
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::int32_t parent_tid = 0;
};

class SwitchRings {
 public:
  // An Error that says what forbids it and what the next level of rights needs.
  static Result<SwitchRings> Open(int clock_id);
  SwitchRings(SwitchRings&&) noexcept;
  SwitchRings& operator=(SwitchRings&&) = delete;
  ~SwitchRings();

  // Watches a thread and all that it will make. A thread that is gone is no Error.
  Status Watch(std::int32_t tid);
  // Takes what the rings hold: often enough, or they run over (which is counted).
  void Drain(std::vector<SwitchRecord>& switches, std::vector<BornThread>& born);
  std::uint64_t lost() const { return lost_; }

  // May this process watch its own threads? For preflight.
  static Status Probe();

 private:
  struct Ring {
    int cpu = -1;
    void* pages = nullptr;  // a control page, then `bytes` of data
    std::size_t bytes = 0;
    int fd = -1;  // of the event that owns it
  };
  SwitchRings(int clock_id) : clock_id_(clock_id) {}
  Status MapRing(Ring& ring, int fd);

  int clock_id_;
  std::vector<Ring> rings_;
  std::vector<UniqueFd> fds_;
  std::uint64_t lost_ = 0;
};

}  // namespace culprit::capture
