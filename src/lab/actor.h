// One thread of a scenario, seen from inside: the start gate, burning and sleeping, and the sums of
// its own waits, measured with the clocks and schedstat. Knows nothing of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"
#include "lab/board.h"

namespace culprit::lab {

class Actor {
 public:
  // On the thread itself.
  Actor(Board& board, Slot& slot);

  // Says that all preparations are made, waits until everyone's are, and begins to measure.
  void Begin();
  // Also called by the crew when the actor's function returns.
  void Finish();
  void Fail(const Error& error);

  // False once the window is over; every loop asks.
  bool Acting() const { return !board_.stop.load() && MonotonicNs() < board_.end_ns.load(); }

  // Takes so much CPU time, or what the window has left.
  void Burn(DurationNs cpu);
  // Sleeps, at most to the end of the window. The second form is counted as Wait::kSleep.
  void Rest(DurationNs duration);
  void Sleep(DurationNs duration);

  // Runs `call` and counts its whole time.
  template <class Call>
  auto Waiting(Wait kind, Call call, IntervalLog* log = nullptr) {
    const std::int64_t begin = MonotonicNs();
    const Counted counted(*this, kind, begin, log);
    return call();
  }
  // Runs `call` and counts the part of its time in which this thread neither ran nor was runnable.
  template <class Call>
  auto Blocked(Wait kind, Call call, IntervalLog* log = nullptr) {
    const BlockedCounted counted(*this, kind, log);
    return call();
  }
  // Runs `call` and logs its time, weighed by the part in which this thread was not kept from a
  // CPU: what others did to it is not its own doing.
  template <class Call>
  void OwnDoing(IntervalLog& log, Call call) {
    const std::int64_t runnable = SchedStat().first;
    const std::int64_t begin = MonotonicNs();
    call();
    const std::int64_t end = MonotonicNs();
    const std::int64_t kept = SchedStat().first - runnable;
    log.Add({begin, end, -1, OwnPart(end - begin, kept)});
  }
  void Count(Wait kind, std::int64_t ns);

  Board& board() { return board_; }
  Slot& slot() { return slot_; }
  int index() const { return board_.IndexOf(&slot_); }
  // Of this thread, up to now: {schedstat's runnable time, slices}.
  std::pair<std::int64_t, std::int64_t> SchedStat() const;

 private:
  struct Moment {
    std::int64_t wall_ns = 0, cpu_ns = 0, runnable_ns = 0, slices = 0;
    std::int64_t voluntary = 0, involuntary = 0, major_faults = 0;
  };
  Moment Now() const;
  static float OwnPart(std::int64_t wall_ns, std::int64_t runnable_ns);

  class Counted {
   public:
    Counted(Actor& actor, Wait kind, std::int64_t begin, IntervalLog* log)
        : actor_(actor), kind_(kind), begin_(begin), log_(log) {}
    ~Counted();

   private:
    Actor& actor_;
    Wait kind_;
    std::int64_t begin_;
    IntervalLog* log_;
  };
  class BlockedCounted {
   public:
    BlockedCounted(Actor& actor, Wait kind, IntervalLog* log);
    ~BlockedCounted();

   private:
    Actor& actor_;
    Wait kind_;
    IntervalLog* log_;
    std::int64_t wall_, cpu_, runnable_;
  };

  Board& board_;
  Slot& slot_;
  UniqueFd schedstat_;
  Moment begin_;
  bool begun_ = false;
};

}  // namespace culprit::lab
