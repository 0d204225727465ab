// Time as types, so that a duration cannot be passed as a timestamp.
// Which clock a TimeNs is on is said where it is made: CLOCK_BOOTTIME unless stated.
#pragma once

#include <compare>
#include <cstdint>

namespace culprit {

struct DurationNs {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(DurationNs, DurationNs) = default;
};

struct TimeNs {
  std::int64_t value = 0;  // CLOCK_BOOTTIME: suspend is counted
  friend constexpr auto operator<=>(TimeNs, TimeNs) = default;
};

constexpr DurationNs operator-(TimeNs end, TimeNs begin) { return {end.value - begin.value}; }
constexpr TimeNs operator+(TimeNs time, DurationNs duration) {
  return {time.value + duration.value};
}
constexpr DurationNs operator+(DurationNs a, DurationNs b) { return {a.value + b.value}; }

constexpr DurationNs Seconds(std::int64_t s) { return {s * 1'000'000'000}; }
constexpr DurationNs Milliseconds(std::int64_t ms) { return {ms * 1'000'000}; }
constexpr double ToSeconds(DurationNs d) { return static_cast<double>(d.value) / 1e9; }

// Now on CLOCK_BOOTTIME.
TimeNs NowBoottime();

}  // namespace culprit
