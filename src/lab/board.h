// What the processes of a scenario share: the start gate, the end, and a slot for each thread in
// which it writes what it measured of itself. Plain memory; nothing is started or judged here.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/units.h"

namespace culprit::lab {

// What a thread can say about its own waits.
enum class Wait : std::uint8_t {
  kLock,        // in the lock call
  kBaton,       // for its turn
  kQueue,       // for a batch, as a consumer
  kQueueFull,   // for room, as a producer
  kDisk,        // off the CPU inside read or fsync, not runnable
  kBarrier,     // for the slowest rank
  kChild,       // inside vfork
  kSleep,       // of its own will
  kPipe,        // for the reader of a pipe
  kMemory,      // off the CPU inside an access to its own memory, not runnable
  kInterrupts,  // gaps in a busy loop during which it was not switched out
  kCount,
};
constexpr std::size_t kWaits = static_cast<std::size_t>(Wait::kCount);

struct WaitSum {
  std::int64_t ns = 0;
  std::int64_t count = 0;
  std::int64_t worst_ns = 0;
};

// CLOCK_MONOTONIC. `peer` is the slot of who ended it, -1 where that is not known.
struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int32_t peer = -1;
  float weight = 1;  // part of the interval that counts
};

// The waits of one thread in order, for scenarios whose truth is an overlap. Bounded: what does not
// fit is counted.
struct IntervalLog {
  static constexpr std::uint32_t kCapacity = 1U << 16;
  std::uint32_t size = 0;
  std::uint32_t dropped = 0;
  Interval intervals[kCapacity];

  void Add(const Interval& interval) {
    if (size < kCapacity) {
      intervals[size++] = interval;
    } else {
      ++dropped;
    }
  }
  std::span<const Interval> All() const { return {intervals, size}; }
};

struct Slot {
  pid_t pid = 0;
  pid_t tid = 0;
  char name[16] = {};
  std::int32_t role = 0;  // which Start() of the crew it belongs to
  std::int32_t cpu = -1;  // pinned to
  bool finished = false;
  std::int64_t begin_ns = 0;     // CLOCK_MONOTONIC
  std::int64_t wall_ns = 0;      // from its begin to its end
  std::int64_t cpu_ns = 0;       // CLOCK_THREAD_CPUTIME_ID
  std::int64_t runnable_ns = 0;  // schedstat: ready to run, on no CPU
  std::int64_t slices = 0;       // schedstat: times it got a CPU
  std::int64_t voluntary_switches = 0, involuntary_switches = 0, major_faults = 0;  // getrusage
  std::int64_t work = 0;  // pieces of work done: batches, writes, turns
  WaitSum waits[kWaits];
  char error[200] = {};
};

class Board {
 public:
  static constexpr std::size_t kMaxSlots = 4096;
  static constexpr std::size_t kMaxLogs = 64;

  // Shared and anonymous: gone with the last process that has it. Pages that nobody touches take
  // no memory.
  static Result<Board*> Map();
  static void Unmap(Board* board);

  Slot* NewSlot();        // nullptr when all are taken
  IntervalLog* NewLog();  // nullptr when all are taken

  std::size_t slot_count() const;
  std::span<Slot> Slots() { return {slots_, slot_count()}; }
  int IndexOf(const Slot* slot) const { return static_cast<int>(slot - slots_); }

  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::uint32_t> gate{0};  // futex: 1 once the window has begun
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> end_ns{0};  // CLOCK_MONOTONIC
  std::atomic<std::int64_t> words[16];  // whatever a scenario shares

 private:
  std::atomic<std::uint32_t> slots_taken_{0};
  std::atomic<std::uint32_t> logs_taken_{0};
  Slot slots_[kMaxSlots];
  IntervalLog logs_[kMaxLogs];
};

std::int64_t MonotonicNs();
std::int64_t ThreadCpuNs();

// futex(2) on memory that several processes share.
void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               DurationNs at_most = Seconds(1));
void FutexWake(std::atomic<std::uint32_t>& word, int waiters);

// How much of `waits` lies inside `causes` (both in order, causes without overlap among
// themselves), each part weighed by both.
std::int64_t OverlapNs(std::span<const Interval> waits, std::span<const Interval> causes);

}  // namespace culprit::lab
