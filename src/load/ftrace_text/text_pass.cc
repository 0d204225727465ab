#include "load/ftrace_text/text_pass.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "load/ftrace_text/arguments.h"
#include "load/stack_table.h"
#include "tracefile/fields.h"

namespace culprit::load::ftrace_text {
namespace {

constexpr std::uint64_t kUnknownCount = ~std::uint64_t{0};
constexpr std::uint32_t kHardIrq = 0x08;  // TRACE_FLAG_HARDIRQ
constexpr std::uint32_t kSoftIrq = 0x10;  // TRACE_FLAG_SOFTIRQ

// The third of the flags says what context the event happened in.
std::uint32_t FlagsOf(std::string_view flags) {
  if (flags.size() < 3) return 0;
  switch (flags[2]) {
    case 'h':
    case 'Z':
      return kHardIrq;
    case 's':
      return kSoftIrq;
    case 'H':
      return kHardIrq | kSoftIrq;
    default:
      return 0;
  }
}

}  // namespace

void TextPass::Index() {
  std::unordered_map<std::uint32_t, LostLine> lost;  // by CPU, until its next event
  std::int64_t skipped = 0;
  std::size_t at = 0;
  while (at < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    const std::string_view line = text_.substr(at, end - at);
    if (!line.empty() && line.front() != '#') {
      if (const auto event = ParseLine(line); event.has_value()) {
        if (const auto found = lost.find(event->cpu); found != lost.end()) {
          places_.push_back({event->ts,
                             found->second.events.has_value()
                                 ? static_cast<std::uint64_t>(*found->second.events)
                                 : kUnknownCount,
                             0, event->cpu});
          lost.erase(found);
        }
        places_.push_back({event->ts, at, static_cast<std::uint32_t>(line.size()), event->cpu});
      } else if (const auto gap = ParseLostLine(line); gap.has_value()) {
        lost[gap->cpu] = *gap;
      } else if (!TrimBlanks(line).empty()) {
        ++skipped;
      }
    }
    at = end + 1;
  }
  if (skipped > 0) importer_.stats().Add("ftrace_text_lines_skipped", skipped);
  const auto by_time = [](const Place& a, const Place& b) { return a.ts < b.ts; };
  if (!std::is_sorted(places_.begin(), places_.end(), by_time)) {
    std::stable_sort(places_.begin(), places_.end(), by_time);
  }
}

void TextPass::Run(RawWriter* raw, const std::function<bool(std::uint64_t)>& keep_going) {
  constexpr std::uint64_t kBetween = 1 << 16;
  Index();
  importer_.threads().UseIdleThread();
  for (const Place& place : places_) {
    if (place.size == 0) {
      importer_.EventsLost(place.cpu, place.ts,
                           place.offset == kUnknownCount ? std::optional<std::int64_t>()
                                                         : static_cast<std::int64_t>(place.offset));
      continue;
    }
    const auto line = ParseLine(text_.substr(place.offset, place.size));
    if (line.has_value()) Take(*line, place.offset + place.size, raw);
    if (events_ % kBetween == 0 && !keep_going(events_)) return;
  }
}

void TextPass::AddNames(RawNames& names) const {
  std::unordered_set<std::string_view> seen;
  for (const std::string_view text : SplitLines(text_)) {
    const auto line = ParseLine(text);
    if (!line.has_value() || line->name == "kernel_stack") continue;
    const bool is_new = seen.insert(line->name).second;
    if (const auto* type = FindByName(line->name); type != nullptr) {
      if (is_new) names.AddType(*type);
      continue;
    }
    if (is_new) names.AddEvent(line->name);
    for (const auto& [key, value] : ReadPairs(line->arguments)) names.AddKey(key);
  }
}

void TextPass::Raw(RawWriter& raw, const EventContext& context, Utid utid, const Line& line,
                   const tracefile::EventType* type) {
  if (type == nullptr) {
    raw.Event(context, utid, line.name);
    for (const auto& [key, value] : ReadPairs(line.arguments)) {
      const auto number = ParseInteger<std::int64_t>(value);
      number.has_value() ? raw.Int(key, *number) : raw.Text(key, value);
    }
    return;
  }
  raw.Event(context, utid, type->name);
  if (type->field_id == tracefile::FtraceEvent::kSchedSwitch) {
    SwitchText text;
    if (!ReadSwitch(line.arguments, text)) return;
    raw.Text("prev_comm", text.prev_comm);
    raw.Int("prev_pid", text.prev_tid);
    raw.Text("prev_state", text.prev_state);
    raw.Text("next_comm", text.next_comm);
    raw.Int("next_pid", text.next_tid);
    raw.Int("next_prio", text.next_prio);
    return;
  }
  ReadArguments(*type, line.arguments, fields_);
  for (const tracefile::EventField& field : type->fields) {
    if (field.number >= EventFields::kSlots || !fields_.Has(field.number)) continue;
    if (field.repeated) {
      EventFields::Room room;
      std::size_t i = 0;
      for (const std::uint64_t element : fields_.Repeated(field.number, room)) {
        raw.Int(IndexedKey(field.name, i++), static_cast<std::int64_t>(element),
                tables::ArgType::kUint);
      }
      continue;
    }
    const std::string_view value = fields_.text(field.number);
    if (value.data() != nullptr) {
      raw.Text(field.name, value);
    } else {
      raw.Int(field.name, fields_.i64(field.number));
    }
  }
}

// The functions of a stack stand on the lines that follow, the innermost first: " => schedule".
void TextPass::Stack(const EventContext& context, std::size_t line_end) {
  std::vector<std::string_view> functions;
  std::size_t at = line_end + 1;
  while (at < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    std::string_view line = TrimBlanks(text_.substr(at, end - at));
    if (!line.starts_with("=> ")) break;
    line.remove_prefix(3);
    functions.push_back(line.substr(0, line.find_first_of(" +")));
    at = end + 1;
  }
  std::reverse(functions.begin(), functions.end());
  importer_.KernelStackOf(context, functions);
}

void TextPass::Take(const Line& line, std::size_t line_end, RawWriter* raw) {
  ++events_;
  importer_.Widen(line.ts);
  ThreadTracker& threads = importer_.threads();
  StringPool& strings = importer_.strings();
  const EventContext context{.ts = line.ts,
                             .cpu = line.cpu,
                             .tid = line.tid,
                             .common_flags = FlagsOf(line.flags),
                             .has_common_flags = !line.flags.empty(),
                             .interned = nullptr};
  if (line.tgid > 0 || (line.tgid == 0 && line.tid == 0)) {
    threads.ThreadOfProcess(line.tid, line.tgid);
  }
  const Utid utid = threads.GetThread(line.tid);
  if (!line.comm.empty() && line.comm != "<...>") {
    threads.NameThread(utid, strings.Intern(line.comm), NameSource::kFtrace);
  }
  if (line.name == "kernel_stack") {
    Stack(context, line_end);
    return;
  }
  const auto [known, is_new] = types_.try_emplace(line.name, nullptr);
  if (is_new) known->second = FindByName(line.name);
  const tracefile::EventType* type = known->second;
  if (raw != nullptr) Raw(*raw, context, utid, line, type);
  if (type == nullptr) {
    importer_.sched().Seen(line.cpu, line.ts);
    return;
  }
  if (type->field_id == tracefile::FtraceEvent::kSchedSwitch) {
    SwitchText text;
    if (!ReadSwitch(line.arguments, text)) {
      importer_.stats().Add("ftrace_text_lines_skipped");
      return;
    }
    ++sched_events_;
    const auto name = [&](std::string_view comm) {
      return comm == "<...>" ? kNoString : strings.Intern(comm);
    };
    importer_.Switch({.cpu = line.cpu,
                      .ts = line.ts,
                      .prev_tid = text.prev_tid,
                      .prev_comm = name(text.prev_comm),
                      .prev_state = ParseState(text.prev_state),
                      .next_tid = text.next_tid,
                      .next_comm = name(text.next_comm),
                      .next_prio = text.next_prio});
    return;
  }
  if (type->field_id == tracefile::FtraceEvent::kSchedWaking) ++sched_events_;
  ReadArguments(*type, line.arguments, fields_);
  importer_.Typed(context, type->field_id, fields_);
}

}  // namespace culprit::load::ftrace_text
