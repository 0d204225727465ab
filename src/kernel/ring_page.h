// Decoder of one sub-buffer of the kernel's ring buffer, as trace_pipe_raw gives it: the records in
// it with their times. What a record means is for format.h; a page of the other byte order is not
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "kernel/format.h"

namespace culprit::kernel {

// Why a page, or the rest of one, could not be read.
enum class PageFault : std::uint8_t {
  kNone,
  kShortPage,       // shorter than its header
  kCommitTooLarge,  // says that it holds more than its size
  kShortHeader,     // ends inside the header of a record
  kBadLength,       // a record's length is zero or goes past the end
  kUnknownType,     // a type_len that this layout does not have
};
std::string_view PageFaultText(PageFault fault);

struct RingRecord {
  std::uint64_t timestamp_ns = 0;  // on the instance's trace_clock
  std::span<const std::byte> data;
};

// Page:    | timestamp u64 | commit long | records ... | [count of lost events, long] | zeros |
// Record:  | type_len:5 time_delta:27 | [u32] | data |
//   type_len  1..28  data of type_len * 4 bytes
//             0      the u32 is 4 + the length of the data
//             29     padding: a discarded record of u32 bytes; with time_delta 0 the page ends here
//             30     time_delta |= u32 << 27, for the records that follow
//             31     as 30, but the sum is the time itself (59 bits), not a difference
class RingPage {
 public:
  RingPage(std::span<const std::byte> page, const PageLayout& layout, const RecordLayout& record);

  // The next record; false at the end and at a fault. Takes at most one step per four bytes, so it
  // ends on any input.
  bool Next(RingRecord& out) {
    while (at_ + 4 <= end_) {
      const std::uint32_t word = Word(at_);
      const std::uint32_t type = word & type_mask_;
      const std::uint64_t delta = word >> type_bits_;
      if (type != 0 && type <= data_max_type_) {
        const std::size_t size = std::size_t{type} * 4;
        if (size > end_ - at_ - 4) return Fail(PageFault::kBadLength);
        time_ns_ += delta;
        out = {time_ns_, {base_ + at_ + 4, size}};
        at_ += 4 + size;
        return true;
      }
      if (!Special(type, delta, out)) return false;
      if (have_record_) {
        have_record_ = false;
        return true;
      }
    }
    if (at_ < end_) Fail(PageFault::kShortHeader);
    return false;
  }

  PageFault fault() const { return fault_; }
  // Time of the page's start, not after its first record.
  std::uint64_t start_ns() const { return start_ns_; }
  // Events were lost between the page before and this one; how many, when the kernel could say.
  bool has_lost() const { return has_lost_; }
  std::optional<std::uint64_t> lost_count() const { return lost_count_; }

 private:
  std::uint32_t Word(std::size_t at) const {
    std::uint32_t word;
    std::memcpy(&word, base_ + at, sizeof(word));
    return word;
  }
  bool Fail(PageFault fault) {
    fault_ = fault;
    at_ = end_;
    return false;
  }
  // Everything but small data records; sets have_record_ for a large one.
  bool Special(std::uint32_t type, std::uint64_t delta, RingRecord& out);

  const std::byte* base_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t time_ns_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint32_t type_mask_;
  std::uint32_t type_bits_;
  std::uint32_t data_max_type_;
  RecordLayout record_;
  PageFault fault_ = PageFault::kNone;
  bool have_record_ = false;
  bool has_lost_ = false;
  std::optional<std::uint64_t> lost_count_;
};

}  // namespace culprit::kernel
