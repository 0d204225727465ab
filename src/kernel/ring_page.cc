#include "kernel/ring_page.h"

#include "base/bytes.h"

namespace culprit::kernel {
namespace {

// Flags that the kernel sets above the length in a page's commit (ring_buffer.c: RB_MISSED_EVENTS,
// RB_MISSED_STORED). The length itself never needs more than 27 bits.
constexpr std::uint64_t kMissedEvents = 1ULL << 31;
constexpr std::uint64_t kMissedStored = 1ULL << 30;
constexpr std::uint64_t kCommitMask = (1ULL << 27) - 1;

// An absolute time stamp has 59 bits.
constexpr unsigned kStampBits = 59;
constexpr std::uint64_t kStampHighBits = ~((1ULL << kStampBits) - 1);

// The whole time behind the 59 bits of an absolute stamp: the bits above are those of the time
// before, one higher when the 59 bits have wrapped since.
std::uint64_t WholeStamp(std::uint64_t stamp, std::uint64_t before) {
  if ((before & kStampHighBits) == 0) return stamp;
  stamp |= before & kStampHighBits;
  return stamp < before ? stamp + (1ULL << kStampBits) : stamp;
}

}  // namespace

std::string_view PageFaultText(PageFault fault) {
  switch (fault) {
    case PageFault::kNone:
      return "none";
    case PageFault::kShortPage:
      return "page shorter than its header";
    case PageFault::kCommitTooLarge:
      return "page says it holds more than its size";
    case PageFault::kShortHeader:
      return "page ends inside the header of a record";
    case PageFault::kBadLength:
      return "length of a record is wrong";
    case PageFault::kUnknownType:
      return "record of an unknown type";
  }
  return "unknown";
}

RingPage::RingPage(std::span<const std::byte> page, const PageLayout& layout,
                   const RecordLayout& record)
    : base_(page.data()),
      type_mask_((1U << record.type_len_bits) - 1),
      type_bits_(record.type_len_bits),
      data_max_type_(record.data_max_type_len),
      record_(record) {
  const std::size_t header = layout.data_offset;
  if (page.size() < header || layout.timestamp_offset + 8 > header ||
      layout.commit_offset + layout.commit_bytes > header) {
    fault_ = PageFault::kShortPage;
    return;
  }
  start_ns_ = static_cast<std::uint64_t>(ReadIntegerAt(page, layout.timestamp_offset, 8, false));
  time_ns_ = start_ns_;
  const auto commit = static_cast<std::uint64_t>(
      ReadIntegerAt(page, layout.commit_offset, layout.commit_bytes, false));
  const std::uint64_t length = commit & kCommitMask;
  if (length > page.size() - header) {
    fault_ = PageFault::kCommitTooLarge;
    return;
  }
  at_ = header;
  end_ = header + length;
  has_lost_ = (commit & kMissedEvents) != 0;
  if (has_lost_ && (commit & kMissedStored) != 0 && page.size() - end_ >= layout.commit_bytes) {
    lost_count_ = static_cast<std::uint64_t>(ReadIntegerAt(page, end_, layout.commit_bytes, false));
  }
}

bool RingPage::Special(std::uint32_t type, std::uint64_t delta, RingRecord& out) {
  if (type == record_.padding_type && delta == 0) {
    at_ = end_;
    return false;
  }
  if (end_ - at_ < 8) return Fail(PageFault::kShortHeader);
  const std::uint32_t array = Word(at_ + 4);
  if (type == 0) {
    // Records are whole words, and the length counts its own.
    if (array < 4 || array > end_ - at_ - 4) return Fail(PageFault::kBadLength);
    time_ns_ += delta;
    out = {time_ns_, {base_ + at_ + 8, array - 4}};
    at_ += 4 + ((std::size_t{array} + 3) & ~std::size_t{3});
    if (at_ > end_) at_ = end_;
    have_record_ = true;
    return true;
  }
  const unsigned delta_bits = 32 - type_bits_;
  if (type == record_.time_extend_type) {
    time_ns_ += delta + (std::uint64_t{array} << delta_bits);
    at_ += 8;
    return true;
  }
  if (type == record_.time_stamp_type) {
    time_ns_ = WholeStamp(delta + (std::uint64_t{array} << delta_bits), time_ns_);
    at_ += 8;
    return true;
  }
  if (type == record_.padding_type) {
    // A record that was discarded after later ones had been written: its time counts.
    if (array < 4 || array > end_ - at_ - 4) return Fail(PageFault::kBadLength);
    time_ns_ += delta;
    at_ += 4 + std::size_t{array};
    return true;
  }
  return Fail(PageFault::kUnknownType);
}

}  // namespace culprit::kernel
