#include "load/event.h"

#include <algorithm>

#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tracefile::PackedVarints;
using tracefile::ProtoReader;
namespace Compact = tracefile::FtraceEventBundle::CompactSched;

constexpr std::int64_t kNever = INT64_MAX;

// Switches of a bundle, column by column, one event ahead.
class Switches {
 public:
  PackedVarints timestamp, prev_state, next_pid, next_prio, comm;

  bool Next(Event& event, std::size_t comm_count) {
    std::uint64_t ts, state, pid, prio, name;
    if (!timestamp.Next(ts) || !prev_state.Next(state) || !next_pid.Next(pid) ||
        !next_prio.Next(prio) || !comm.Next(name) || name >= comm_count) {
      return false;
    }
    at_ += ts;
    event.ts = static_cast<std::int64_t>(at_);
    event.tid = static_cast<std::int32_t>(pid);
    event.kind = EventKind::kSwitch;
    event.common_flags = 0;
    event.field = 0;
    event.comm = static_cast<StringId>(name);
    event.prio = static_cast<std::int32_t>(prio);
    event.prev_state = static_cast<std::int32_t>(state);
    event.target_cpu = 0;
    return true;
  }
  bool is_whole() const {
    return timestamp.at_end() && prev_state.at_end() && next_pid.at_end() && next_prio.at_end() &&
           comm.at_end() && timestamp.ok() && prev_state.ok() && next_pid.ok() && next_prio.ok() &&
           comm.ok();
  }

 private:
  std::uint64_t at_ = 0;
};

class Wakings {
 public:
  PackedVarints timestamp, pid, target_cpu, prio, comm, common_flags;

  bool Next(Event& event, std::size_t comm_count) {
    std::uint64_t ts, tid, cpu, priority, name;
    if (!timestamp.Next(ts) || !pid.Next(tid) || !target_cpu.Next(cpu) || !prio.Next(priority) ||
        !comm.Next(name) || name >= comm_count) {
      return false;
    }
    std::uint64_t flags = 0;
    has_flags_ = common_flags.Next(flags) || has_flags_;
    at_ += ts;
    event.ts = static_cast<std::int64_t>(at_);
    event.tid = static_cast<std::int32_t>(tid);
    event.kind = EventKind::kWaking;
    event.common_flags = static_cast<std::uint8_t>(flags);
    event.field = 0;
    event.comm = static_cast<StringId>(name);
    event.prio = static_cast<std::int32_t>(priority);
    event.prev_state = 0;
    event.target_cpu = static_cast<std::uint32_t>(cpu);
    return true;
  }
  bool is_whole() const {
    return timestamp.at_end() && pid.at_end() && target_cpu.at_end() && prio.at_end() &&
           comm.at_end() && timestamp.ok() && pid.ok() && target_cpu.ok() && prio.ok() && comm.ok();
  }

 private:
  std::uint64_t at_ = 0;
  bool has_flags_ = false;
};

enum class Decoded { kEvent, kDamaged, kNoPayload };

// A typed event: its time, its thread, and the first field that is a message.
Decoded DecodeTyped(std::string_view body, std::uint32_t interned, Event& event) {
  namespace FtraceEvent = tracefile::FtraceEvent;
  event.tid = 0;
  event.kind = EventKind::kTyped;
  event.common_flags = 0;
  event.field = 0;
  event.interned = interned;
  bool has_ts = false;
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case FtraceEvent::kTimestamp:
        event.ts = field.i64();
        has_ts = !field.is_bytes();
        break;
      case FtraceEvent::kPid:
        event.tid = field.i32();
        break;
      case FtraceEvent::kCommonFlags:
        event.common_flags = static_cast<std::uint8_t>(field.u32());
        break;
      default:
        if (!field.is_bytes() || event.field != 0 || field.id() > kLargestEventField) break;
        event.field = field.id() & kLargestEventField;
        event.data = field.bytes().data();
        event.size = static_cast<std::uint32_t>(field.bytes().size());
    }
  }
  if (!has_ts || (!field.ok() && event.field == 0)) return Decoded::kDamaged;
  return event.field == 0 ? Decoded::kNoPayload : Decoded::kEvent;
}

// The columns of the bundle's compact_sched.
void ReadColumns(std::string_view compact, Switches& switches, Wakings& wakings,
                 DecodedBundle& out) {
  ProtoReader column(compact);
  while (column.Next()) {
    const PackedVarints values(column.bytes());
    switch (column.id()) {
      case Compact::kInternTable:
        out.comms.push_back(column.bytes());
        break;
      case Compact::kSwitchTimestamp:
        switches.timestamp = values;
        break;
      case Compact::kSwitchPrevState:
        switches.prev_state = values;
        break;
      case Compact::kSwitchNextPid:
        switches.next_pid = values;
        break;
      case Compact::kSwitchNextPrio:
        switches.next_prio = values;
        break;
      case Compact::kSwitchNextCommIndex:
        switches.comm = values;
        break;
      case Compact::kWakingTimestamp:
        wakings.timestamp = values;
        break;
      case Compact::kWakingPid:
        wakings.pid = values;
        break;
      case Compact::kWakingTargetCpu:
        wakings.target_cpu = values;
        break;
      case Compact::kWakingPrio:
        wakings.prio = values;
        break;
      case Compact::kWakingCommIndex:
        wakings.comm = values;
        break;
      case Compact::kWakingCommonFlags:
        wakings.common_flags = values;
        break;
      default:
        break;
    }
  }
  if (!column.ok()) out.has_damaged_columns = true;
}

}  // namespace

void DecodeBundle(const BundleRef& bundle, const ClockMap& clocks, DecodedBundle& out) {
  namespace Bundle = tracefile::FtraceEventBundle;
  out.events.clear();
  out.comms.clear();
  out.damaged = 0;
  out.without_payload = 0;
  out.has_damaged_columns = false;

  auto run = clocks.RunOf(bundle.clock_id, bundle.sequence);
  if (!run.has_value()) return;
  Switches switches;
  Wakings wakings;
  ProtoReader field(bundle.body);
  while (field.Next()) {
    if (field.id() == Bundle::kCompactSched) ReadColumns(field.bytes(), switches, wakings, out);
  }

  // Three sorted lists become one; of equal times switches come first, then wakings.
  Event next_switch, next_waking, typed;
  const auto step_switch = [&] {
    if (switches.Next(next_switch, out.comms.size())) {
      next_switch.ts = run->Convert(next_switch.ts);
    } else {
      next_switch.ts = kNever;
    }
  };
  const auto step_waking = [&] {
    if (wakings.Next(next_waking, out.comms.size())) {
      next_waking.ts = run->Convert(next_waking.ts);
    } else {
      next_waking.ts = kNever;
    }
  };
  const auto columns_until = [&](std::int64_t ts) {
    while (next_switch.ts <= ts || next_waking.ts <= ts) {
      if (next_switch.ts <= next_waking.ts) {
        if (next_switch.ts == kNever) return;
        out.events.push_back(next_switch);
        step_switch();
      } else {
        out.events.push_back(next_waking);
        step_waking();
      }
    }
  };
  step_switch();
  step_waking();
  ProtoReader event(bundle.body);
  while (event.Next()) {
    if (event.id() != Bundle::kEvent) continue;
    switch (DecodeTyped(event.bytes(), bundle.interned, typed)) {
      case Decoded::kDamaged:
        ++out.damaged;
        continue;
      case Decoded::kNoPayload:
        ++out.without_payload;
        continue;
      case Decoded::kEvent:
        break;
    }
    typed.ts = run->Convert(typed.ts);
    columns_until(typed.ts);
    out.events.push_back(typed);
  }
  columns_until(kNever);
  out.has_damaged_columns = out.has_damaged_columns || !switches.is_whole() || !wakings.is_whole();
  const auto by_time = [](const Event& a, const Event& b) { return a.ts < b.ts; };
  if (!std::is_sorted(out.events.begin(), out.events.end(), by_time)) {
    std::stable_sort(out.events.begin(), out.events.end(), by_time);
  }
}

}  // namespace culprit::load
