// Reads the ftrace events of a trace file back, plainly and slowly, to compare with what went in.
// Written apart from the loader and from the encoder, so that their faults do not cancel out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace culprit::synthetic {

struct DumpedEvent {
  int cpu = 0;
  std::uint64_t time_ns = 0;
  std::uint32_t pid = 0;  // 0 for compact events, which do not say it
  std::string name;
  std::map<std::string, std::string> fields;  // numbers in decimal; arrays joined by blanks
  bool is_compact = false;
  bool is_generic = false;
  bool is_first_after_loss = false;
  std::vector<std::string> stack;  // of a kernel_stack: function names, innermost first
};

struct Dump {
  std::vector<DumpedEvent> events;              // in the order of the file
  std::vector<std::uint64_t> bundle_starts_ns;  // first event of each bundle, in the file's order
  std::map<int, std::uint64_t> overrun_at_end;  // FtraceStats by CPU
  struct Gap {
    int cpu = 0;
    std::optional<std::uint64_t> begin_ns, events;
    std::uint64_t end_ns = 0;
  };
  std::vector<Gap> gaps;
  std::map<std::string, std::string> formats;  // "sched/sched_switch" -> text
  std::vector<std::uint64_t> error_statuses;
  std::vector<std::string> unknown_events;
  std::vector<std::string> faults;  // what this reader found wrong in the file
};

Dump DumpTrace(const std::string& bytes);

}  // namespace culprit::synthetic
