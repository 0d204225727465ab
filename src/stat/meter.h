// Counts events of threads, of processes with what they make, or of the machine, and sums them by
// row. Takes numbers only: ratios, scaling and words are others'.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "stat/counter.h"
#include "stat/event.h"
#include "stat/proc_counts.h"

namespace culprit::stat {

enum class Split : std::uint8_t { kNone, kThread, kCpu };

struct MeterPlan {
  std::vector<EventGroup> groups;
  std::vector<std::int32_t> pids;  // none: the machine
  bool is_command = false;         // one pid, which waits and will call execve(2)
  Split split = Split::kNone;
  std::string root = "/";
};

enum class CountState : std::uint8_t {
  kCounted,
  kNeverOn,       // the PMU was too busy with others, or nothing ran
  kNotSupported,  // this CPU or kernel has no such event
  kNotAllowed,    // this user may not count it
  kNotKnown,      // not kept for such a row
};
std::string_view StateName(CountState state);

struct Count {
  CountState state = CountState::kNotKnown;
  std::uint64_t raw = 0;
  // Of a counter of perf; both 0 for counts of /proc.
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;

  // What it would be, had the counter been on the PMU all the time: raw * enabled / running.
  std::optional<double> Scaled() const;
  // Percent of the time; 100 for counts of /proc.
  double RunningPct() const;
};

struct Row {  // all three -1: the total
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::int32_t cpu = -1;
  std::string comm;
  std::vector<Count> counts;  // in the order of Meter::events()
};

struct Sample {
  DurationNs begin, end;  // since counting began
  std::vector<Row> rows;  // the total first
};

// later - earlier, row by row; rows that the earlier one lacks count from 0.
Sample Difference(const Sample& later, const Sample& earlier);

// How an event is counted here.
struct EventStatus {
  Event event;
  std::string source;  // "perf", "perf (user mode)", "/proc"; "" when it is not counted
  CountState refusal = CountState::kCounted;
  std::string reason;  // of the refusal, with what helps
};

class Meter {
 public:
  // An Error when none of the processes is there, or descriptors run out.
  static Result<std::unique_ptr<Meter>> Attach(CounterOpener& opener, MeterPlan plan);

  // Ten times a second: looks for new threads, and keeps what those that end have done.
  Status Poll();
  // A command: it has called execve(2) now.
  void MarkBegin() { begin_ = NowBoottime(); }
  // Everything since counting began. `at_end`: what wait4(2) said of the command.
  Result<Sample> Take(const ProcCounts::Values* at_end = nullptr);

  const std::vector<EventStatus>& events() const { return events_; }
  const MeterPlan& plan() const { return plan_; }
  // What the counts lack.
  std::vector<std::string> Notes(const Sample& total, bool has_end) const;
  // How many of the processes are there still.
  bool AnyAlive() const;

 private:
  struct Cell {
    std::unique_ptr<Counter> counter;
    Reading base;
    std::size_t event;
    std::int32_t tid;
    std::int32_t cpu;
  };

  Meter(CounterOpener& opener, MeterPlan plan) : opener_(opener), plan_(std::move(plan)) {}
  Status AttachProcesses();
  Status AttachMachine();
  Status AttachThread(std::int32_t tid, bool inherit);
  Status OpenGroups(const CounterPlace& place);
  Result<std::unique_ptr<Counter>> OpenOne(std::size_t event, const CounterPlace& place,
                                           const Counter* leader);
  void Refuse(std::size_t event, int error_number);
  bool SplitsCpus() const { return plan_.split == Split::kCpu; }

  CounterOpener& opener_;
  MeterPlan plan_;
  TimeNs begin_;
  std::vector<EventStatus> events_;
  std::vector<Cell> cells_;
  std::vector<std::unique_ptr<Counter>> covers_;  // task clocks that threads inherit
  std::vector<std::uint64_t> cover_bases_;
  std::vector<std::int32_t> attached_;
  std::vector<std::uint32_t> online_;
  std::optional<ProcCounts> proc_;
  std::uint64_t late_threads_ = 0;
  bool unstable_ = false;
};

}  // namespace culprit::stat
