// One pass over a file of ftrace text: its lines in order of time, each event to the Importer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "load/event_fields.h"
#include "load/ftrace_text/line.h"
#include "load/importer.h"
#include "load/raw_writer.h"
#include "tracefile/ftrace_event_table.h"

namespace culprit::load::ftrace_text {

class TextPass {
 public:
  TextPass(std::string_view text, Importer& importer) : text_(text), importer_(importer) {}

  // The names of all events and of their arguments.
  void AddNames(RawNames& names) const;
  // `raw` may be null. `keep_going` is asked now and then; false ends the pass.
  void Run(RawWriter* raw, const std::function<bool(std::uint64_t events_done)>& keep_going);

  std::uint64_t events() const { return events_; }
  std::uint64_t sched_events() const { return sched_events_; }

 private:
  struct Place {
    std::int64_t ts;
    std::uint64_t offset;  // of the line, or for a loss the number of events
    std::uint32_t size;    // 0: events were lost on `cpu` before `ts`
    std::uint32_t cpu;
  };
  void Index();
  void Take(const Line& line, std::size_t line_end, RawWriter* raw);
  void Raw(RawWriter& raw, const EventContext& context, Utid utid, const Line& line,
           const tracefile::EventType* type);
  void Stack(const EventContext& context, std::size_t line_end);

  std::string_view text_;
  Importer& importer_;
  std::vector<Place> places_;
  // What was found for a name of an event; names lie in the text.
  std::unordered_map<std::string_view, const tracefile::EventType*> types_;
  EventFields fields_;
  std::uint64_t events_ = 0;
  std::uint64_t sched_events_ = 0;
};

}  // namespace culprit::load::ftrace_text
