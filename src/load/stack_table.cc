#include "load/stack_table.h"

#include <algorithm>
#include <string>

#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

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

std::string BuildIdText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<std::uint8_t>(byte) >> 4];
    text += kDigits[static_cast<std::uint8_t>(byte) & 15];
  }
  return text;
}

}  // namespace

bool IsSchedulerFunction(std::string_view name) {
  const std::string_view plain = PlainName(name);
  return std::find(std::begin(kSchedulerFunctions), std::end(kSchedulerFunctions), plain) !=
         std::end(kSchedulerFunctions);
}

std::optional<std::uint32_t> StackTable::Mapping(const Interned& interned, std::uint64_t iid) {
  StackMapping mapping;
  mapping.name = strings_.Intern("");
  if (iid == 0) return AddMapping(mapping);  // of no file
  const auto found = interned.mappings.find(iid);
  if (found == interned.mappings.end()) return std::nullopt;
  const Interned::Mapping& of = found->second;
  mapping = {.build_id = kNoString,
             .exact_offset = of.exact_offset,
             .start_offset = of.start_offset,
             .start = of.start,
             .end = of.end,
             .load_bias = of.load_bias,
             .name = kNoString};
  std::string name;
  for (const std::uint64_t part : of.path) {
    const auto text = interned.mapping_paths.find(part);
    if (text == interned.mapping_paths.end()) break;
    // Parts are those of a path from the root; some recorders give all of it as one. "[vdso]" and
    // its like are no paths.
    const bool stands_alone = name.empty() && !text->second.empty() &&
                              (text->second.front() == '/' || text->second.front() == '[');
    if (!stands_alone) name += '/';
    name += text->second;
  }
  mapping.name = strings_.Intern(name);
  if (of.build_id != 0) {
    const auto build = interned.build_ids.find(of.build_id);
    if (build == interned.build_ids.end()) return std::nullopt;
    if (!build->second.empty()) mapping.build_id = strings_.Intern(BuildIdText(build->second));
  }
  return AddMapping(mapping);
}

std::uint32_t StackTable::AddMapping(const StackMapping& mapping) {
  const auto [found, is_new] = mapping_ids_.try_emplace(
      {mapping.name, mapping.build_id, mapping.start, mapping.end, mapping.start_offset},
      static_cast<std::uint32_t>(mappings_.size()));
  if (is_new) mappings_.push_back(mapping);
  return found->second;
}

std::optional<std::uint32_t> StackTable::Frame(const Interned& interned, std::uint64_t iid) {
  const auto found = interned.frames.find(iid);
  if (found == interned.frames.end()) return std::nullopt;
  const Interned::Frame& of = found->second;
  StackFrame frame;
  frame.rel_pc = of.rel_pc;
  frame.name = strings_.Intern("");
  if (of.function_name != 0) {
    const auto name = interned.function_names.find(of.function_name);
    if (name == interned.function_names.end()) return std::nullopt;
    frame.name = strings_.Intern(name->second);
  }
  StringId source = kNoString;
  if (of.source_path != 0) {
    const auto path = interned.source_paths.find(of.source_path);
    if (path == interned.source_paths.end()) return std::nullopt;
    source = strings_.Intern(path->second);
  }
  const auto mapping = Mapping(interned, of.mapping);
  if (!mapping.has_value()) return std::nullopt;
  frame.mapping = *mapping;
  if (of.mapping == 0) frame.rel_pc = 0;
  return AddFrame(frame, source, of.line, of.mapping == 0);
}

std::uint32_t StackTable::AddFrame(const StackFrame& frame, StringId source, std::uint32_t line,
                                   bool is_of_no_file) {
  const auto [found, is_new] =
      frame_ids_.try_emplace({frame.name, frame.mapping, frame.rel_pc,
                              is_of_no_file ? source : kNoString, is_of_no_file ? line : 0},
                             static_cast<std::uint32_t>(frames_.size()));
  if (!is_new) return found->second;
  frames_.push_back(frame);
  if (is_of_no_file || source != kNoString || line != 0) {
    const auto set = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back(
        {.symbol_set = set, .name = frame.name, .source_file = source, .line = line});
    frames_.back().symbol_set = set;
  }
  return found->second;
}

void StackTable::AddSymbols(std::string_view module_symbols, TraceStats& stats) {
  using tracefile::ProtoReader;
  std::string_view path;
  std::string build_id;
  ProtoReader head(module_symbols);
  while (head.Next()) {
    if (head.id() == tracefile::ModuleSymbols::kPath) path = head.bytes();
    if (head.id() == tracefile::ModuleSymbols::kBuildId) build_id = BuildIdText(head.bytes());
  }
  std::map<std::uint32_t, bool> of_module;  // mappings
  for (std::uint32_t id = 0; id < mappings_.size(); ++id) {
    const StackMapping& mapping = mappings_[id];
    const std::string_view known =
        mapping.build_id == kNoString ? std::string_view() : strings_.Text(mapping.build_id);
    if (strings_.Text(mapping.name) == path && (build_id.empty() || known == build_id)) {
      of_module[id] = true;
    }
  }
  if (of_module.empty()) {
    stats.Add("stackprofile_invalid_mapping_id");
    return;
  }
  std::multimap<std::uint64_t, std::uint32_t> by_place;  // rel_pc -> frames
  for (std::uint32_t id = 0; id < frames_.size(); ++id) {
    if (of_module.contains(frames_[id].mapping)) by_place.emplace(frames_[id].rel_pc, id);
  }
  ProtoReader field(module_symbols);
  while (field.Next()) {
    if (field.id() != tracefile::ModuleSymbols::kAddressSymbols) continue;
    std::uint64_t address = 0;
    const auto set = static_cast<std::uint32_t>(symbols_.size());
    ProtoReader part(field.bytes());
    while (part.Next()) {
      if (part.id() == tracefile::AddressSymbols::kAddress) address = part.u64();
      if (part.id() != tracefile::AddressSymbols::kLines) continue;
      StackSymbol symbol{.symbol_set = set, .knows_inlining = true};
      std::string_view name;
      ProtoReader line(part.bytes());
      while (line.Next()) {
        namespace Line = tracefile::SymbolLine;
        if (line.id() == Line::kFunctionName) name = line.bytes();
        if (line.id() == Line::kSourceFileName) symbol.source_file = strings_.Intern(line.bytes());
        if (line.id() == Line::kLineNumber) symbol.line = line.u32();
      }
      symbol.name = strings_.Intern(name);
      if (symbol.source_file == kNoString) symbol.line = 0;
      // The lines of an address lead from the innermost function out: all but the last are inlined.
      if (symbols_.size() > set) symbols_.back().is_inlined = true;
      symbols_.push_back(symbol);
    }
    if (symbols_.size() == set) continue;
    const auto [begin, end] = by_place.equal_range(address);
    if (begin == end) stats.Add("stackprofile_invalid_frame_id");
    for (auto at = begin; at != end; ++at) frames_[at->second].symbol_set = set;
  }
}

StackTable::Stack StackTable::Resolve(const Interned& interned, std::uint64_t callstack) {
  const auto known = resolved_.find({&interned, callstack});
  if (known != resolved_.end()) return known->second;
  Stack stack;
  const auto frames = interned.callstacks.find(callstack);
  if (frames == interned.callstacks.end()) return stack;
  for (const std::uint64_t iid : frames->second) {  // from the root to the leaf
    const auto frame = Frame(interned, iid);
    if (!frame.has_value()) return resolved_[{&interned, callstack}] = {};
    stack.callsite = Callsite(stack.callsite, *frame);
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
