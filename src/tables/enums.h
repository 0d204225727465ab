// Numbers of the ENUM types of the schema (schema/types.sql), for those who append rows.
// A test compares them with the types that DuckDB has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::tables {

// sched_state, the type of sched.end_state and thread_state.state: two bytes. A member is a set of
// flags; its text is the flags' letters in this order, "R" for none. The last two are no flags and
// go with none: a preempted thread is runnable and nothing else.
inline constexpr std::string_view kSchedStateLetters = "SDTtXZPxKWNI";
using SchedState = std::uint16_t;
inline constexpr SchedState kStateRunnable = 0;                                 // "R"
inline constexpr SchedState kStatePreempted = 1U << kSchedStateLetters.size();  // "R+"
inline constexpr SchedState kStateRunning = kStatePreempted + 1;                // "Running"

// The flag of a letter; nothing for a letter that no kernel prints (R is no flag, see above).
constexpr std::optional<SchedState> SchedStateFlag(char letter) {
  const auto bit = kSchedStateLetters.find(letter);
  if (bit == std::string_view::npos) return std::nullopt;
  return static_cast<SchedState>(1U << bit);
}
inline constexpr SchedState kStateSleeping = *SchedStateFlag('S');
inline constexpr SchedState kStateUninterruptible = *SchedStateFlag('D');

std::string SchedStateText(SchedState state);

// arg_type, the type of args.value_type: one byte.
enum class ArgType : std::uint8_t { kInt, kUint, kString, kReal, kPointer, kBool, kJson, kNull };

}  // namespace culprit::tables
