// What to do with the records of each recorded event, worked out once from the format texts: where
// its fields are and which fields of the trace format they become. Immutable; shared by all
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "capture/spool.h"
#include "kernel/format.h"
#include "tracefile/ftrace_event_table.h"

namespace culprit::capture {

enum class EventMode : std::uint8_t {
  kCompactSwitch,
  kCompactWaking,
  kTyped,        // a message of its own in FtraceEvent
  kGeneric,      // field names and values
  kKernelStack,  // ftrace/kernel_stack: an interned call stack
};

struct FieldPlan {
  kernel::FormatField source;
  std::uint32_t number = 0;  // kTyped: in the event's message
  tracefile::FieldType type = tracefile::FieldType::kUint64;
  bool is_repeated = false;
  bool is_device = false;    // dev_t: the kernel's 20-bit minors become user space's numbering
  bool is_function = false;  // an address of code: becomes an interned name (kernel_symbols)
  std::string generic_name;  // kGeneric: the encoded "name" field of GenericFtraceEvent.Field
};

struct EventPlan {
  std::string name;         // "sched/sched_switch"
  std::uint32_t index = 0;  // of this event among the plan's
  EventMode mode = EventMode::kGeneric;
  std::uint32_t field_id = 0;     // kTyped: in FtraceEvent
  std::uint32_t least_bytes = 0;  // a shorter record is malformed
  std::string generic_head;       // kGeneric: the encoded event_name
  std::vector<FieldPlan> fields;  // kTyped, kGeneric
  // Places of the columns of compact_sched, and of a stack's addresses.
  struct Column {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  Column prev_state, prev_pid, pid, prio, comm, target_cpu, stack_size, stack;
};

class EncodePlan {
 public:
  static Result<EncodePlan> Make(const FtraceSpool& spool, bool compact_sched);

  // Nothing for an id that no format text describes.
  const EventPlan* Find(std::uint16_t id) const { return by_id_[id]; }
  // sched_switch in full, for a switch whose predecessor compact_sched cannot tell; nothing when it
  // was not recorded or nothing is compact.
  const EventPlan* full_switch() const { return full_switch_.get(); }
  // sched_waking in full, for one whose waker compact_sched cannot tell; nothing as above.
  const EventPlan* full_waking() const { return full_waking_.get(); }
  std::string_view TextOfPointer(std::uint64_t address) const;  // printk_formats; empty if unknown

  const kernel::PageLayout& page() const { return page_; }
  const kernel::RecordLayout& record() const { return record_; }
  std::uint32_t type_offset() const { return type_offset_; }
  std::uint32_t pid_offset() const { return pid_offset_; }
  std::uint32_t flags_offset() const { return flags_offset_; }
  std::uint32_t least_bytes() const { return least_bytes_; }  // of any record
  // Of every event that can be decoded, by their index.
  const std::vector<std::unique_ptr<EventPlan>>& events() const { return plans_; }
  // Formats that could not be used, one line each.
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  EncodePlan() : by_id_(std::size_t{1} << 16) {}
  void AddCommon(const kernel::EventFormat& format);

  kernel::PageLayout page_;
  kernel::RecordLayout record_;
  std::uint32_t type_offset_ = 0, pid_offset_ = 4, flags_offset_ = 2, least_bytes_ = 8;
  std::vector<std::unique_ptr<EventPlan>> plans_;
  std::vector<const EventPlan*> by_id_;
  std::unique_ptr<EventPlan> full_switch_, full_waking_;
  std::unordered_map<std::uint64_t, std::string> pointer_texts_;
  std::vector<std::string> refused_;
};

}  // namespace culprit::capture
