#include "load/raw_writer.h"

#include <algorithm>

#include "load/table_writers.h"
#include "tables/appender.h"
#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tables::ArgType;
using tracefile::FieldType;
using tracefile::ProtoReader;

// Sets of arguments share one number space; those of ftrace events begin here.
constexpr std::uint32_t kFirstArgSet = 1U << 30;
constexpr std::uint32_t kSchedSwitch = tracefile::FtraceEvent::kSchedSwitch;
constexpr std::uint32_t kSchedWaking = tracefile::FtraceEvent::kSchedWaking;

// Elements of an array field, "args[0]" ...; no event has more.
constexpr std::size_t kMostRepeated = 16;
bool IsGenericNumber(std::uint32_t field) { return field >= 65536; }

}  // namespace

std::string IndexedKey(std::string_view name, std::size_t index) {
  return std::string(name) + '[' + std::to_string(index) + ']';
}

GenericType ReadGenericType(std::string_view descriptor) {
  // DescriptorProto: name 1, field 2 {name 1, number 3, type 5}.
  GenericType type;
  ProtoReader part(descriptor);
  while (part.Next()) {
    if (part.id() == 1) type.name = part.bytes();
    if (part.id() != 2) continue;
    std::string name;
    std::uint32_t number = 0;
    std::uint32_t kind = 0;
    ProtoReader field(part.bytes());
    while (field.Next()) {
      if (field.id() == 1) name = field.bytes();
      if (field.id() == 3) number = field.u32();
      if (field.id() == 5) kind = field.u32();
    }
    type.fields[number] = {name, kind};
  }
  return type;
}

void RawNames::AddType(const tracefile::EventType& type) {
  AddEvent(type.name);
  for (const tracefile::EventField& field : type.fields) {
    if (!field.repeated) AddKey(field.name);
    for (std::size_t i = 0; field.repeated && i < kMostRepeated; ++i) {
      AddKey(IndexedKey(field.name, i));
    }
  }
}

void RawNames::AddGeneric(std::string_view body) {
  namespace Event = tracefile::GenericFtraceEvent;
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() == Event::kEventName) AddEvent(field.bytes());
    if (field.id() != Event::kField) continue;
    ProtoReader part(field.bytes());
    while (part.Next()) {
      if (part.id() == Event::Field::kName) AddKey(part.bytes());
    }
  }
}

void RawNames::AddBundles(const TraceIndex& index) {
  std::set<std::uint32_t> seen = {kSchedSwitch, kSchedWaking};
  for (const CpuIndex& cpu : index.cpus) {
    for (const BundleRef& bundle : cpu.bundles) {
      ProtoReader part(bundle.body);
      while (part.Next()) {
        if (part.id() != tracefile::FtraceEventBundle::kEvent) continue;
        ProtoReader field(part.bytes());
        while (field.Next()) {
          if (!field.is_bytes()) continue;
          if (field.id() == tracefile::FtraceEvent::kGeneric) AddGeneric(field.bytes());
          seen.insert(field.id());
          break;
        }
      }
    }
  }
  for (const std::uint32_t field : seen) {
    if (const auto* type = tracefile::FindEventType(field); type != nullptr) AddType(*type);
    if (const auto found = index.generic_events.find(field); found != index.generic_events.end()) {
      const GenericType type = ReadGenericType(found->second);
      AddEvent(type.name);
      for (const auto& [number, named] : type.fields) AddKey(named.first);
    }
  }
}

RawWriter::RawWriter(AppendPool& pool, StringPool& strings, const RawNames& names)
    : strings_(strings),
      events_(names.events()),
      keys_(names.keys()),
      event_sink_(pool, "__intrinsic_ftrace_event",
                  [](const auto& block, auto& out) { return WriteBlock(block, out); }),
      arg_sink_(
          pool, "__intrinsic_ftrace_args",
          [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
      event_rows_(&event_sink_),
      arg_rows_(&arg_sink_) {}

std::uint32_t RawWriter::IndexOf(const std::vector<std::string>& sorted,
                                 std::unordered_map<std::string_view, std::uint32_t>& cache,
                                 std::string_view name) {
  const auto known = cache.find(name);
  if (known != cache.end()) return known->second;
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), name);
  if (found == sorted.end() || *found != name) return kNone;
  const auto index = static_cast<std::uint32_t>(found - sorted.begin());
  cache[*found] = index;
  return index;
}

void RawWriter::Event(const EventContext& context, Utid utid, std::string_view name) {
  const std::uint32_t index = IndexOf(events_, event_index_, name);
  if (index == kNone) return;
  arg_set_ = kFirstArgSet + event_rows_.next_id();
  event_rows_.Append({.id = 0,
                      .cpu = context.cpu,
                      .ts = context.ts,
                      .name = index,
                      .utid = utid,
                      .common_flags = context.has_common_flags ? context.common_flags : kNone,
                      .arg_set_id = arg_set_});
}

void RawWriter::Int(std::string_view key, std::int64_t value, ArgType type) {
  const std::uint32_t index = IndexOf(keys_, key_index_, key);
  if (index == kNone) return;
  arg_rows_.Append({.id = 0,
                    .arg_set_id = arg_set_,
                    .value = value,
                    .text = kNoString,
                    .key = index,
                    .type = type});
}

void RawWriter::Text(std::string_view key, std::string_view value) {
  const std::uint32_t index = IndexOf(keys_, key_index_, key);
  if (index == kNone) return;
  arg_rows_.Append({.id = 0,
                    .arg_set_id = arg_set_,
                    .value = 0,
                    .text = strings_.Intern(value),
                    .key = index,
                    .type = ArgType::kString});
}

void RawWriter::Generic(const EventContext& context, Utid utid, std::string_view body) {
  namespace Event = tracefile::GenericFtraceEvent;
  ProtoReader name(body);
  while (name.Next()) {
    if (name.id() == Event::kEventName) this->Event(context, utid, name.bytes());
  }
  ProtoReader field(body);
  while (field.Next()) {
    if (field.id() != Event::kField) continue;
    std::string_view key;
    ProtoReader part(field.bytes());
    while (part.Next()) {
      switch (part.id()) {
        case Event::Field::kName:
          key = part.bytes();
          break;
        case Event::Field::kStrValue:
          Text(key, part.bytes());
          break;
        case Event::Field::kIntValue:
        case Event::Field::kUintValue:
          Int(key, part.i64());
          break;
        default:
          break;
      }
    }
  }
}

void RawWriter::Payload(const EventContext& context, Utid utid, std::uint32_t field,
                        std::string_view body, const TraceIndex& index) {
  if (field == tracefile::FtraceEvent::kGeneric) {
    Generic(context, utid, body);
    return;
  }
  ProtoReader part(body);
  if (IsGenericNumber(field)) {
    const auto [type, is_new] = generic_.try_emplace(field);
    if (is_new) {
      const auto found = index.generic_events.find(field);
      if (found != index.generic_events.end()) type->second = ReadGenericType(found->second);
    }
    if (type->second.name.empty()) return;
    Event(context, utid, type->second.name);
    constexpr std::uint32_t kTypeInt64 = 3;
    constexpr std::uint32_t kTypeInt32 = 5;
    while (part.Next()) {
      const auto named = type->second.fields.find(part.id());
      if (named == type->second.fields.end()) continue;
      const auto& [key, kind] = named->second;
      if (part.is_bytes()) {
        Text(key, part.bytes());
      } else {
        Int(key, part.i64(),
            kind == kTypeInt64 || kind == kTypeInt32 ? ArgType::kInt : ArgType::kUint);
      }
    }
    return;
  }
  const tracefile::EventType* type = tracefile::FindEventType(field);
  if (type == nullptr) return;
  Event(context, utid, type->name);
  std::size_t repeated = 0;
  while (part.Next()) {
    const tracefile::EventField* known = type->FindField(part.id());
    if (known == nullptr) continue;
    if (known->repeated && !part.is_bytes()) {
      Int(IndexedKey(known->name, repeated++), part.i64(), ArgType::kUint);
      continue;
    }
    if (known->type == FieldType::kString || known->type == FieldType::kBytes) {
      Text(known->name, part.bytes());
      continue;
    }
    if (context.interned != nullptr && known->is_function) {
      const auto symbol = context.interned->kernel_symbols.find(part.u64());
      if (symbol != context.interned->kernel_symbols.end()) {
        Text(known->name, symbol->second);
        continue;
      }
    }
    const bool is_signed = known->type == FieldType::kInt32 || known->type == FieldType::kInt64;
    Int(known->name, part.i64(), is_signed ? ArgType::kInt : ArgType::kUint);
  }
}

void RawWriter::CompactSwitch(const EventContext& context, const SchedTracker& sched,
                              std::string_view prev_comm, const load::Event& event) {
  if (sched.previous_utid() == kNone) return;  // who went is not known
  Event(context, sched.previous_utid(), "sched_switch");
  Text("prev_comm", prev_comm);
  Int("prev_pid", sched.previous_tid());
  Int("prev_prio", sched.previous_prio());
  Int("prev_state", event.prev_state);
  Text("next_comm", strings_.Text(event.comm));
  Int("next_pid", event.tid);
  Int("next_prio", event.prio);
}

void RawWriter::CompactWaking(const EventContext& context, Utid waker, const load::Event& event) {
  if (waker == kNone) return;
  Event(context, waker, "sched_waking");
  Text("comm", strings_.Text(event.comm));
  Int("pid", event.tid);
  Int("prio", event.prio);
  Int("target_cpu", event.target_cpu);
}

void RawWriter::Finish() {
  event_rows_.Finish();
  arg_rows_.Finish();
  event_sink_.Finish();
  arg_sink_.Finish();
}

}  // namespace culprit::load
