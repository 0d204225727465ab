#include "load/stack_table.h"

#include <algorithm>

namespace culprit::load {
namespace {

// Functions between the reason to wait and the switch, by their names without a compiler's suffix.
// The kernel marks them __sched and leaves them out of wchan. Sources: kernel/sched,
// kernel/locking, kernel/time/sleep_timeout.c, mm/filemap.c of 5.10 to 6.18.
constexpr std::string_view kSchedulerFunctions[] = {
    "__schedule",
    "schedule",
    "schedule_idle",
    "schedule_preempt_disabled",
    "schedule_timeout",
    "schedule_timeout_idle",
    "schedule_timeout_interruptible",
    "schedule_timeout_killable",
    "schedule_timeout_uninterruptible",
    "schedule_hrtimeout",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "io_schedule",
    "io_schedule_timeout",
    "io_schedule_prepare",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_notrace",
    "preempt_schedule_irq",
    "__cond_resched",
    "wait_for_completion",
    "wait_for_completion_io",
    "wait_for_completion_io_timeout",
    "wait_for_completion_state",
    "wait_for_completion_timeout",
    "wait_for_completion_interruptible",
    "wait_for_completion_killable",
    "__wait_for_common",
    "wait_for_common",
    "do_wait_for_common",
    "bit_wait",
    "bit_wait_io",
    "bit_wait_timeout",
    "__wait_on_bit",
    "__wait_on_bit_lock",
    "out_of_line_wait_on_bit",
    "out_of_line_wait_on_bit_lock",
    "__mutex_lock",
    "__mutex_lock_slowpath",
    "__mutex_lock_common",
    "mutex_lock",
    "mutex_lock_io",
    "mutex_lock_killable",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "down_read",
    "down_write",
    "down_write_killable",
    "down_read_killable",
    "__down",
    "__down_common",
    "down",
    "rt_mutex_schedule",
    "trace_event_raw_event_sched_switch",
    "trace_event_buffer_commit",
    "event_triggers_post_call",
    "stacktrace_trigger",
    "__ftrace_trace_stack",
    "__trace_stack",
    "ftrace_stacktrace",
    "__traceiter_sched_switch",
};

// "schedule.isra.0" and "schedule+0x2e/0x80" are schedule.
std::string_view PlainName(std::string_view name) {
  name = name.substr(0, name.find('+'));
  return name.substr(0, name.find('.'));
}

}  // namespace

bool IsSchedulerFunction(std::string_view name) {
  const std::string_view plain = PlainName(name);
  return std::find(std::begin(kSchedulerFunctions), std::end(kSchedulerFunctions), plain) !=
         std::end(kSchedulerFunctions);
}

std::uint32_t StackTable::Mapping(const Interned& interned, std::uint64_t iid) {
  StackMapping mapping;
  std::string name;
  if (const auto found = interned.mappings.find(iid); found != interned.mappings.end()) {
    const Interned::Mapping& of = found->second;
    mapping = {.build_id = kNoString,
               .exact_offset = of.exact_offset,
               .start_offset = of.start_offset,
               .start = of.start,
               .end = of.end,
               .load_bias = of.load_bias,
               .name = kNoString};
    for (const std::uint64_t part : of.path) {
      const auto text = interned.mapping_paths.find(part);
      if (text == interned.mapping_paths.end()) continue;
      if (!name.empty() && name.back() != '/') name += '/';
      name += text->second;
    }
    if (const auto build = interned.build_ids.find(of.build_id);
        build != interned.build_ids.end()) {
      mapping.build_id = strings_.Intern(build->second);
    }
  }
  mapping.name = strings_.Intern(name);
  return AddMapping(mapping);
}

std::uint32_t StackTable::AddMapping(const StackMapping& mapping) {
  const auto [found, is_new] = mapping_ids_.try_emplace(
      {mapping.name, mapping.start, mapping.end}, static_cast<std::uint32_t>(mappings_.size()));
  if (is_new) mappings_.push_back(mapping);
  return found->second;
}

std::uint32_t StackTable::Frame(const Interned& interned, std::uint64_t iid) {
  StackFrame frame;
  std::uint64_t mapping = 0;
  if (const auto found = interned.frames.find(iid); found != interned.frames.end()) {
    frame.rel_pc = found->second.rel_pc;
    mapping = found->second.mapping;
    const auto name = interned.function_names.find(found->second.function_name);
    if (name != interned.function_names.end()) frame.name = strings_.Intern(name->second);
  }
  frame.mapping = Mapping(interned, mapping);
  return AddFrame(frame);
}

std::uint32_t StackTable::AddFrame(const StackFrame& frame) {
  const auto [found, is_new] = frame_ids_.try_emplace({frame.name, frame.mapping, frame.rel_pc},
                                                      static_cast<std::uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  return found->second;
}

StackTable::Stack StackTable::Resolve(const Interned& interned, std::uint64_t callstack) {
  const auto known = resolved_.find({&interned, callstack});
  if (known != resolved_.end()) return known->second;
  Stack stack;
  const auto frames = interned.callstacks.find(callstack);
  if (frames == interned.callstacks.end()) return stack;
  for (const std::uint64_t iid : frames->second) {  // from the root to the leaf
    stack.callsite = Callsite(stack.callsite, Frame(interned, iid));
  }
  stack.blocked_function = BlockedFunction(stack.callsite);
  resolved_[{&interned, callstack}] = stack;
  return stack;
}

StackTable::Stack StackTable::Of(std::span<const std::string_view> functions) {
  StackMapping kernel;
  kernel.name = strings_.Intern("[kernel]");
  const std::uint32_t mapping = AddMapping(kernel);
  Stack stack;
  for (const std::string_view name : functions) {
    const std::uint32_t frame =
        AddFrame({.name = strings_.Intern(name), .mapping = mapping, .rel_pc = 0});
    stack.callsite = Callsite(stack.callsite, frame);
  }
  stack.blocked_function = BlockedFunction(stack.callsite);
  return stack;
}

std::uint32_t StackTable::Callsite(std::uint32_t parent, std::uint32_t frame) {
  const std::uint32_t depth = parent == kNoCallsite ? 0 : callsites_[parent].depth + 1;
  const auto [found, is_new] =
      callsite_ids_.try_emplace({parent, frame}, static_cast<std::uint32_t>(callsites_.size()));
  if (is_new) callsites_.push_back({depth, parent, frame});
  return found->second;
}

StringId StackTable::BlockedFunction(std::uint32_t callsite) const {
  for (std::uint32_t at = callsite; at != kNoCallsite; at = callsites_[at].parent) {
    const StringId name = frames_[callsites_[at].frame].name;
    if (name != kNoString && !IsSchedulerFunction(strings_.Text(name))) return name;
  }
  return kNoString;
}

}  // namespace culprit::load
