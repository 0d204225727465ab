#include "load/perfetto_pass.h"

#include <algorithm>

#include "load/event_merger.h"
#include "tracefile/fields.h"

namespace culprit::load {

PerfettoPass::PerfettoPass(const TraceIndex& index, Importer& importer, PacketImporter& packets,
                           RawWriter* raw, unsigned decoders)
    : index_(index), importer_(importer), packets_(packets), raw_(raw), decoders_(decoders) {
  for (const LostGap& gap : index.lost_gaps) {
    if (gap.cpu >= gaps_.size()) gaps_.resize(gap.cpu + 1);
    gaps_[gap.cpu].push_back(gap);
  }
  for (auto& of_cpu : gaps_) {
    std::stable_sort(of_cpu.begin(), of_cpu.end(),
                     [](const LostGap& a, const LostGap& b) { return a.end > b.end; });
  }
}

bool PerfettoPass::TakeGaps(std::uint32_t cpu, std::int64_t ts) {
  if (cpu >= gaps_.size()) return false;
  bool found = false;
  while (!gaps_[cpu].empty() && gaps_[cpu].back().end <= ts) {
    importer_.EventsLost(cpu, gaps_[cpu].back().end, gaps_[cpu].back().events);
    gaps_[cpu].pop_back();
    found = true;
  }
  return found;
}

void PerfettoPass::TakeTyped(const EventContext& context, const Event& event) {
  // Perfetto's users find every thread that an event happened in, whatever the event; those of a
  // switch come in the switch's own order.
  const bool is_switch = event.field == tracefile::FtraceEvent::kSchedSwitch;
  if (is_switch || event.field == tracefile::FtraceEvent::kSchedWaking) ++sched_events_;
  Utid utid = is_switch ? kNone : importer_.threads().GetThread(context.tid);
  importer_.TypedEvent(context, event.field, event.body(), fields_);
  if (raw_ == nullptr) return;
  if (is_switch) utid = importer_.threads().FindThread(fields_.i32(2));
  raw_->Payload(context, utid, event.field, event.body(), index_);
}

void PerfettoPass::TakeEvent(std::uint32_t cpu, const Event& event) {
  if (event.ts < index_.tracing_started) {
    importer_.stats().Add("ftrace_packet_before_tracing_start");
    return;
  }
  if (!gaps_.empty()) TakeGaps(cpu, event.ts);
  ++events_;
  EventContext context{.ts = event.ts,
                       .cpu = cpu,
                       .tid = event.tid,
                       .common_flags = event.common_flags,
                       .has_common_flags = event.common_flags != 0,
                       .interned = nullptr};
  switch (event.kind) {
    case EventKind::kSwitch: {
      ++sched_events_;
      importer_.CompactSwitch(cpu, event.ts, event.prev_state, event.tid, event.comm, event.prio);
      if (importer_.sched().previous_utid() == kNone) return;  // the first one makes no row
      importer_.Widen(event.ts);
      if (raw_ == nullptr) return;
      const Utid prev = importer_.sched().previous_utid();
      const StringId comm = prev == kNone ? kNoString : importer_.threads().thread(prev).name;
      context.has_common_flags = false;
      raw_->CompactSwitch(context, importer_.sched(),
                          comm == kNoString ? "" : importer_.strings().Text(comm), event);
      return;
    }
    case EventKind::kWaking: {
      ++sched_events_;
      const Utid waker =
          importer_.CompactWaking({.cpu = cpu,
                                   .ts = event.ts,
                                   .wakee_tid = event.tid,
                                   .comm = event.comm,
                                   .target_cpu = event.target_cpu,
                                   .irq_context = Importer::IrqOfFlags(event.common_flags)});
      context.has_common_flags = true;
      if (waker != kNone) importer_.Widen(event.ts);
      if (raw_ != nullptr) raw_->CompactWaking(context, waker, event);
      return;
    }
    case EventKind::kTyped:
      importer_.Widen(event.ts);
      context.interned = &index_.interned[event.interned];
      TakeTyped(context, event);
      return;
  }
}

void PerfettoPass::Run(const KeepGoing& keep_going) {
  constexpr std::uint64_t kStepsBetween = 1 << 18;
  EventMerger merger(index_, importer_.strings(), importer_.stats(), decoders_);
  for (std::uint64_t step = 0;; ++step) {
    const Merged next = merger.Next();
    switch (next.kind) {
      case Merged::Kind::kEnd:
        return;
      case Merged::Kind::kPacket:
        packets_.Timed(*next.packet);
        break;
      case Merged::Kind::kLost:
        if (!TakeGaps(next.cpu, next.event->ts)) {
          importer_.EventsLost(next.cpu, next.event->ts, std::nullopt);
        }
        break;
      case Merged::Kind::kEvent:
        TakeEvent(next.cpu, *next.event);
        break;
    }
    if (step % kStepsBetween == 0 && !keep_going(merger.bytes_done(), events_)) return;
  }
}

}  // namespace culprit::load
