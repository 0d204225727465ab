// ClockMap: timestamps of any clock of a trace as times of its trace clock, piecewise by the clock
// snapshots of the trace. Reads no packets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace culprit::load {

struct ClockReading {
  std::uint32_t clock_id = 0;
  std::uint32_t sequence = 0;  // of clocks that are local to a sequence (64 to 127); else 0
  std::int64_t ns = 0;         // already multiplied by the clock's unit
};

class ClockMap {
 public:
  void SetTraceClock(std::uint32_t clock_id) { trace_clock_ = clock_id; }
  std::uint32_t trace_clock() const { return trace_clock_; }

  // Readings of several clocks at one moment.
  void AddSnapshot(const std::vector<ClockReading>& readings);
  // To be called once all snapshots are in.
  void Prepare();

  // Nothing when no snapshot connects the clock with the trace clock.
  std::optional<std::int64_t> ToTraceTime(std::uint32_t clock_id, std::uint32_t sequence,
                                          std::int64_t ns) const;

  // Constant difference of one clock to the trace clock, where there is one: the common case.
  // Converts runs of timestamps without a search.
  class Run {
   public:
    std::int64_t Convert(std::int64_t ns) {
      if (ns < from_ || ns >= until_) Seek(ns);
      return ns + difference_;
    }

   private:
    friend class ClockMap;
    void Seek(std::int64_t ns);
    const std::vector<std::pair<std::int64_t, std::int64_t>>* points_ = nullptr;
    std::int64_t from_ = INT64_MIN;
    std::int64_t until_ = INT64_MAX;
    std::int64_t difference_ = 0;
  };
  std::optional<Run> RunOf(std::uint32_t clock_id, std::uint32_t sequence) const;

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;                // clock, sequence
  using Points = std::vector<std::pair<std::int64_t, std::int64_t>>;  // clock's ns, trace ns

  std::uint32_t trace_clock_ = 6;  // BOOTTIME
  std::vector<std::vector<ClockReading>> snapshots_;
  std::map<Key, Points> points_;
};

}  // namespace culprit::load
