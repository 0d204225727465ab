#include "capture/encode_plan.h"

#include <algorithm>

#include "base/text.h"
#include "tracefile/fields.h"
#include "tracefile/wire.h"

namespace culprit::capture {
namespace {

using kernel::EventFormat;
using kernel::FieldKind;
using kernel::FormatField;
namespace tf = tracefile;

bool IsInteger(const FormatField* field, std::uint32_t size) {
  return field != nullptr && field->kind == FieldKind::kInteger && field->size == size;
}

// The widest comm that the columns take; longer ones (none is known) go as full events.
constexpr std::uint32_t kCommBytes = 16;

bool IsComm(const FormatField* field) {
  return field != nullptr && field->kind == FieldKind::kFixedText && field->size == kCommBytes;
}

EventPlan::Column ColumnOf(const FormatField* field) { return {field->offset, field->size}; }

bool PlanCompactSwitch(const EventFormat& format, EventPlan& plan) {
  const FormatField* state = format.Find("prev_state");
  const FormatField* prev = format.Find("prev_pid");
  const FormatField* pid = format.Find("next_pid");
  const FormatField* prio = format.Find("next_prio");
  const FormatField* comm = format.Find("next_comm");
  if ((!IsInteger(state, 8) && !IsInteger(state, 4)) || !IsInteger(prev, 4) || !IsInteger(pid, 4) ||
      !IsInteger(prio, 4) || !IsComm(comm)) {
    return false;
  }
  plan.mode = EventMode::kCompactSwitch;
  plan.prev_pid = ColumnOf(prev);
  plan.prev_state = ColumnOf(state);
  plan.pid = ColumnOf(pid);
  plan.prio = ColumnOf(prio);
  plan.comm = ColumnOf(comm);
  return true;
}

bool PlanCompactWaking(const EventFormat& format, EventPlan& plan) {
  const FormatField* pid = format.Find("pid");
  const FormatField* prio = format.Find("prio");
  const FormatField* comm = format.Find("comm");
  const FormatField* cpu = format.Find("target_cpu");
  if (!IsInteger(pid, 4) || !IsInteger(prio, 4) || !IsInteger(cpu, 4) || !IsComm(comm))
    return false;
  plan.mode = EventMode::kCompactWaking;
  plan.pid = ColumnOf(pid);
  plan.prio = ColumnOf(prio);
  plan.comm = ColumnOf(comm);
  plan.target_cpu = ColumnOf(cpu);
  return true;
}

bool PlanKernelStack(const EventFormat& format, EventPlan& plan) {
  const FormatField* size = format.Find("size");
  const FormatField* caller = format.Find("caller");
  if (!IsInteger(size, 4) || caller == nullptr || caller->element_bytes == 0 ||
      (caller->kind != FieldKind::kArray && caller->kind != FieldKind::kTailArray)) {
    return false;
  }
  plan.mode = EventMode::kKernelStack;
  plan.stack_size = ColumnOf(size);
  // The array is declared with some length; a record has `size` entries, or fills itself.
  plan.stack = {caller->offset, caller->element_bytes};
  plan.least_bytes = caller->offset;
  return true;
}

bool CanBecome(const FormatField& source, const tf::EventField& target) {
  const bool is_text = target.type == tf::FieldType::kString;
  const bool is_bytes = target.type == tf::FieldType::kBytes;
  switch (source.kind) {
    case FieldKind::kInteger:
    case FieldKind::kPointer:
      return !is_text && !is_bytes;
    case FieldKind::kStringPointer:
      return !is_bytes;
    case FieldKind::kFixedText:
    case FieldKind::kTailText:
    case FieldKind::kDynamicText:
      return is_text || is_bytes;
    case FieldKind::kArray:
    case FieldKind::kTailArray:
    case FieldKind::kDynamicArray:
      return is_bytes || (!is_text && target.repeated);
    case FieldKind::kBytes:
      return is_bytes;
  }
  return false;
}

void PlanTyped(const EventFormat& format, const tf::EventType& type, EventPlan& plan) {
  plan.mode = EventMode::kTyped;
  plan.field_id = type.field_id;
  const bool is_print = type.field_id == tf::FtraceEvent::kPrint;
  for (const tf::EventField& target : type.fields) {
    const FormatField* source = format.Find(target.name);
    if (source == nullptr || !CanBecome(*source, target)) continue;
    // The address that a marker was written from tells nothing and gives the kernel's layout away.
    if (is_print && target.name == "ip") continue;
    plan.fields.push_back({*source,
                           target.number,
                           target.type,
                           target.repeated,
                           source->type == "dev_t",
                           target.is_function,
                           {}});
  }
}

void PlanGeneric(const EventFormat& format, EventPlan& plan) {
  plan.mode = EventMode::kGeneric;
  tf::WireBuffer head;
  head.BytesField(tf::GenericFtraceEvent::kEventName, format.name);
  plan.generic_head = head.view();
  for (const FormatField& source : format.fields) {
    tf::WireBuffer name;
    name.BytesField(tf::GenericFtraceEvent::Field::kName, source.name);
    plan.fields.push_back({source, 0, tf::FieldType::kUint64, false, source.type == "dev_t", false,
                           std::string(name.view())});
  }
}

// Where the last field of a fixed place ends.
std::uint32_t FixedEnd(const EventFormat& format) {
  std::uint32_t end = 0;
  for (const auto* list : {&format.common, &format.fields}) {
    for (const FormatField& field : *list) end = std::max(end, field.offset + field.size);
  }
  return end;
}

std::unique_ptr<EventPlan> PlanEvent(const std::string& group, const EventFormat& format,
                                     bool compact_sched) {
  auto plan = std::make_unique<EventPlan>();
  plan->name = group + "/" + format.name;
  plan->least_bytes = FixedEnd(format);
  if (plan->name == "ftrace/kernel_stack" && PlanKernelStack(format, *plan)) return plan;
  if (compact_sched && plan->name == "sched/sched_switch" && PlanCompactSwitch(format, *plan)) {
    return plan;
  }
  if (compact_sched && plan->name == "sched/sched_waking" && PlanCompactWaking(format, *plan)) {
    return plan;
  }
  const tf::EventType* type = tf::FindEventType(group, format.name);
  if (type != nullptr) {
    PlanTyped(format, *type, *plan);
  } else {
    PlanGeneric(format, *plan);
  }
  return plan;
}

// Lines are `0xffffffff8281a98f : "text"`; escapes in the text stay as they are.
std::unordered_map<std::uint64_t, std::string> ParsePrintkFormats(std::string_view text) {
  std::unordered_map<std::uint64_t, std::string> texts;
  for (const std::string_view line : SplitLines(text)) {
    const std::size_t colon = line.find(" : \"");
    if (colon == std::string_view::npos || !line.starts_with("0x") || !line.ends_with('"'))
      continue;
    const auto address = ParseInteger<std::uint64_t>(line.substr(2, colon - 2), 16);
    if (!address || line.size() < colon + 5) continue;
    texts.emplace(*address, line.substr(colon + 4, line.size() - colon - 5));
  }
  return texts;
}

}  // namespace

void EncodePlan::AddCommon(const EventFormat& format) {
  const FormatField* type = format.Find("common_type");
  const FormatField* pid = format.Find("common_pid");
  const FormatField* flags = format.Find("common_flags");
  if (type != nullptr) type_offset_ = type->offset;
  if (pid != nullptr) pid_offset_ = pid->offset;
  if (flags != nullptr) flags_offset_ = flags->offset;
  least_bytes_ = std::max({type_offset_ + 2, pid_offset_ + 4, flags_offset_ + 1});
}

Result<EncodePlan> EncodePlan::Make(const FtraceSpool& spool, bool compact_sched) {
  EncodePlan plan;
  CULPRIT_ASSIGN(plan.page_, kernel::ParseHeaderPage(spool.header_page));
  CULPRIT_ASSIGN(plan.record_, kernel::ParseHeaderEvent(spool.header_event));
  for (const EventFormatText& text : spool.formats) {
    const auto format = kernel::ParseEventFormat(text.format);
    if (!format.ok()) {
      plan.refused_.push_back(text.group + "/" + text.name + ": " + format.error().what);
      continue;
    }
    if (plan.plans_.empty()) plan.AddCommon(format.value());
    plan.plans_.push_back(PlanEvent(text.group, format.value(), compact_sched));
    plan.plans_.back()->index = static_cast<std::uint32_t>(plan.plans_.size() - 1);
    if (const EventMode mode = plan.plans_.back()->mode;
        mode == EventMode::kCompactSwitch || mode == EventMode::kCompactWaking) {
      auto& full = mode == EventMode::kCompactSwitch ? plan.full_switch_ : plan.full_waking_;
      full = PlanEvent(text.group, format.value(), false);
      full->index = plan.plans_.back()->index;
    }
    plan.by_id_[format->id] = plan.plans_.back().get();
  }
  plan.pointer_texts_ = ParsePrintkFormats(spool.printk_formats);
  return plan;
}

std::string_view EncodePlan::TextOfPointer(std::uint64_t address) const {
  const auto found = pointer_texts_.find(address);
  return found == pointer_texts_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace culprit::capture
