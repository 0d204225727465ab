// EventMerger: the events of all CPUs, and the other packets, in one order of time. Memory
// is about one bundle a CPU, and those that are decoded ahead.
#pragma once

#include <cstdint>
#include <vector>

#include "load/bundle_decoder.h"
#include "load/event.h"
#include "load/stats.h"
#include "load/string_pool.h"
#include "load/trace_index.h"

namespace culprit::load {

// What comes next.
struct Merged {
  enum class Kind { kEnd, kPacket, kEvent, kLost };
  Kind kind = Kind::kEnd;
  std::uint32_t cpu = 0;
  const PacketRef* packet = nullptr;
  const Event* event = nullptr;  // kLost: the first event after the gap
};

// Equal times: packets before events, a lower CPU before a higher one; but a CPU whose turn it is
// goes on through its events of that time. Within a CPU the order of the file decides.
class EventMerger {
 public:
  // `decoders` threads decode ahead of it.
  EventMerger(const TraceIndex& index, StringPool& strings, TraceStats& stats, unsigned decoders);

  // What the result points to is valid until the next call.
  Merged Next();

  std::uint64_t bytes_done() const { return bytes_done_; }

 private:
  struct Cursor {
    const CpuIndex* cpu = nullptr;
    std::size_t next_bundle = 0;
    std::vector<Event> events;  // from `at` on not yet given out
    std::size_t at = 0;
    std::int64_t lost_before = INT64_MAX;  // events are missing before the one at this time
    bool has_lost = false;
  };
  // Makes sure that the cursor's next event is the right one; false at its end.
  bool Fill(Cursor& cursor);
  void Load(Cursor& cursor);
  void Choose();
  void Advance();

  const TraceIndex& index_;
  StringPool& strings_;
  TraceStats& stats_;
  BundleDecoder decoder_;
  std::vector<Cursor> cursors_;
  // The time of what each source has next, INT64_MAX at its end; [0] is the packets.
  std::vector<std::int64_t> next_ts_;
  std::size_t current_ = 0;
  std::int64_t until_ = INT64_MIN;  // the current source's turn lasts as long
  std::size_t next_packet_ = 0;
  std::int64_t latest_ts_ = INT64_MIN;
  bool is_given_out_ = false;  // of an event: it is stepped over by the next Next()
  DecodedBundle decoded_;
  std::vector<StringId> comm_ids_;
  std::uint64_t bytes_done_ = 0;
};

}  // namespace culprit::load
