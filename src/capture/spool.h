// The raw recording of one segment, between the kernel and the trace file: ring-buffer pages of
// each CPU as the kernel laid them out, and what is needed to decode them. Nothing here parses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/units.h"

namespace culprit::capture {

// per_cpu/cpuN/stats of the instance, as numbers; read at the start and at the end of a segment.
struct RingStats {
  std::uint64_t entries = 0;         // events still in the ring
  std::uint64_t overrun = 0;         // events that newer ones overwrote
  std::uint64_t commit_overrun = 0;  // events dropped because of nesting
  std::uint64_t dropped_events = 0;  // events refused by a full ring (overwrite off)
  std::uint64_t bytes = 0;
  std::uint64_t read_events = 0;
  double oldest_event_ts_s = 0;
  double now_ts_s = 0;
};

struct CpuSpool {
  int cpu = 0;
  // Whole sub-buffers ("pages") back to back, in the order in which they were read, from offset 0.
  UniqueFd pages;
  std::uint64_t page_count = 0;
  RingStats at_start;
  RingStats at_end;
};

// One event that was enabled: the text of its format file (events/GROUP/NAME/format).
struct EventFormatText {
  std::string group;
  std::string name;
  std::string format;
};

struct FtraceSpool {
  std::uint32_t page_bytes = 4096;  // size of a sub-buffer (buffer_subbuf_size_kb)
  std::string header_page;          // events/header_page
  std::string header_event;         // events/header_event
  std::string clock = "boot";       // trace_clock of the instance
  // Formats of the enabled events and of the ftrace group's own ones (print, kernel_stack, ...).
  std::vector<EventFormatText> formats;
  std::string printk_formats;  // address -> string of __trace_printk and tracepoint_string
  std::vector<CpuSpool> cpus;
  // The top-level buffer's rings, where a kernel delivers trace_marker to that alone: of their
  // events the markers count and nothing else.
  std::vector<CpuSpool> marker_cpus;
  // Events that were asked for and that the kernel refused, by "group/name".
  std::vector<std::string> unknown_events;
  std::vector<std::string> failed_events;
};

}  // namespace culprit::capture
