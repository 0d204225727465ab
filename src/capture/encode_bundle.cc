#include "capture/encode_bundle.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "capture/encode_fields.h"
#include "tracefile/fields.h"
#include "tracefile/writer.h"

namespace culprit::capture {
namespace {

namespace tf = tracefile;
namespace Compact = tf::FtraceEventBundle::CompactSched;
using tf::WireBuffer;

// More stack entries than any kernel records.
constexpr std::size_t kMostStackEntries = 256;

std::int32_t Int32At(const std::byte* record, const EventPlan::Column& column) {
  std::int32_t value;
  std::memcpy(&value, record + column.offset, sizeof(value));
  return value;
}

// A negative number takes ten bytes on the wire, as int32 and int64 fields are sign-extended.
std::uint64_t Extend(std::int32_t value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

// Zeroes the bytes of a word behind its first zero byte; true when there is one. Little-endian, as
// the pages are.
bool CutAtNul(std::uint64_t& word) {
  const std::uint64_t zeros = (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;
  if (zeros == 0) return false;
  word &= (zeros & -zeros) - 1;
  return true;
}

void PutColumn(WireBuffer& out, std::uint32_t field, const WireBuffer& column) {
  if (!column.empty()) out.BytesField(field, column.view());
}

}  // namespace

void CommInterner::Clear() {
  names_.clear();
  slots_.assign(256, 0);
}

std::string_view CommInterner::name(std::size_t index) const {
  const char* text = reinterpret_cast<const char*>(&names_[index]);
  return {text, ::strnlen(text, sizeof(Name))};
}

std::uint32_t CommInterner::Intern(const std::byte* comm) {
  Name name;
  std::memcpy(&name, comm, sizeof(name));
  // What stands behind the NUL is left from earlier names of the task.
  if (CutAtNul(name.low)) {
    name.high = 0;
  } else {
    CutAtNul(name.high);
  }
  return Insert(name);
}

std::uint32_t CommInterner::Insert(const Name& name) {
  std::uint64_t hash = (name.low ^ (name.high * 0x9e3779b97f4a7c15ULL)) * 0xff51afd7ed558ccdULL;
  hash ^= hash >> 32;
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (names_[slots_[slot] - 1] == name) return slots_[slot] - 1;
  }
  if (names_.size() * 2 >= slots_.size()) {
    std::vector<Name> names;
    names.swap(names_);
    slots_.assign(slots_.size() * 4, 0);
    for (const Name& old : names) Insert(old);
    return Insert(name);
  }
  names_.push_back(name);
  slots_[slot] = static_cast<std::uint32_t>(names_.size());
  return slots_[slot] - 1;
}

void BundleWriter::AddSwitch(const EventPlan& event, std::uint64_t time_ns,
                             const std::byte* record) {
  std::uint64_t prev_state;
  if (event.prev_state.size == 8) {
    std::memcpy(&prev_state, record + event.prev_state.offset, sizeof(prev_state));
  } else {
    prev_state = Extend(Int32At(record, event.prev_state));
  }
  switches_.timestamp.Varint(time_ns - last_switch_ns_);
  last_switch_ns_ = time_ns;
  switches_.prev_state.Varint(prev_state);
  switches_.next_pid.Varint(Extend(Int32At(record, event.pid)));
  switches_.next_prio.Varint(Extend(Int32At(record, event.prio)));
  switches_.next_comm.Varint(comms_.Intern(record + event.comm.offset));
  ++compact_count_;
}

void BundleWriter::AddWaking(const EventPlan& event, std::uint64_t time_ns,
                             const std::byte* record) {
  wakings_.timestamp.Varint(time_ns - last_waking_ns_);
  last_waking_ns_ = time_ns;
  wakings_.pid.Varint(Extend(Int32At(record, event.pid)));
  wakings_.target_cpu.Varint(Extend(Int32At(record, event.target_cpu)));
  wakings_.prio.Varint(Extend(Int32At(record, event.prio)));
  wakings_.comm.Varint(comms_.Intern(record + event.comm.offset));
  wakings_.common_flags.Varint(static_cast<std::uint8_t>(record[plan_.flags_offset()]));
  ++compact_count_;
}

// bundle.event { timestamp, pid, FIELD_ID { body } }, written in one piece: all lengths are known.
// common_flags has a number in the format but no reader: viewers take it for an event.
void BundleWriter::AddMessage(std::uint64_t time_ns, std::span<const std::byte> record,
                              std::uint32_t field_id, std::string_view body) {
  std::int32_t signed_pid;
  std::memcpy(&signed_pid, record.data() + plan_.pid_offset(), sizeof(signed_pid));
  const auto pid = static_cast<std::uint32_t>(signed_pid);
  const std::uint32_t key = tf::LengthKey(field_id);
  const std::size_t size = 1 + tf::VarintBytes(time_ns) + 1 + tf::VarintBytes(pid) +
                           tf::VarintBytes(key) + tf::VarintBytes(body.size()) + body.size();
  char* at = events_.Reserve(6 * tf::kLongestVarint + size);
  at = tf::PutVarint(at, tf::LengthKey(tf::FtraceEventBundle::kEvent));
  at = tf::PutVarint(at, size);
  at = tf::PutVarint(at, tf::VarintKey(tf::FtraceEvent::kTimestamp));
  at = tf::PutVarint(at, time_ns);
  at = tf::PutVarint(at, tf::VarintKey(tf::FtraceEvent::kPid));
  at = tf::PutVarint(at, pid);
  at = tf::PutVarint(at, key);
  at = tf::PutVarint(at, body.size());
  if (!body.empty()) std::memcpy(at, body.data(), body.size());
  events_.Commit(at + body.size());
}

// A generic event "kernel_stack" with one field, callstack_iid. It belongs to the event of the same
// thread right before it on this CPU.
bool BundleWriter::AddStack(const EventPlan& event, std::uint64_t time_ns,
                            std::span<const std::byte> record) {
  const std::size_t entry_bytes = event.stack.size;
  const std::size_t room = (record.size() - event.stack.offset) / entry_bytes;
  const std::int64_t declared =
      ReadIntegerAt(record, event.stack_size.offset, event.stack_size.size, true);
  const std::size_t count =
      declared > 0 ? std::min({static_cast<std::size_t>(declared), room, kMostStackEntries})
                   : std::min(room, kMostStackEntries);
  addresses_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto address = static_cast<std::uint64_t>(
        ReadIntegerAt(record, event.stack.offset + i * entry_bytes, entry_bytes, false));
    // Older kernels end the list with ULONG_MAX.
    if (address == 0 || address == ~0ULL || (entry_bytes == 4 && address == 0xffffffff)) break;
    addresses_.push_back(address);
  }
  if (addresses_.empty()) return false;
  const std::uint64_t iid = interner_.Stack(addresses_);
  ++stacks_;
  namespace Generic = tf::GenericFtraceEvent;
  constexpr std::string_view kFieldName = "callstack_iid";
  body_.Clear();
  body_.BytesField(Generic::kEventName, "kernel_stack");
  body_.Varint(tf::LengthKey(Generic::kField));
  body_.Varint(2 + kFieldName.size() + 1 + tf::VarintBytes(iid));
  body_.BytesField(Generic::Field::kName, kFieldName);
  body_.VarintField(Generic::Field::kUintValue, iid);
  AddMessage(time_ns, record, tf::FtraceEvent::kGeneric, body_.view());
  return true;
}

bool BundleWriter::Add(const EventPlan& event, std::uint64_t time_ns,
                       std::span<const std::byte> record) {
  if (event_count_++ == 0) first_ns_ = time_ns;
  last_ns_ = time_ns;
  bool is_whole = true;
  switch (event.mode) {
    case EventMode::kCompactSwitch:
      AddSwitch(event, time_ns, record.data());
      break;
    case EventMode::kCompactWaking:
      AddWaking(event, time_ns, record.data());
      break;
    case EventMode::kTyped:
      body_.Clear();
      is_whole = EncodeTypedFields(plan_, event, record, interner_, body_);
      AddMessage(time_ns, record, event.field_id, body_.view());
      break;
    case EventMode::kGeneric:
      body_.Clear();
      is_whole = EncodeGenericFields(plan_, event, record, body_);
      AddMessage(time_ns, record, tf::FtraceEvent::kGeneric, body_.view());
      break;
    case EventMode::kKernelStack:
      is_whole = AddStack(event, time_ns, record);
      break;
  }
  return is_whole;
}

void BundleWriter::AddError(std::uint64_t time_ns, std::uint32_t status) {
  if (empty()) first_ns_ = last_ns_ = time_ns;
  body_.Clear();
  body_.VarintField(tf::FtraceEventBundle::FtraceError::kTimestamp, time_ns);
  body_.VarintField(tf::FtraceEventBundle::FtraceError::kStatus, status);
  errors_.BytesField(tf::FtraceEventBundle::kError, body_.view());
}

void BundleWriter::WriteCompact(WireBuffer& out) {
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    out.BytesField(Compact::kInternTable, comms_.name(i));
  }
  PutColumn(out, Compact::kSwitchTimestamp, switches_.timestamp);
  PutColumn(out, Compact::kSwitchPrevState, switches_.prev_state);
  PutColumn(out, Compact::kSwitchNextPid, switches_.next_pid);
  PutColumn(out, Compact::kSwitchNextPrio, switches_.next_prio);
  PutColumn(out, Compact::kSwitchNextCommIndex, switches_.next_comm);
  PutColumn(out, Compact::kWakingTimestamp, wakings_.timestamp);
  PutColumn(out, Compact::kWakingPid, wakings_.pid);
  PutColumn(out, Compact::kWakingTargetCpu, wakings_.target_cpu);
  PutColumn(out, Compact::kWakingPrio, wakings_.prio);
  PutColumn(out, Compact::kWakingCommIndex, wakings_.comm);
  PutColumn(out, Compact::kWakingCommonFlags, wakings_.common_flags);
}

void BundleWriter::Finish(std::string& out) {
  bundle_.Clear();
  bundle_.VarintField(tf::FtraceEventBundle::kCpu, static_cast<std::uint64_t>(cpu_));
  if (lost_events_) bundle_.VarintField(tf::FtraceEventBundle::kLostEvents, 1);
  if (ftrace_clock_ != 0) bundle_.VarintField(tf::FtraceEventBundle::kFtraceClock, ftrace_clock_);
  if (compact_count_ != 0) {
    compact_.Clear();
    WriteCompact(compact_);
    bundle_.BytesField(tf::FtraceEventBundle::kCompactSched, compact_.view());
  }
  bundle_.Append(events_.view());
  bundle_.Append(errors_.view());

  packet_.Clear();
  packet_.VarintField(tf::TracePacket::kTrustedUid, 0);
  packet_.VarintField(tf::TracePacket::kTrustedPacketSequenceId,
                      tf::Sequence::kFtraceBase + static_cast<std::uint32_t>(cpu_));
  if (!interner_.empty()) {
    // The names of this bundle replace those of the one before.
    packet_.VarintField(
        tf::TracePacket::kSequenceFlags,
        tf::SequenceFlags::kIncrementalStateCleared | tf::SequenceFlags::kNeedsIncrementalState);
    packet_.BytesField(tf::TracePacket::kInternedData, interner_.data());
  }
  packet_.BytesField(tf::TracePacket::kFtraceEvents, bundle_.view());
  tf::AppendFrame(out, packet_.view());

  for (WireBuffer* column :
       {&switches_.timestamp, &switches_.prev_state, &switches_.next_pid, &switches_.next_prio,
        &switches_.next_comm, &wakings_.timestamp, &wakings_.pid, &wakings_.target_cpu,
        &wakings_.prio, &wakings_.comm, &wakings_.common_flags, &events_, &errors_}) {
    column->Clear();
  }
  interner_.Clear();
  if (compact_count_ != 0) comms_.Clear();
  last_switch_ns_ = last_waking_ns_ = 0;
  event_count_ = compact_count_ = 0;
  lost_events_ = false;
}

}  // namespace culprit::capture
