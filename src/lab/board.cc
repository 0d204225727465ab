#include "lab/board.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>

namespace culprit::lab {
namespace {

std::int64_t ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

Result<Board*> Board::Map() {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrnoError("map", "the memory that a scenario shares", errno);
  // Zeros are what a new Board is made of; constructing the arrays would touch every page.
  return static_cast<Board*>(memory);
}

void Board::Unmap(Board* board) { munmap(board, sizeof(Board)); }

Slot* Board::NewSlot() {
  const std::uint32_t index = slots_taken_.fetch_add(1);
  return index < kMaxSlots ? new (&slots_[index]) Slot : nullptr;
}

IntervalLog* Board::NewLog() {
  const std::uint32_t index = logs_taken_.fetch_add(1);
  return index < kMaxLogs ? &logs_[index] : nullptr;
}

std::size_t Board::slot_count() const {
  return std::min<std::size_t>(slots_taken_.load(), kMaxSlots);
}

std::int64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }
std::int64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected, DurationNs at_most) {
  const timespec timeout{at_most.value / 1'000'000'000, at_most.value % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void FutexWake(std::atomic<std::uint32_t>& word, int waiters) {
  syscall(SYS_futex, &word, FUTEX_WAKE, waiters, nullptr, nullptr, 0);
}

std::int64_t OverlapNs(std::span<const Interval> waits, std::span<const Interval> causes) {
  double sum = 0;
  std::size_t first = 0;
  for (const Interval& wait : waits) {
    while (first < causes.size() && causes[first].end_ns <= wait.begin_ns) ++first;
    for (std::size_t i = first; i < causes.size() && causes[i].begin_ns < wait.end_ns; ++i) {
      const std::int64_t overlap =
          std::min(wait.end_ns, causes[i].end_ns) - std::max(wait.begin_ns, causes[i].begin_ns);
      if (overlap <= 0) continue;
      sum += static_cast<double>(overlap) * static_cast<double>(wait.weight) *
             static_cast<double>(causes[i].weight);
    }
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace culprit::lab
