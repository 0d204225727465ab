// The rows of the big tables as the state machines fill them: fixed-size, texts by StringId. How
// they become columns is table_writers.cc.
#pragma once

#include <cstdint>

#include "load/string_pool.h"
#include "load/thread_tracker.h"
#include "tables/enums.h"

namespace culprit::load {

// Ids count rows of one table from 0; kNone is NULL.
using RowId = std::uint32_t;
inline constexpr std::int64_t kOpenDur = -1;  // the end was not seen

using tables::SchedState;
inline constexpr SchedState kNoState = 0xFFFF;  // NULL

struct SchedRow {
  RowId id;
  std::uint32_t cpu;
  std::int64_t ts;
  std::int64_t dur;
  Utid utid;
  Upid upid;
  std::int16_t priority;
  SchedState end_state;  // kNoState: the end, or the state at it, was not seen
};

enum class Irq : std::uint8_t { kNo, kYes, kUnknown };

struct ThreadStateRow {
  RowId id;
  Utid utid;
  std::int64_t ts;
  std::int64_t dur;
  std::uint32_t cpu;  // kNone unless Running
  StringId blocked_function;
  Utid waker_utid;
  RowId waker_id;
  std::uint32_t target_cpu;  // of R: the CPU it was to run on
  SchedState state;
  Irq irq_context;
  std::int8_t io_wait;  // -1: not known
};

struct SpuriousWakeupRow {
  RowId id;
  RowId thread_state_id;
  std::int64_t ts;
  Utid utid;
  Utid waker_utid;
  std::uint32_t target_cpu;
  Irq irq_context;
};

struct SliceRow {
  RowId id;
  std::uint32_t track_id;
  std::int64_t ts;
  std::int64_t dur;
  StringId category;
  StringId name;
  RowId parent_id;
  std::uint32_t arg_set_id;
  std::uint32_t depth;
};

struct CounterRow {
  RowId id;
  std::uint32_t track_id;
  std::int64_t ts;
  double value;
};

struct BlockIoRow {
  RowId id;
  std::uint32_t bytes;
  std::uint32_t cpu;
  std::uint64_t dev;
  StringId device;  // its name; kNoString: only the number is known
  std::uint64_t sector;
  std::int64_t insert_ts;  // -1: not seen
  std::int64_t issue_ts;
  std::int64_t complete_ts;
  StringId op;
  Utid utid;
  std::int32_t error;
  std::uint16_t merges;
  std::uint16_t requeues;
};

struct RawEventRow {
  RowId id;
  std::uint32_t cpu;
  std::int64_t ts;
  std::uint32_t name;  // index in the sorted names
  Utid utid;
  std::uint32_t common_flags;  // kNone: not recorded
  std::uint32_t arg_set_id;
};

struct ArgRow {
  RowId id;
  std::uint32_t arg_set_id;
  std::int64_t value;
  StringId text;      // kNoString: `value` counts
  std::uint32_t key;  // index in the sorted keys
  tables::ArgType type;
};

struct SliceArgRow {
  RowId id = 0;
  std::uint32_t arg_set_id = 0;
  std::int64_t value = 0;     // kReal: the bits of a double
  StringId text = kNoString;  // of kString and kJson
  StringId key = kNoString;
  StringId flat_key = kNoString;
  tables::ArgType type = tables::ArgType::kInt;
};

struct PerfSampleRow {
  RowId id;
  Utid utid;
  std::int64_t ts;
  std::int64_t period;     // -1: not known
  std::uint32_t cpu;       // kNone: not recorded
  std::uint32_t callsite;  // kNoCallsite: no stack
  std::uint32_t session;
  StringId cpu_mode;
  StringId unwind_error;
};

struct BlockedStackRow {
  RowId id;
  Utid utid;
  std::int64_t ts;
  RowId thread_state_id;
  std::uint32_t callsite_id;
};

}  // namespace culprit::load
