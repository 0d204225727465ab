// One ftrace event between decoding and the state machines, and the decoding of a bundle into such
// events. Payloads of typed events stay bytes until somebody wants them (event_fields.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "load/clock_map.h"
#include "load/string_pool.h"
#include "load/trace_index.h"

namespace culprit::load {

enum class EventKind : std::uint8_t { kSwitch, kWaking, kTyped };

// 32 bytes: millions of them are merged.
struct Event {
  std::int64_t ts;
  std::int32_t tid;  // kSwitch: the next thread; kWaking: the wakee; kTyped: the current one
  EventKind kind : 4;
  std::uint32_t common_flags : 8;
  std::uint32_t field : 20;  // kTyped: of FtraceEvent
  union {
    struct {
      StringId comm;  // while the bundle is decoded: its index in the bundle's intern table
      std::int32_t prio;
      std::int32_t prev_state;   // kSwitch
      std::uint32_t target_cpu;  // kWaking
    };
    struct {
      const char* data;  // kTyped
      std::uint32_t size;
      std::uint32_t interned;  // index into TraceIndex::interned
    };
  };

  std::string_view body() const { return {data, size}; }
};
static_assert(sizeof(Event) == 32);

inline constexpr std::uint32_t kLargestEventField = (1U << 20) - 1;

struct DecodedBundle {
  std::vector<Event> events;            // in order of ts
  std::vector<std::string_view> comms;  // the intern table
  std::uint32_t damaged = 0;            // events that could not be read
  std::uint32_t without_payload = 0;
  bool has_damaged_columns = false;
};

// Reentrant; `out` is overwritten and keeps its capacity.
void DecodeBundle(const BundleRef& bundle, const ClockMap& clocks, DecodedBundle& out);

}  // namespace culprit::load
