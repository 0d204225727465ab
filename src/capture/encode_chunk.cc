#include "capture/encode_chunk.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kernel/ring_page.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace Status = tracefile::FtraceParseStatus;
using kernel::PageFault;

// A bundle ends at this size or length of time: small enough to be ordered among those of other
// CPUs, large enough that its head costs nothing.
constexpr std::size_t kBundleBytes = 64 * 1024;
constexpr std::uint64_t kBundleNs = 250'000'000;

constexpr std::size_t kMostSamples = 5;

constexpr std::string_view kMarkerEvent = "ftrace/print";

std::uint32_t StatusOf(PageFault fault) {
  switch (fault) {
    case PageFault::kShortPage:
      return Status::kPartialPageRead;
    case PageFault::kCommitTooLarge:
      return Status::kAbiInvalidPageHeader;
    case PageFault::kShortHeader:
      return Status::kAbiShortEventHeader;
    case PageFault::kBadLength:
      return Status::kAbiInvalidDataLength;
    default:
      return Status::kInvalidEvent;
  }
}

class ChunkEncoder {
 public:
  ChunkEncoder(const EncodePlan& plan, BundleWriter& bundle, const ChunkInput& input)
      : plan_(plan),
        cpu_(input.cpu),
        bundle_(bundle),
        only_markers_(input.is_markers),
        next_switch_is_full_(input.is_first) {
    bundle_.SetCpu(input.cpu);
    output_.stacks = bundle_.stacks();
    output_.counts.resize(plan.events().size());
  }

  void AddPage(std::span<const std::byte> bytes) {
    kernel::RingPage page(bytes, plan_.page(), plan_.record());
    // Markers that are missing say nothing of the CPU's switches.
    if (page.has_lost() && !only_markers_) BeginAfterGap(page);
    kernel::RingRecord record;
    while (page.Next(record)) AddRecord(record);
    if (page.fault() == PageFault::kNone) return;
    ++output_.bad_pages;
    Fail(StatusOf(page.fault()), output_.last_ns.value_or(page.start_ns()),
         std::string(kernel::PageFaultText(page.fault())));
  }

  ChunkOutput Finish() {
    EndBundle();
    output_.stacks = bundle_.stacks() - output_.stacks;
    return std::move(output_);
  }

 private:
  void EndBundle() {
    if (bundle_.empty()) return;
    EncodedBundle encoded;
    encoded.start_ns = bundle_.first_ns();
    bundle_.Finish(encoded.packet);
    output_.bundles.push_back(std::move(encoded));
  }

  // What comes after lost events starts a bundle of its own, which says so.
  void BeginAfterGap(const kernel::RingPage& page) {
    EndBundle();
    bundle_.SetLostEvents();
    next_switch_is_full_ = true;
    output_.gaps.push_back({output_.last_ns, page.start_ns(), page.lost_count()});
    gap_is_open_ = true;
  }

  void AddRecord(const kernel::RingRecord& record) {
    const std::uint64_t time_ns = record.timestamp_ns;
    if (record.data.size() < plan_.least_bytes()) {
      Fail(Status::kAbiShortEventId, time_ns, "a record without the common fields");
      return;
    }
    std::uint16_t id;
    std::memcpy(&id, record.data.data() + plan_.type_offset(), sizeof(id));
    const EventPlan* event = plan_.Find(id);
    if (only_markers_ && (event == nullptr || event->name != kMarkerEvent)) return;
    if (event == nullptr) {
      Fail(Status::kInvalidEvent, time_ns,
           "event id " + std::to_string(id) + ", for which there is no format");
      return;
    }
    if (record.data.size() < event->least_bytes) {
      Fail(Status::kInvalidEvent, time_ns, event->name + ": record shorter than its fields");
      return;
    }
    Take(*event, record);
  }

  void Take(const EventPlan& event, const kernel::RingRecord& record) {
    const std::uint64_t time_ns = record.timestamp_ns;
    if (!bundle_.empty() && time_ns - bundle_.first_ns() >= kBundleNs &&
        event.mode != EventMode::kKernelStack) {
      EndBundle();
    }
    ++output_.counts[event.index];
    ++output_.events;
    const EventPlan* written = &event;
    if (event.mode == EventMode::kCompactSwitch) {
      // The columns leave out who was switched from, which readers take from the switch before.
      // After a gap, and where the kernel left out a switch (some sandboxes hide threads of their
      // own), that would be somebody else.
      const std::int32_t prev = PidAt(record, event.prev_pid);
      if (next_switch_is_full_ || last_next_pid_.value_or(prev) != prev) {
        written = plan_.full_switch();
      }
      next_switch_is_full_ = false;
      last_next_pid_ = PidAt(record, event.pid);
    } else if (event.mode == EventMode::kCompactWaking && !HasWaker(record)) {
      written = plan_.full_waking();
    }
    if (!bundle_.Add(*written, time_ns, record.data)) {
      Fail(Status::kInvalidEvent, time_ns, event.name + ": a field lies outside of its record");
    }
    if (!output_.first_ns) output_.first_ns = time_ns;
    output_.last_ns = time_ns;
    if (gap_is_open_) {
      output_.gaps.back().end_ns = time_ns;
      gap_is_open_ = false;
    }
    if (bundle_.size_bytes() >= kBundleBytes) EndBundle();
  }

  // Readers take whoever was switched to last for the waker of a compact waking. That is wrong
  // where that switch was left out. In an interrupt the thread does not matter, and the flags,
  // which only the columns carry, do.
  bool HasWaker(const kernel::RingRecord& record) const {
    constexpr std::uint8_t kInInterrupt = 0x08 | 0x10 | 0x40;  // TRACE_FLAG_HARDIRQ, SOFTIRQ, NMI
    const std::int32_t waker = Int32At(record, plan_.pid_offset());
    return last_next_pid_.value_or(waker) == waker ||
           (static_cast<std::uint8_t>(record.data[plan_.flags_offset()]) & kInInterrupt) != 0;
  }

  static std::int32_t PidAt(const kernel::RingRecord& record, EventPlan::Column column) {
    return Int32At(record, column.offset);
  }
  static std::int32_t Int32At(const kernel::RingRecord& record, std::size_t offset) {
    std::int32_t value;
    std::memcpy(&value, record.data.data() + offset, sizeof(value));
    return value;
  }

  void Fail(std::uint32_t status, std::uint64_t time_ns, std::string what) {
    ++output_.errors;
    auto& statuses = output_.statuses;
    if (std::find(statuses.begin(), statuses.end(), status) == statuses.end()) {
      statuses.push_back(status);
      bundle_.AddError(time_ns, status);
    }
    if (output_.error_samples.size() < kMostSamples) {
      output_.error_samples.push_back("CPU " + std::to_string(cpu_) + ": " + std::move(what));
    }
  }

  const EncodePlan& plan_;
  int cpu_;
  BundleWriter& bundle_;
  bool only_markers_;
  ChunkOutput output_;
  bool next_switch_is_full_;
  std::optional<std::int32_t> last_next_pid_;  // of the switch before in this chunk
  bool gap_is_open_ = false;
};

}  // namespace

ChunkOutput EncodeChunk(const EncodePlan& plan, BundleWriter& bundle, const ChunkInput& input) {
  ChunkEncoder encoder(plan, bundle, input);
  for (std::size_t at = 0; at < input.pages.size(); at += input.page_bytes) {
    encoder.AddPage(input.pages.subspan(at, std::min(input.page_bytes, input.pages.size() - at)));
  }
  return encoder.Finish();
}

}  // namespace culprit::capture
