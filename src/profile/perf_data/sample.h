// The fields of a sample and the id behind other records, by what the event's sample_type says.
// Branch stacks and raw data are stepped over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/perf_data/header.h"

namespace culprit::profile::perf_data {

struct SampleFields {
  std::uint64_t ip = 0;
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::uint64_t time_ns = 0;
  std::int32_t cpu = -1;
  std::optional<std::uint64_t> id;
  std::uint64_t period = 0;
  // Values of a group (id, count), when the event reads its group.
  struct GroupValue {
    std::uint64_t id = 0;
    std::uint64_t value = 0;
  };
  std::vector<GroupValue> group;
  std::span<const std::byte> callchain;  // of 8 bytes each
  bool has_callchain = false;
  // Of --call-graph dwarf: registers of user code, and the copy of its stack from the stack pointer
  // on; both empty when the sample has none (a kernel thread).
  std::span<const std::byte> registers;
  std::span<const std::byte> stack;
};

// False when the record is shorter than its fields.
bool ParseSample(std::span<const std::byte> body, const Event& event, SampleFields& fields);

// Where samples have their id: bytes from the start of the body; nothing without one.
std::optional<std::size_t> SampleIdOffset(const Event& event);

// The trailer of a record that is no sample: its time and id; both zero when there is none.
struct RecordId {
  std::uint64_t time_ns = 0;
  std::optional<std::uint64_t> id;
};
RecordId ParseRecordId(std::span<const std::byte> body, const Event& event);

}  // namespace culprit::profile::perf_data
