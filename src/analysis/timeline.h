// Timeline: what every thread and CPU did in a recording, as plain arrays that walks and sums read
// quickly. Holds no database and judges nothing: timeline_loader.h fills it, attribution.h walks
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace culprit::analysis {

using Utid = std::uint32_t;  // thread.utid; 0 is the idle thread of every CPU
using Upid = std::uint32_t;  // process.upid
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
inline constexpr Utid kIdleThread = 0;

// A stretch of time, [begin, end), ns on the trace clock.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end > begin ? end - begin : 0; }
};

inline Interval Intersect(Interval a, Interval b) {
  return {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

// What a thread is doing, as far as waiting is concerned (the states of thread_state, by kind).
enum class Activity : std::uint8_t {
  kRunning,
  kPreempted,  // R+: taken off the CPU while it had work
  kRunnable,   // R: woken, or it yielded; waits for a CPU
  kSleeping,   // S, and I and P of kernel threads
  kBlocked,    // D, also with K: uninterruptible
  kStopped,    // T, t
  kDead,       // X, Z
  kUnknown,    // a state that the trace could not tell
};
inline constexpr std::size_t kActivityCount = 8;

constexpr bool IsReady(Activity activity) {
  return activity == Activity::kPreempted || activity == Activity::kRunnable;
}

// One row of thread_state.
struct State {
  std::int64_t ts = 0;
  std::int64_t end = 0;
  Utid utid = 0;
  Utid waker = kNone;            // of a ready row: who woke it
  std::uint32_t blocked_in = 0;  // Timeline::Text of the kernel function it waits in; 0: not known
  std::uint32_t wait_class = 0;  // Timeline::Text of what its kernel stack says (wait_classes.h)
  std::int16_t cpu = -1;         // running: where; ready: in whose queue; else -1
  std::int16_t priority = -1;  // running: the kernel's priority, below 100 real time; -1: not known
  Activity activity = Activity::kUnknown;
  bool woken_in_irq = false;  // of a ready row: the waker only happened to run there
  bool is_open = false;       // its end was not seen
};

// A thread on a CPU; the idle thread too.
struct CpuRun {
  std::int64_t ts = 0;
  std::int64_t end = 0;
  Utid utid = kIdleThread;
  std::int16_t priority = -1;  // the kernel's, below 100 real time, 120 for nice 0; -1: not known
};

// An interrupt handler or a softirq on a CPU.
struct IrqRun {
  std::int64_t ts = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;  // Timeline::Text: "nvme0q1", "NET_RX"
  bool is_soft = false;
};

// sched_migrate_task: from `ts` on the thread stands in the queue of `to`.
struct Migration {
  std::int64_t ts = 0;
  Utid utid = 0;
  std::int16_t from = -1;
  std::int16_t to = -1;
};

// One request of a block device.
struct DiskRequest {
  std::int64_t begin = 0;  // insertion into the queue, or issue where that was not seen
  std::int64_t issue = -1;
  std::int64_t complete = -1;
  std::uint64_t bytes = 0;
  std::uint32_t device = 0;  // Timeline::Text
  std::uint32_t op = 0;      // Timeline::Text, as blktrace prints it
  Utid utid = kNone;         // who issued it
};

struct Thread {
  Utid utid = 0;
  Upid upid = kNone;
  std::int64_t tid = 0;
  std::string name = {};
  bool is_main = false;
};

struct Process {
  Upid upid = 0;
  Upid parent = kNone;
  std::int64_t pid = 0;
  std::string name = {};
  std::string cmdline = {};
  std::string cgroup = {};       // where it has a CPU quota; empty: none, or not recorded
  std::string gpu_devices = {};  // "/dev/nvidia0" that it held open; empty: none, or not recorded
  bool is_kernel = false;        // kernel threads
  bool is_target = false;        // the recording was made of it (record -- COMMAND, --pid)
};

// How long a cgroup with a CPU quota was kept from running, by the kernel's own count.
struct Throttled {
  std::string cgroup;
  Interval time;  // between two readings of the counter
  std::int64_t ns = 0;
};

// Where events of a CPU are missing.
struct LostGap {
  std::int16_t cpu = 0;
  Interval time;
  std::uint64_t events = 0;
};

class Timeline {
 public:
  // From a request's completion to the wakeup of who waits for it: the interrupt's own work. Longer
  // than any measured here without load (20 us), shorter than a disk's own service time.
  static constexpr std::int64_t kCompletionToWakeupNs = 100'000;

  // Rows may come in any order of threads, but in order of time within a thread (and a CPU).
  struct Rows {
    Interval window;
    std::vector<Thread> threads;     // by utid, without holes
    std::vector<Process> processes;  // by upid, without holes
    std::vector<State> states;
    std::vector<std::vector<CpuRun>> cpu_runs;  // by CPU
    std::vector<std::vector<IrqRun>> irq_runs;  // by CPU; nested ones come after those around them
    std::vector<Migration> migrations;          // in order of time
    std::vector<DiskRequest> disk_requests;     // in order of their begin
    std::vector<LostGap> lost;
    std::vector<Throttled> throttled;  // in order of time
    std::vector<std::string> texts;    // [0] is empty
    // Recorded without root: nothing is known of other processes' threads, and of no wakers.
    bool has_own_threads_only = false;
  };
  explicit Timeline(Rows rows);

  Interval window() const { return rows_.window; }
  std::span<const Thread> threads() const { return rows_.threads; }
  std::span<const Process> processes() const { return rows_.processes; }
  const Thread& thread(Utid utid) const { return rows_.threads[utid]; }
  // The process of a thread; nullptr when it is not known.
  const Process* ProcessOf(Utid utid) const;
  // Two threads of one known process.
  bool SameProcess(Utid a, Utid b) const;
  std::string_view Text(std::uint32_t id) const { return rows_.texts[id]; }

  std::span<const State> StatesOf(Utid utid) const {
    return std::span(rows_.states).subspan(first_[utid], first_[utid + 1] - first_[utid]);
  }
  // The rows of a thread that share time with `time`, in order.
  std::span<const State> StatesIn(Utid utid, Interval time) const;
  // The row that a thread was in just before `ts` (row.ts < ts <= row.end); nullptr: none is known.
  const State* Before(Utid utid, std::int64_t ts) const;
  // The row after `state` of the same thread if it begins where that ends; nullptr otherwise.
  const State* Next(const State& state) const;

  std::size_t cpu_count() const { return rows_.cpu_runs.size(); }
  std::span<const CpuRun> RunsIn(std::size_t cpu, Interval time) const;
  // What is nested is cut out of what is around it: the rows do not overlap.
  std::span<const IrqRun> IrqsIn(std::size_t cpu, Interval time) const;
  std::int64_t IrqTime(std::size_t cpu, Interval time) const;
  std::span<const Migration> MigrationsOf(Utid utid, Interval time) const;
  std::span<const DiskRequest> disk_requests() const { return rows_.disk_requests; }
  // The request whose completion woke somebody at `ts`: the last one that completed at most
  // kCompletionToWakeupNs before; nullptr: none.
  const DiskRequest* CompletedJustBefore(std::int64_t ts) const;
  // The CPUs that a thread was seen to run on, ascending: at least these it was allowed to use.
  std::vector<std::int16_t> CpusOf(Utid utid) const;
  // What interrupted a CPU at `ts`; nullptr: nothing recorded.
  const IrqRun* IrqAt(std::size_t cpu, std::int64_t ts) const;
  // The thread on a CPU at `ts`; kNone: not known.
  Utid RunningAt(std::size_t cpu, std::int64_t ts) const;
  // The priority a thread ran with last; -1: it did not run.
  std::int16_t PriorityOf(Utid utid) const { return priorities_[utid]; }
  bool has_irqs() const { return has_irqs_; }
  bool has_own_threads_only() const { return rows_.has_own_threads_only; }
  std::span<const LostGap> lost() const { return rows_.lost; }
  // The throttled time of the cgroup of the thread's process and of those around it.
  std::vector<Throttled> ThrottledOf(Utid utid) const;
  bool IsKernel(Utid utid) const {
    const Process* process = ProcessOf(utid);
    return utid == kIdleThread || (process != nullptr && process->is_kernel);
  }

 private:
  Rows rows_;
  std::vector<std::size_t> first_;  // of each thread's states; one more at the end
  std::vector<std::size_t> first_migration_;
  std::vector<std::uint32_t> by_completion_;  // indices of disk_requests
  std::vector<std::int16_t> priorities_;      // by utid
  bool has_irqs_ = false;
};

}  // namespace culprit::analysis
