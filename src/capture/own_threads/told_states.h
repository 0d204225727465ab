// From what an ordinary user may see of his own threads (switch records of perf events, samples of
// /proc) to what each thread did when. Plain data in, plain data out: reads nothing, writes
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::capture {

enum class SwitchKind : std::uint8_t {
  kIn,
  kOut,           // it sleeps
  kOutPreempted,  // it had work
  kBorn,          // it stands ready for the first time
  kExit,          // it ends, on the CPU
};

struct SwitchRecord {
  std::int64_t ts = 0;  // trace clock, ns
  std::int32_t tid = 0;
  std::int32_t cpu = -1;
  SwitchKind kind = SwitchKind::kIn;
};

// One look at a thread. Threads that stay as they are need no new look.
struct ThreadSample {
  std::int64_t ts = 0;
  std::int32_t tid = 0;
  std::int32_t cpu = -1;      // where it runs, or ran last
  char state = '?';           // as /proc/PID/stat has it: 'R' is running or ready
  std::uint32_t wchan = 0;    // index of the kernel function it waits in, 0: none
  std::uint64_t run_ns = 0;   // on a CPU so far (schedstat)
  std::uint64_t wait_ns = 0;  // ready without one so far; counted when it gets one
};

struct ToldState {
  std::int64_t ts = 0;
  std::int64_t dur = 0;  // -1: it went on when the recording ended
  std::int32_t tid = 0;
  std::int32_t cpu = -1;       // of Running
  std::string_view state;      // "Running", "R", "R+", "S", "D", ...; "" is not known
  std::string_view end_state;  // of Running: what came then, "" is not known
  std::uint32_t wchan = 0;
};

struct ToldStates {
  std::vector<ToldState> states;  // by time, then tid
  // What of it is no exact record (all counts of waits):
  std::uint64_t waits = 0;               // in all
  std::uint64_t waits_without_kind = 0;  // no sample met it: called S
  std::int64_t without_kind_ns = 0;
  std::uint64_t waits_shared = 0;   // several in one window share its run delay evenly
  std::uint64_t waits_unsplit = 0;  // no sample came behind it: all of it counts as blocked
  std::uint64_t unknown = 0;        // stretches between records that do not fit: some were lost
};

// Exact times: `switches` by ts. `samples` by ts; both of any threads.
//
//   out -------- gap -------- in        a gap after a preemption is R+ from end to end
//   out [ S or D, wchan ][ R ] in       else its ready end is the run delay that the kernel added
//                                       up when the thread got the CPU; its kind is that of a
//                                       sample
ToldStates StatesOfSwitches(std::int64_t begin, std::int64_t end,
                            const std::vector<SwitchRecord>& switches,
                            const std::vector<ThreadSample>& samples);

// Of samples alone: between two looks a thread ran and was ready for as long as schedstat says; in
// which order is not known (a sleeper first sleeps, one that was seen ready first runs).
ToldStates StatesOfSamples(std::int64_t begin, std::int64_t end,
                           const std::vector<ThreadSample>& samples);

}  // namespace culprit::capture
