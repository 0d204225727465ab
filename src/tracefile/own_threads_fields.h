// Field numbers of CulpritData (fields.h) of a recording without root: what each thread did, as the
// recorder worked it out, and how exact that is. Nothing here reads or writes.
#pragma once

#include <cstdint>

namespace culprit::tracefile::CulpritData {

enum : std::uint32_t {
  kToldThreads = 6,  // repeated ToldThread: of a recording without root
  kToldStates = 7,   // repeated ToldState, by time
  kOwnThreads = 8,   // OwnThreads, once: what ToldStates cover and how exact they are
};

// A thread that ToldStates are about.
namespace ToldThread {
enum : std::uint32_t { kTid = 1, kPid = 2, kName = 3 };
}
// What a thread did, as the recorder worked it out: a row of thread_state, and of sched when it
// ran.
namespace ToldState {
enum : std::uint32_t {
  kTs = 1,   // ns, the trace's clock
  kDur = 2,  // -1: it went on when the recording ended
  kTid = 3,
  kState = 4,  // "Running", "R", "R+", "S", "D" ...; absent: not known
  kCpu = 5,
  kEndState = 6,         // of Running: what came then
  kBlockedFunction = 7,  // wchan
  kIsSampled = 8,        // from samples of /proc: no row of sched
};
}
namespace OwnThreads {
enum : std::uint32_t {
  kHasSwitches = 1,  // exact, by perf events; else all is sampled
  kThreads = 2,
  kRounds = 3,  // looks at /proc
  kWaits = 4,
  kWaitsWithoutKind = 5,  // too short for a look: called S
  kWaitsShared = 6,       // several between two looks share their run delay
  kWaitsUnsplit = 7,      // no look behind it: all of it counts as blocked
  kLost = 8,
  kUnknown = 9,  // stretches between records that do not fit
};
}

}  // namespace culprit::tracefile::CulpritData
