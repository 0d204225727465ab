// One pass over the events and packets of a trace in Perfetto's format, in order of time, to the
// Importer and, where it is wanted, to the RawWriter.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "load/event.h"
#include "load/event_fields.h"
#include "load/importer.h"
#include "load/packet_importer.h"
#include "load/raw_writer.h"
#include "load/trace_index.h"

namespace culprit::load {

class PerfettoPass {
 public:
  // `raw` may be null. `decoders` threads decode ahead.
  PerfettoPass(const TraceIndex& index, Importer& importer, PacketImporter& packets, RawWriter* raw,
               unsigned decoders);

  // `keep_going` is asked now and then; false ends the pass.
  using KeepGoing = std::function<bool(std::uint64_t bytes_done, std::uint64_t events_done)>;
  void Run(const KeepGoing& keep_going);

  std::uint64_t events() const { return events_; }
  std::uint64_t sched_events() const { return sched_events_; }

 private:
  void TakeEvent(std::uint32_t cpu, const Event& event);
  void TakeTyped(const EventContext& context, const Event& event);
  // Gaps that the recorder told of and that end at or before `ts`.
  bool TakeGaps(std::uint32_t cpu, std::int64_t ts);

  const TraceIndex& index_;
  Importer& importer_;
  PacketImporter& packets_;
  RawWriter* raw_;
  const unsigned decoders_;
  std::vector<std::vector<LostGap>> gaps_;  // by CPU, the next one last
  EventFields fields_;
  std::uint64_t events_ = 0;
  std::uint64_t sched_events_ = 0;
};

}  // namespace culprit::load
