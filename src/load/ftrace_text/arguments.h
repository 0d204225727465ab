// The arguments of an event of ftrace text as numbered fields of the trace format, so that text and
// binary traces share their meaning. Reads "key=value" and the formats that the kernel's block and
// clock events, and trace-cmd's scheduler events, print otherwise.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "load/event_fields.h"
#include "tracefile/ftrace_event_table.h"

namespace culprit::load::ftrace_text {

// The event of that name in the trace format, whatever its group; null for none.
// "tracing_mark_write" is print.
const tracefile::EventType* FindByName(std::string_view name);

// Fills `fields`; texts lie in `arguments`. Fields that are not there stay unset.
void ReadArguments(const tracefile::EventType& type, std::string_view arguments,
                   EventFields& fields);

// sched_switch, whose state is text: "S", "R+".
struct SwitchText {
  std::string_view prev_comm;
  std::int64_t prev_tid = 0;
  std::string_view prev_state;
  std::string_view next_comm;
  std::int64_t next_tid = 0;
  std::int32_t next_prio = 0;
};
bool ReadSwitch(std::string_view arguments, SwitchText& out);

// key=value pairs of an event that is not known.
std::vector<std::pair<std::string_view, std::string_view>> ReadPairs(std::string_view arguments);

}  // namespace culprit::load::ftrace_text
