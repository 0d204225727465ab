// The typed ftrace events of the trace format, for writing (by group, name and field name) and for
// loading (by field number). Knows nothing of a kernel's layouts; those come from format files.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace culprit::tracefile {

enum class FieldType : std::uint8_t { kInt32, kInt64, kUint32, kUint64, kString, kBytes };

struct EventField {
  std::string_view name;  // the kernel's name of the field as well
  std::uint32_t number = 0;
  FieldType type = FieldType::kUint64;
  bool repeated = false;
  // The address of kernel code, for which a trace may have the iid of InternedData.kernel_symbols.
  bool is_function = false;
};

struct EventType {
  std::uint32_t field_id = 0;    // in FtraceEvent
  std::string_view group;        // "sched"; empty for the few that no tracepoint stands behind
  std::string_view name;         // "sched_switch"
  std::string_view kernel_name;  // differs from `name` for some vendor events
  std::span<const EventField> fields;  // in order of their numbers

  // Nothing for a name or number that the event lacks.
  const EventField* FindField(std::string_view field_name) const;
  const EventField* FindField(std::uint32_t number) const;
};

// In order of field_id.
std::span<const EventType> EventTypes();
// Nothing for an event that the format does not type.
const EventType* FindEventType(std::uint32_t field_id);
const EventType* FindEventType(std::string_view group, std::string_view kernel_name);

}  // namespace culprit::tracefile
