// Writes the fields of one ring-buffer record into a message of the trace format, by a plan.
// Places outside the record are never read; they make the field absent and the result false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "capture/encode_interner.h"
#include "capture/encode_plan.h"
#include "tracefile/wire.h"

namespace culprit::capture {

// The fields of a kTyped event, as its own message. False when a field did not lie in the record.
bool EncodeTypedFields(const EncodePlan& plan, const EventPlan& event,
                       std::span<const std::byte> record, Interner& interner,
                       tracefile::WireBuffer& out);

// The GenericFtraceEvent of a kGeneric event. An array becomes a field an element ("args[0]"),
// bytes become hexadecimal text ("7f 00 00 01").
bool EncodeGenericFields(const EncodePlan& plan, const EventPlan& event,
                         std::span<const std::byte> record, tracefile::WireBuffer& out);

// The kernel's dev_t (12 bits major, 20 bits minor) in the numbering of stat(2).
constexpr std::uint64_t UserDevice(std::uint64_t kernel_dev) {
  const std::uint64_t major = kernel_dev >> 20;
  const std::uint64_t minor = kernel_dev & 0xfffff;
  return (major & ~0xfffULL) << 32 | (major & 0xfff) << 8 | (minor & ~0xffULL) << 12 |
         (minor & 0xff);
}

}  // namespace culprit::capture
