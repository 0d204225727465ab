#include "profile/perf_data/sample.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace culprit::profile::perf_data {
namespace {

// Bits of perf_event_attr::read_format.
enum ReadBit : std::uint64_t {
  kTotalEnabled = 1,
  kTotalRunning = 2,
  kReadId = 4,
  kGroup = 8,
  kLost = 16
};

// Before the id of a sample, in this order.
constexpr std::uint64_t kBeforeId = kIp | kTid | kTime | kAddr;

void ReadValues(ByteReader& reader, std::uint64_t format, SampleFields& fields) {
  const auto fields_of_value =
      static_cast<std::uint64_t>(1 + std::popcount(format & (kReadId | kLost)));
  if ((format & kGroup) == 0) {
    reader.Skip(8 * (fields_of_value + static_cast<unsigned>(std::popcount(
                                           format & (kTotalEnabled | kTotalRunning)))));
    return;
  }
  const auto count = reader.Read<std::uint64_t>();
  reader.Skip(8U * static_cast<unsigned>(std::popcount(format & (kTotalEnabled | kTotalRunning))));
  if (count > reader.remaining() / 8) {
    reader.Skip(reader.remaining() + 1);  // marks it bad
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    SampleFields::GroupValue value;
    value.value = reader.Read<std::uint64_t>();
    if ((format & kReadId) != 0) value.id = reader.Read<std::uint64_t>();
    if ((format & kLost) != 0) reader.Skip(8);
    if ((format & kReadId) != 0) fields.group.push_back(value);
  }
}

void SkipBranchStack(ByteReader& reader, const Event& event) {
  constexpr std::uint64_t kHardwareIndex = 1U << 17U;
  constexpr std::uint64_t kCounters = 1U << 19U;
  constexpr std::uint64_t kEntryBytes = 24;
  const auto count = reader.Read<std::uint64_t>();
  if ((event.branch_sample_type & kHardwareIndex) != 0) reader.Skip(8);
  const std::uint64_t entry = kEntryBytes + ((event.branch_sample_type & kCounters) != 0 ? 8U : 0U);
  reader.Skip(count > reader.remaining() / entry ? reader.remaining() + 1 : count * entry);
}

void ReadUserState(ByteReader& reader, const Event& event, SampleFields& fields) {
  if ((event.sample_type & kRawData) != 0) reader.Skip(reader.Read<std::uint32_t>());
  if ((event.sample_type & kBranchStack) != 0) SkipBranchStack(reader, event);
  if ((event.sample_type & kRegistersUser) != 0) {
    constexpr std::uint64_t kAbi64 = 2;
    const auto abi = reader.Read<std::uint64_t>();
    if (abi != 0) {
      const auto bytes =
          reader.ReadBytes(8U * static_cast<std::size_t>(std::popcount(event.user_registers)));
      if (abi == kAbi64) fields.registers = bytes;
    }
  }
  if ((event.sample_type & kStackUser) == 0) return;
  const auto size = reader.Read<std::uint64_t>();
  if (size == 0) return;
  const auto bytes = reader.ReadBytes(size);
  const auto copied = reader.Read<std::uint64_t>();
  fields.stack = bytes.first(std::min<std::uint64_t>(copied, bytes.size()));
}

}  // namespace

std::optional<std::size_t> SampleIdOffset(const Event& event) {
  if ((event.sample_type & kIdentifier) != 0) return 0;
  if ((event.sample_type & kId) == 0) return std::nullopt;
  return 8U * static_cast<std::size_t>(std::popcount(event.sample_type & kBeforeId));
}

bool ParseSample(std::span<const std::byte> body, const Event& event, SampleFields& fields) {
  ByteReader reader(body);
  const std::uint64_t type = event.sample_type;
  fields.group.clear();
  fields.id.reset();
  fields.period = event.sample_period;
  fields.callchain = {};
  fields.registers = {};
  fields.stack = {};
  fields.has_callchain = (type & kCallchain) != 0;
  if ((type & kIdentifier) != 0) fields.id = reader.Read<std::uint64_t>();
  fields.ip = (type & kIp) != 0 ? reader.Read<std::uint64_t>() : 0;
  fields.pid = fields.tid = -1;
  if ((type & kTid) != 0) {
    fields.pid = reader.Read<std::int32_t>();
    fields.tid = reader.Read<std::int32_t>();
  }
  fields.time_ns = (type & kTime) != 0 ? reader.Read<std::uint64_t>() : 0;
  if ((type & kAddr) != 0) reader.Skip(8);
  if ((type & kId) != 0) fields.id = reader.Read<std::uint64_t>();
  if ((type & kStreamId) != 0) reader.Skip(8);
  fields.cpu = -1;
  if ((type & kCpu) != 0) {
    fields.cpu = reader.Read<std::int32_t>();
    reader.Skip(4);
  }
  if ((type & kPeriod) != 0) fields.period = reader.Read<std::uint64_t>();
  if ((type & kRead) != 0) ReadValues(reader, event.read_format, fields);
  if (fields.has_callchain) {
    const auto count = reader.Read<std::uint64_t>();
    if (count > reader.remaining() / 8) return false;
    fields.callchain = reader.ReadBytes(count * 8);
  }
  if ((type & (kRegistersUser | kStackUser)) != 0) ReadUserState(reader, event, fields);
  return reader.ok();
}

RecordId ParseRecordId(std::span<const std::byte> body, const Event& event) {
  RecordId out;
  if (!event.sample_id_all) return out;
  // From the end: IDENTIFIER, CPU, STREAM_ID, ID, TIME, TID.
  std::size_t end = body.size();
  const auto take = [&](std::uint64_t bit) -> std::optional<std::uint64_t> {
    if ((event.sample_type & bit) == 0 || end < 8) return std::nullopt;
    end -= 8;
    return static_cast<std::uint64_t>(ReadIntegerAt(body, end, 8, false));
  };
  out.id = take(kIdentifier);
  take(kCpu);
  take(kStreamId);
  if (const auto id = take(kId); id && !out.id) out.id = id;
  out.time_ns = take(kTime).value_or(0);
  return out;
}

}  // namespace culprit::profile::perf_data
